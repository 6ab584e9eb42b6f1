# SPDX-License-Identifier: Apache-2.0
"""Decisions of another configuration on a live cluster: repeats every recorded decision on the
cluster state of its time.

The scheduler with the other configuration gets the same objects. It decides on each pod that was
tried, then continues from the recorded decision, so that one difference does not cause others. A
recorded node with the same score as its own choice counts as equal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from steersman import api
from steersman.base import ManualClock, SeededRng, SteersmanError
from steersman.framework import PodInfo
from steersman.record.comparison import WHAT_IF
from steersman.record.decisions import decision_body
from steersman.record.expansion import delivered_object, snapshot_object
from steersman.record.frames import (
    BindingBody,
    DecisionBody,
    Frame,
    FrameKind,
    RunBody,
    WatchedChange,
    WatchEventBody,
)
from steersman.record.items import kind_text
from steersman.record.reader import RecordReader
from steersman.record.recorded_run import PluginConsent
from steersman.record.scheduler_comparison import StimulusComparison
from steersman.record.scheduler_replay import RecordedStimulus, ReplayErrors
from steersman.scheduler.assembly import SchedulerOptions
from steersman.scheduler.cycle import Postponed, Scheduled
from steersman.scheduler.what_if import WhatIfScheduler, isolated_scheduler

UNKNOWN: Final = "their pods, or something before them, are not in the record"
"""Reason for a decision that is not compared."""


class RecordedWhatIf(WhatIfScheduler):
    """A scheduler that repeats the decisions of another one on the same cluster."""

    def __init__(self, run: RunBody, options: SchedulerOptions) -> None:
        self._clock = ManualClock(0.0)
        self._internal_errors = ReplayErrors()
        survived = msgspec.structs.replace(options, internal_errors=self._internal_errors)
        super().__init__(isolated_scheduler(survived, self._clock, SeededRng(run.seed)))
        self._kinds = {kind_text(kind): kind for kind in self.scheduler.watched_kinds}
        #: UID → pod that is assumed on its recorded node and not bound yet.
        self._assumed: dict[str, PodInfo] = {}

    def take_over(self, frame: Frame) -> None:
        """Add an object of a snapshot."""
        self._put(snapshot_object(frame, self._kinds), self.change)

    def give(self, stimulus: RecordedStimulus) -> list[DecisionBody | None]:
        """Return the decision instead of each recorded one; None if the pod is unknown."""
        self._clock.set(max(self._clock.now(), stimulus.time))
        if isinstance(stimulus.body, WatchEventBody):
            self._deliver(stimulus.body)
        decided = [self._decide(recorded) for recorded in stimulus.decisions]
        for delivered in stimulus.told:
            self._deliver(delivered)
        for binding in stimulus.bindings:
            self._bound(binding)
        return decided

    def _deliver(self, body: WatchEventBody) -> None:
        obj = delivered_object(body, self._kinds)
        if obj is not None:
            self._put(obj, self.change if body.type is WatchedChange.CHANGED else self.delete)

    def _put(self, obj: api.Object, put: Callable[[api.Object], None]) -> None:
        try:
            put(obj)
        except SteersmanError:
            return  # ignore unusable objects
        except Exception as error:
            self._internal_errors.survived("replay", f"{obj.KIND} {api.key(obj)}", error)

    def _decide(self, recorded: DecisionBody) -> DecisionBody | None:
        pod = self.scheduler.pods.get(recorded.pod)
        if pod is None or pod.metadata.uid != recorded.uid or pod.spec.node_name:
            return None
        info = self.info(pod)
        decision = self.decide(info)
        if isinstance(decision, Postponed):
            return None
        decided = decision_body(decision, recorded.at, recorded.attempt, None)
        if isinstance(decision, Scheduled):
            self.undo(decision)
            if recorded.node == decision.node or recorded.node in self.evaluate(info).best():
                decided = msgspec.structs.replace(decided, node=recorded.node)
        if recorded.node and self.cache.nodes.row_of(recorded.node) is not None:
            self.assume(info, recorded.node)
            self._assumed[info.uid] = info
        return decided

    def _bound(self, binding: BindingBody) -> None:
        pod = self._assumed.pop(binding.uid, None)
        if pod is not None and binding.message and self.cache.is_assumed(binding.uid):
            self.forget(pod)


class WhatIfComparison(StimulusComparison):
    """Comparison with the decisions of another configuration."""

    FIELDS = WHAT_IF

    def __init__(self, reader: RecordReader, configuration: str | None, plugins: PluginConsent) -> None:
        super().__init__(reader, configuration, plugins)
        self._scheduler: RecordedWhatIf | None = None
        #: Whether the objects of the current snapshot are added.
        self._takes_over = False

    def _read(self, frame: Frame) -> None:
        super()._read(frame)
        if frame.kind == FrameKind.OBJECT and self._takes_over and self._scheduler is not None:
            self._scheduler.take_over(frame)

    def _read_run(self, run: RunBody) -> None:
        self._takes_over = self._scheduler is None
        if self._takes_over:
            self._scheduler = RecordedWhatIf(run, self._options(run))

    def _stop(self) -> None:
        self._scheduler = None

    def _give(self, stimulus: RecordedStimulus) -> None:
        if self._scheduler is None:
            self._not_compared[UNKNOWN] += len(stimulus.decisions)
            return
        for was, now in zip(stimulus.decisions, self._scheduler.give(stimulus), strict=True):
            if now is None:
                self._not_compared[UNKNOWN] += 1
            else:
                self._compare(was, now)
