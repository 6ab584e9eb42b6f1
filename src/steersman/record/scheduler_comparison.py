# SPDX-License-Identifier: Apache-2.0
"""Comparison of a live scheduler's record with its replay, decision by decision.

A record may contain several consecutive processes, and gaps. Decisions after a gap are compared
from the next process or snapshot with a state on; those after a difference are its consequences.
"""

from __future__ import annotations

from collections import Counter
from itertools import zip_longest
from typing import Final

import msgspec

from steersman.api import timestamps
from steersman.kube.client import HttpExtender, RawObjects
from steersman.record.comparison import (
    ALL_FIELDS,
    ComparedFields,
    DecisionDifference,
    Differs,
    Replay,
    comparable,
    difference,
    version_notes,
)
from steersman.record.frames import DecisionBody, Frame, FrameKind, RunBody, StateBody
from steersman.record.reader import ProblemKind, RecordReader, snapshot_of
from steersman.record.recorded_run import PluginConsent, body_of, scheduler_options
from steersman.record.replay_loop import StepNotPossible
from steersman.record.scheduler_replay import RecordedStimulus, SchedulerReplay, stimuli
from steersman.scheduler.assembly import SchedulerOptions

KILLED: Final = (
    "the process that began at {} was ended without closing its record, or still runs: "
    "its last second is missing at most"
)
NOT_COMPARED: Final = "{} decisions are not compared: {}"
AFTER_GAP: Final = "something before them is missing"
FOLLOWS: Final = "they follow from the first that differs"
CANNOT_FOLLOW: Final = "the replay cannot follow the record any more at {}: {}"
ERRORS: Final = "the replay has survived {} internal errors, the first {}"
CHANGES_STATE: Final = frozenset(
    {Differs.OUTCOME, Differs.NODE, Differs.PREEMPTION, Differs.NOT_MADE, Differs.NOT_RECORDED, Differs.POD}
)


class StimulusComparison:
    """Base class that compares a live scheduler's record with another scheduler's decisions."""

    #: Compared fields of decisions.
    FIELDS: ComparedFields

    def __init__(self, reader: RecordReader, configuration: str | None, plugins: PluginConsent) -> None:
        self._reader = reader
        self._configuration = configuration
        self._plugins = plugins
        #: Whether a process begins with the current snapshot.
        self._is_beginning = False
        self._gaps = 0
        self._since = 0.0
        self._first_run: RunBody | None = None
        self._recorded = self._same = 0
        #: Reason → number of decisions not compared.
        self._not_compared: Counter[str] = Counter()
        self._differences: list[DecisionDifference] = []
        self._notes: list[str] = []
        self._is_lost = False

    def compared(self) -> Replay:
        """Return the comparison. Raises `InputError`, `ConfigError` and `PluginError`."""
        try:
            for part in stimuli(self._reader.all_frames(), self._reader.directory):
                self._check_for_gaps()
                if isinstance(part, RecordedStimulus):
                    self._recorded += len(part.decisions)
                    self._give(part)
                else:
                    self._read(part)
        finally:
            self._end_process()
        assert self._first_run is not None, "a record without a run is refused before"
        self._notes += [NOT_COMPARED.format(count, why) for why, count in self._not_compared.items() if count]
        return Replay(
            self._recorded,
            self._same,
            tuple(self._differences),
            self._first_run.start,
            self._since,
            (*self._notes, *map(str, self._reader.problems)),
            self._first_run.host,
            self._not_compared.total(),
            self._is_lost,
        )

    def _check_for_gaps(self) -> None:
        gaps = sum(1 for problem in self._reader.problems if problem.kind is not ProblemKind.TORN_TAIL)
        if gaps > self._gaps:
            self._gaps = gaps
            self._stop()

    def _read(self, frame: Frame) -> None:
        """Read a frame outside stimuli."""
        if frame.kind == FrameKind.SNAPSHOT:
            self._since = self._since or frame.time
            if snapshot_of(frame, self._reader.directory).begins:
                self._end_process()
                self._is_beginning = True
        elif frame.kind == FrameKind.RUN:
            run = body_of(frame, RunBody, self._reader.directory)
            self._first_run = self._first_run or run
            self._read_run(run)

    def _options(self, run: RunBody) -> SchedulerOptions:
        options = scheduler_options(run, self._configuration, self._plugins)
        self._notes += [note for note in version_notes(run, options.registry.files) if note not in self._notes]
        return options

    def _compare(self, was: DecisionBody | None, now: DecisionBody | None) -> Differs | None:
        """Return the difference of two decisions, one of which may be missing, or None."""
        some = was or now
        assert some is not None
        differs = Differs.NOT_RECORDED if was is None else difference(was, now, self.FIELDS)
        if differs is None:
            self._same += 1
        else:
            self._differences.append(DecisionDifference(some.pod, some.attempt, differs, was, now))
        return differs

    def _read_run(self, run: RunBody) -> None:
        """Start comparing if possible."""
        raise NotImplementedError

    def _give(self, stimulus: RecordedStimulus) -> None:
        """Pass a stimulus to the scheduler, and compare its decisions."""
        raise NotImplementedError

    def _stop(self) -> None:
        """End the scheduler, as later decisions cannot be compared."""
        raise NotImplementedError

    def _end_process(self) -> None:
        """Stop at the end of a recorded process."""
        self._stop()


