# SPDX-License-Identifier: Apache-2.0
"""Compares the record of a live scheduler with what is decided now, decision by decision, as `replay` does for simulations.

A record may hold several processes, one after the other, and gaps. What follows a gap cannot be compared before the next
process begins; what follows a decision that differs follows from that one.
"""

from __future__ import annotations

import os
from itertools import zip_longest
from typing import Final

import msgspec

from steersman.api import timestamps
from steersman.client.extenders import HttpExtender
from steersman.client.list_watch import RawObjects
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
from steersman.record.frames import DecisionBody, Frame, FrameKind, RunBody
from steersman.record.live_replay import LiveReplay, RecordedStimulus, stimuli
from steersman.record.live_what_if import WhatIfComparison
from steersman.record.reader import ProblemKind, RecordReader, snapshot_of
from steersman.record.recorded_run import body_of
from steersman.record.recorded_setup import PluginConsent, scheduler_options
from steersman.record.replay_loop import StepNotPossible

KILLED: Final = (
    "the process that began at {} was ended without closing its record, or still runs: "
    "its last second is missing at most"
)
NOT_COMPARED: Final = "{} decisions are not compared: {}"
AFTER_GAP: Final = "something before them is missing"
FOLLOWS: Final = "they follow from the first that differs"
LEFT_COURSE: Final = "the replay cannot follow the record any more at {}: {}"
ERRORS: Final = "the replay has survived {} internal errors, the first {}"
CHANGES_STATE: Final = frozenset(
    {Differs.OUTCOME, Differs.NODE, Differs.PREEMPTION, Differs.NOT_MADE, Differs.NOT_RECORDED, Differs.POD}
)


def replay_live(
    directory: str | os.PathLike[str], configuration: str | None, plugins: PluginConsent, *, is_what_if: bool
) -> Replay:
    """Decides everything again that a live scheduler has decided; `is_what_if`: with another configuration or more plugins,
    each decision on the cluster as it was. Raises `InputError`, `ConfigError` and `PluginError`."""
    reader = RecordReader(directory)
    if is_what_if:
        return WhatIfComparison(reader, configuration, plugins).compared()
    return LiveComparison(reader, ALL_FIELDS, plugins).compared()


class LiveComparison:
    """Reads a record from its beginning to its end, and replays the processes that it holds."""

    def __init__(self, reader: RecordReader, fields: ComparedFields, plugins: PluginConsent) -> None:
        self._reader = reader
        self._plugins = plugins
        self._fields = fields
        self._replay: LiveReplay | None = None
        self._run: RunBody | None = None
        self._begins_at: float | None = None
        #: Frames up to this number are a snapshot's.
        self._snapshot_end = -1
        self._why_not = AFTER_GAP
        self._gaps = 0
        self._is_closed = True
        self.recorded = self.same = 0
        self.not_compared: dict[str, int] = {}
        self.differences: list[DecisionDifference] = []
        self.notes: list[str] = []
        self.first_run: RunBody | None = None
        self.since = 0.0
        self.is_lost = False

    def compared(self) -> Replay:
        """Raises `InputError`."""
        try:
            for part in stimuli(self._reader.all_frames(), self._reader.directory):
                self._look_for_gaps()
                if isinstance(part, RecordedStimulus):
                    self._give(part)
                elif part.number > self._snapshot_end or part.kind == FrameKind.RUN:
                    self._read(part)
        finally:
            self._end_process()
        self.notes += [NOT_COMPARED.format(count, why) for why, count in self.not_compared.items() if count]
        self.notes += [str(problem) for problem in self._reader.problems]
        assert self.first_run is not None, "a record without a run is refused before"
        return Replay(
            self.recorded,
            self.same,
            tuple(self.differences),
            self.first_run.start,
            self.since,
            tuple(self.notes),
            self.first_run.host,
            sum(self.not_compared.values()),
            self.is_lost,
        )

    def _look_for_gaps(self) -> None:
        gaps = sum(1 for problem in self._reader.problems if problem.kind is not ProblemKind.TORN_TAIL)
        if gaps > self._gaps:
            self._gaps = gaps
            self._stop(AFTER_GAP)

    def _read(self, frame: Frame) -> None:
        if frame.kind == FrameKind.SNAPSHOT:
            body = snapshot_of(frame, self._reader.directory)
            self._snapshot_end = frame.number + body.frames
            if body.begins:
                self._end_process()
                self._begins_at = frame.time
            self.since = self.since or frame.time
        elif frame.kind == FrameKind.RUN:
            run = body_of(frame, RunBody, self._reader.directory)
            self.first_run = self.first_run or run
            if self._begins_at is not None:
                self._begin_process(run)
        elif frame.kind == FrameKind.END:
            self._is_closed = True

    def _begin_process(self, run: RunBody) -> None:
        self._begins_at, self._run, self._is_closed = None, run, False
        options = scheduler_options(run, None, self._plugins)
        # Nobody is asked; files with keys that a foreign record may name are of no use.
        harmless = [msgspec.structs.replace(one, tls_config=None) for one in options.configuration.extenders]
        extenders = [HttpExtender(one, RawObjects()) for one in harmless]
        self._stop(AFTER_GAP)
        self._replay = LiveReplay(run, options, extenders)
        self.notes += [note for note in version_notes(run, options.registry.files) if note not in self.notes]

    def _end_process(self) -> None:
        if self._run is not None and not self._is_closed:
            self.notes.append(KILLED.format(timestamps.render(self._run.start)))
        self._run = None
        self._stop(AFTER_GAP)

    def _stop(self, why: str) -> None:
        """Nothing is compared before the next process begins."""
        self._why_not = why
        replay, self._replay = self._replay, None
        if replay is not None:
            errors = replay.internal_errors
            if errors.first:
                self.notes.append(ERRORS.format(errors.counts.total(), errors.first))
            replay.close()

    def _give(self, stimulus: RecordedStimulus) -> None:
        self.recorded += len(stimulus.decisions)
        if self._replay is None:
            self.not_compared[self._why_not] = self.not_compared.get(self._why_not, 0) + len(stimulus.decisions)
            return
        try:
            decided = self._replay.give(stimulus)
        except StepNotPossible as problem:
            self.notes.append(LEFT_COURSE.format(timestamps.render(stimulus.time), problem))
            self.is_lost = True
            self._stop(FOLLOWS)
            self.not_compared[FOLLOWS] = self.not_compared.get(FOLLOWS, 0) + len(stimulus.decisions)
            return
        assert self._run is not None
        recorded, made = ([comparable(one, self._run) for one in some] for some in (stimulus.decisions, decided))
        for was, now in zip_longest(recorded, made):
            self._compare(was, now)

    def _compare(self, was: DecisionBody | None, now: DecisionBody | None) -> None:
        some = was or now
        assert some is not None
        differs = Differs.NOT_RECORDED if was is None else difference(was, now, self._fields)
        if differs is None:
            self.same += 1
            return
        self.differences.append(DecisionDifference(some.pod, some.attempt, differs, was, now))
        if differs in CHANGES_STATE:
            self._stop(FOLLOWS)
