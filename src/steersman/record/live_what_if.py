# SPDX-License-Identifier: Apache-2.0
"""Decisions of another configuration on a live cluster: every recorded decision is made again, each on the cluster as it was at
the time.

The scheduler with the other configuration is told of the same objects. When a pod was tried, it decides on it too, and then
goes on as if it had decided what was recorded: so one difference does not lead to others. Where the recorded node is as good
to it as its own choice, it is the same.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Final

import msgspec

from steersman import api
from steersman.assembly import Scheduler, SchedulerOptions
from steersman.clock import ManualClock
from steersman.cycle import commit
from steersman.cycle.decision import Postponed, Scheduled
from steersman.errors import SteersmanError
from steersman.framework.pod_info import PodInfo
from steersman.record.comparison import WHAT_IF, DecisionDifference, Replay, difference, version_notes
from steersman.record.decisions import decision_body
from steersman.record.frames import (
    BindingBody,
    DecisionBody,
    Frame,
    FrameKind,
    RunBody,
    WatchedChange,
    WatchEventBody,
)
from steersman.record.live_items import kind_text, snapshot_object, told_object
from steersman.record.live_replay import RecordedStimulus, ReplayErrors, stimuli
from steersman.record.reader import RecordReader, snapshot_of
from steersman.record.recorded_run import body_of
from steersman.record.recorded_setup import PluginConsent, scheduler_options
from steersman.record.replay_loop import ReplayLoop, closed_unless_made
from steersman.record.replayed_ports import ReplayedAnswers, ReplayedWriter
from steersman.rng import SeededRng
from steersman.runtime.profile import Profile

NOT_COMPARED: Final = "{} decisions are not compared: their pods, or something before them, are not in the record"


class WhatIfScheduler:
    """Decides what another one has decided, on the same cluster."""

    def __init__(self, run: RunBody, options: SchedulerOptions) -> None:
        self._clock = ManualClock(0.0)
        self._loop = ReplayLoop(self._clock)
        self._internal_errors = ReplayErrors()
        with closed_unless_made(self._loop):
            self._scheduler = Scheduler(
                self._clock,
                SeededRng(run.seed),
                ReplayedWriter(ReplayedAnswers(self._loop)),
                _leave_out,
                msgspec.structs.replace(options, extenders=(), internal_errors=self._internal_errors),
            )
        self._kinds = {kind_text(kind): kind for kind in self._scheduler.watched_kinds}
        #: By uid, pods that were decided on and are not bound yet.
        self._assumed: dict[str, PodInfo] = {}

    def take_over(self, frame: Frame) -> None:
        """An object of a snapshot."""
        self._change(snapshot_object(frame, self._kinds))

    def give(self, stimulus: RecordedStimulus) -> list[DecisionBody | None]:
        """The decision that is made instead of each recorded one; None where the pod is not known."""
        self._clock.set(max(self._clock.now(), stimulus.time))
        if isinstance(stimulus.body, WatchEventBody):
            self._tell(stimulus.body)
        decided = [self._decide(recorded) for recorded in stimulus.decisions]
        for told in stimulus.told:
            self._tell(told)
        for binding in stimulus.bindings:
            self._bound(binding)
        return decided

    def _tell(self, body: WatchEventBody) -> None:
        obj = told_object(body, self._kinds)
        if obj is not None and body.type is WatchedChange.CHANGED:
            self._change(obj)
        elif obj is not None:
            self._survive(lambda: self._scheduler.ingest.deleted(obj), obj)

    def _change(self, obj: api.Object) -> None:
        self._survive(lambda: self._scheduler.ingest.changed(obj), obj)

    def _survive(self, act: Any, obj: api.Object) -> None:
        try:
            act()
        except SteersmanError:
            return  # an object that cannot be used is left out
        except Exception as error:
            self._internal_errors.survived("replay", f"{obj.KIND} {api.key(obj)}", error)

    # -- decisions -----------------------------------------------------------------------------------------------------

    def _decide(self, recorded: DecisionBody) -> DecisionBody | None:
        pod = self._scheduler.pods.get(recorded.pod)
        if pod is None or pod.metadata.uid != recorded.uid or pod.spec.node_name:
            return None
        info = self._scheduler.cache.shapes.info(pod)
        decision = self._scheduler.cycle.schedule_one(info)
        if isinstance(decision, Postponed):
            return None
        decided = decision_body(decision, recorded.at, recorded.attempt, None)
        if isinstance(decision, Scheduled):
            profile = self._scheduler.profiles[decision.profile]
            commit.unreserve_and_forget(self._scheduler.cache, profile, decision.state, info, decision.node)
            if recorded.node and self._is_as_good(profile, info, recorded.node, decision.node):
                decided = msgspec.structs.replace(decided, node=recorded.node)
        if recorded.node:
            self._assume(info, recorded.node)
        return decided

    def _is_as_good(self, profile: Profile, pod: PodInfo, recorded: str, chosen: str) -> bool:
        """Whether the recorded node is one of the best, too."""
        if recorded == chosen:
            return True
        evaluation = self._scheduler.cycle.preview(profile, pod)
        table = evaluation.scores()
        return table is not None and recorded in table.best()

    def _assume(self, pod: PodInfo, node: str) -> None:
        if self._scheduler.cache.nodes.row_of(node) is not None:
            self._scheduler.cache.assume(pod, node)
            self._assumed[pod.uid] = pod

    def _bound(self, binding: BindingBody) -> None:
        pod = self._assumed.pop(binding.uid, None)
        if pod is not None and binding.message and self._scheduler.cache.is_assumed(binding.uid):
            self._scheduler.cache.forget(pod)

    def close(self) -> None:
        self._loop.close()


class WhatIfComparison:
    """Reads the record of a live scheduler, and has another configuration decide."""

    def __init__(self, reader: RecordReader, configuration: str | None, plugins: PluginConsent) -> None:
        self._reader = reader
        self._configuration = configuration
        self._plugins = plugins
        self._scheduler: WhatIfScheduler | None = None
        #: Whether the objects of the present snapshot are taken over.
        self._takes_over = False
        self._gaps = 0
        self._first: RunBody | None = None
        self._since = 0.0
        self._recorded = self._same = self._not_compared = 0
        self._differences: list[DecisionDifference] = []
        self._notes: list[str] = []

    def compared(self) -> Replay:
        """Raises `InputError`, `ConfigError` and `PluginError`."""
        try:
            for part in stimuli(self._reader.all_frames(), self._reader.directory):
                self._look_for_gaps()
                if isinstance(part, RecordedStimulus):
                    self._give(part)
                else:
                    self._read(part)
        finally:
            self._end()
        assert self._first is not None, "a record without a run is refused before"
        if self._not_compared:
            self._notes.append(NOT_COMPARED.format(self._not_compared))
        notes = (*self._notes, *map(str, self._reader.problems))
        differences = tuple(self._differences)
        start, missed = self._first.start, self._not_compared
        host = self._first.host
        return Replay(self._recorded, self._same, differences, start, self._since, notes, host, missed)

    def _look_for_gaps(self) -> None:
        if len(self._reader.problems) > self._gaps:
            self._gaps = len(self._reader.problems)
            self._end()

    def _read(self, frame: Frame) -> None:
        if frame.kind == FrameKind.SNAPSHOT:
            self._since = self._since or frame.time
            if snapshot_of(frame, self._reader.directory).begins:
                self._end()
        elif frame.kind == FrameKind.RUN:
            self._takes_over = self._scheduler is None
            if self._scheduler is None:
                self._begin(body_of(frame, RunBody, self._reader.directory))
        elif frame.kind == FrameKind.OBJECT and self._takes_over and self._scheduler is not None:
            self._scheduler.take_over(frame)

    def _begin(self, run: RunBody) -> None:
        self._first = self._first or run
        options = scheduler_options(run, self._configuration, self._plugins)
        self._scheduler = WhatIfScheduler(run, options)
        self._notes += [note for note in version_notes(run, options.registry.files) if note not in self._notes]

    def _end(self) -> None:
        scheduler, self._scheduler = self._scheduler, None
        if scheduler is not None:
            scheduler.close()

    def _give(self, stimulus: RecordedStimulus) -> None:
        self._recorded += len(stimulus.decisions)
        if self._scheduler is None:
            self._not_compared += len(stimulus.decisions)
            return
        for was, now in zip(stimulus.decisions, self._scheduler.give(stimulus), strict=True):
            if now is None:
                self._not_compared += 1
            elif (differs := difference(was, now, WHAT_IF)) is not None:
                self._differences.append(DecisionDifference(was.pod, was.attempt, differs, was, now))
            else:
                self._same += 1


def _leave_out(work: Coroutine[Any, Any, None]) -> None:
    """Nothing is carried out."""
    work.close()