class SchedulerComparison(StimulusComparison):
    """Comparison that replays the processes of a record."""

    FIELDS = ALL_FIELDS

    def __init__(self, reader: RecordReader, configuration: str | None, plugins: PluginConsent) -> None:
        super().__init__(reader, configuration, plugins)
        self._replay: SchedulerReplay | None = None
        self._run: RunBody | None = None
        self._why_not = AFTER_GAP
        self._is_closed = True
        #: Objects of a snapshot at which the replay may resume; None while it is running.
        self._objects: list[Frame] | None = None

    def _read(self, frame: Frame) -> None:
        super()._read(frame)
        self._is_closed |= frame.kind == FrameKind.END
        if frame.kind == FrameKind.SNAPSHOT:
            is_after_gap = self._replay is None and self._why_not == AFTER_GAP and not self._is_beginning
            self._objects = [] if is_after_gap else None
        elif self._objects is not None and frame.kind == FrameKind.OBJECT:
            self._objects.append(frame)
        elif self._objects is not None and frame.kind == FrameKind.STATE:
            self._resume(body_of(frame, StateBody, self._reader.directory))

    def _read_run(self, run: RunBody) -> None:
        is_beginning, self._is_beginning = self._is_beginning, False
        if is_beginning or self._objects is not None:
            self._run, self._is_closed = run, False
        if is_beginning:
            self._stop()
            self._replay = self._new_replay(run)

    def _new_replay(self, run: RunBody) -> SchedulerReplay:
        options = self._options(run)
        # Extenders are not called, and key files named by an untrusted record must not be read.
        harmless = [msgspec.structs.replace(one, tls_config=None) for one in options.configuration.extenders]
        return SchedulerReplay(run, options, [HttpExtender(one, RawObjects()) for one in harmless])

    def _resume(self, state: StateBody) -> None:
        """Resume the replay at a snapshot."""
        objects, self._objects = self._objects, None
        assert self._run is not None
        assert objects is not None
        replay = self._new_replay(self._run)
        try:
            replay.resume(state, objects)
        except BaseException:
            replay.close()
            raise
        self._replay = replay

    def _end_process(self) -> None:
        if self._run is not None and not self._is_closed:
            self._notes.append(KILLED.format(timestamps.render(self._run.start)))
        self._run = None
        self._stop()

    def _stop(self, why: str = AFTER_GAP) -> None:
        self._why_not = why
        replay, self._replay = self._replay, None
        if replay is not None:
            errors = replay.internal_errors
            if errors.first:
                self._notes.append(ERRORS.format(errors.counts.total(), errors.first))
            replay.close()

    def _give(self, stimulus: RecordedStimulus) -> None:
        if self._replay is not None:
            try:
                self._compare_all(stimulus, self._replay.give(stimulus))
                return
            except StepNotPossible as problem:
                self._notes.append(CANNOT_FOLLOW.format(timestamps.render(stimulus.time), problem))
                self._is_lost = True
                self._stop(FOLLOWS)
        self._not_compared[self._why_not] += len(stimulus.decisions)

    def _compare_all(self, stimulus: RecordedStimulus, decided: list[DecisionBody]) -> None:
        assert self._run is not None
        recorded, made = ([comparable(one, self._run) for one in some] for some in (stimulus.decisions, decided))
        for was, now in zip_longest(recorded, made):
            if self._compare(was, now) in CHANGES_STATE:
                self._stop(FOLLOWS)
