# SPDX-License-Identifier: Apache-2.0
"""Recorder of one scheduler: passes items (`items`) to the log, and a snapshot per segment.

`scheduler_recorder` records the stimuli of a scheduler, `simulation_recorder` the calls of a
simulation; this module records the decisions and bindings of both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from steersman import api
from steersman.base import Clock
from steersman.base.graph_copy import copied_attributes, no_value
from steersman.record.decisions import DecisionObserver, subjects_of
from steersman.record.frames import (
    BindingBody,
    DecisionBody,
    EndBody,
    Frame,
    FrameKind,
    PlacedPod,
    RunBody,
    SnapshotBody,
    encoded,
)
from steersman.record.items import (
    BINDING,
    BOUND,
    DECISION,
    FRAME_BYTES,
    FRAME_PARTS,
    PLACED,
    NotedParts,
    SegmentItem,
)
from steersman.record.log import RecordLog
from steersman.record.reader import SNAPSHOT_SUBJECT
from steersman.scheduler.cycle import Decision, Scheduled
from steersman.scheduler.engine import DigestedTotals
from steersman.scheduler.queue import QueuedPodInfo


class SnapshotContents(NamedTuple):
    """Frames of a snapshot, and objects to be encoded as frames."""

    size: int
    parts: Iterable[Frame | api.Object]


class Recorder:
    """Recorder of items. It runs in the thread of the scheduling loop."""

    def __init__(self, log: RecordLog, run: RunBody, clock: Clock, decisions: int = 0) -> None:
        """`clock` provides the times of stimuli: the initial wall clock time plus monotonic time.
        `decisions` is the number of earlier decisions."""
        self._log = log
        self._run = run
        self._monotonic = clock.monotonic
        self._epoch = clock.now() - clock.monotonic()
        self._decisions = decisions
        #: Whether the scheduler is running: its clock readings and new tasks are recorded.
        self.is_inside = False
        #: Whether a stimulus is being handled.
        self.is_open = False
        #: Time of the current stimulus.
        self.time = 0.0
        self._is_in_gap = False
        #: Whether a segment may start at the next stimulus; not between a call and its objects.
        self._can_start_segment = True
        self._note_in(log.begin_segment(SegmentItem(self._now(), self._snapshot(begins=True), is_after_gap=False)))

    def _now(self) -> float:
        return self._epoch + self._monotonic()

    def decision_time(self) -> float:
        """Return the time for a decision made now."""
        return self.time

    def end(self) -> None:
        """Complete the current stimulus after the scheduler has handled it."""
        self.is_inside = self.is_open = False
        noted = self._noted
        noted.complete = complete = len(noted.parts)
        if (
            complete > FRAME_PARTS or noted.text_bytes > FRAME_BYTES
        ):  # `fills_frame`, written out: every stimulus ends here
            self._log.wants_attention = True

    # -- results -------------------------------------------------------------------------------------------------------

    def begin_replicas(self) -> None:
        """Prepare for simultaneous placements and bindings of replicas."""

    def end_replicas(self) -> None:
        """Finish after all replicas are bound, or their bindings have failed."""

    def note_placed(self, placed: PlacedPod, profile: str) -> None:
        """Record that a pod was scheduled."""
        noted = self._noted
        noted.parts += (PLACED, profile, placed)
        noted.pods.add(placed.pod)
        noted.nodes.add(placed.node)
        self._decisions += 1

    def note_bound(self, pod: str, uid: str, node: str) -> None:
        """Record that a pod is bound."""
        noted = self._noted
        noted.parts += (BOUND, pod, uid, node)
        noted.pods.add(pod)
        noted.nodes.add(node)

    def note_decision(self, body: DecisionBody | BindingBody) -> None:
        """Record an unsuccessful decision, or a failed binding."""
        self._parts += (BINDING if isinstance(body, BindingBody) else DECISION, body)
        self._noted.others.update(subjects_of(body))
        self._decisions += isinstance(body, DecisionBody)

    # -- segments ------------------------------------------------------------------------------------------------------

    def _note_in(self, noted: NotedParts) -> None:
        """Append stimuli to `noted` from now on."""
        self._noted = noted
        self._parts = noted.parts
        #: Records a reading of the scheduler's clock.
        self.note_time: Callable[[float], None] = noted.parts.append

    def _attend(self) -> None:
        """Handle the log's requests; if its thread holds the lock, retry at the next stimulus."""
        log = self._log
        if not log.lock.acquire(blocking=False):
            return
        try:
            log.wants_attention = False  # first, so that concurrent requests stay set
            self._note_in(self._next_parts())
        finally:
            log.lock.release()
        log.wait_for_room()

    def _next_parts(self) -> NotedParts:
        log = self._log
        if log.wants_segment and self._can_start_segment and self._is_time_for_segment():
            gap = "nothing was recorded for a while" if self._is_in_gap else ""
            segment = SegmentItem(self._now(), self._snapshot(gap=gap), self._is_in_gap)
            self._is_in_gap = False
            return log.begin_segment(segment)
        if log.is_paused:
            log.wants_attention = self._is_in_gap = True
            return NotedParts()  # never written
        if log.wants_segment:
            log.wants_attention = True
            return log.next_parts() if self._noted.fills_frame else self._noted
        return log.next_parts()

    def _is_time_for_segment(self) -> bool:
        """Return whether a segment may begin before the next stimulus."""
        return True

    def _snapshot(self, *, begins: bool = False, gap: str = "") -> Iterable[Frame | api.Object]:
        now, contents = self._now(), self._snapshot_contents()
        head = SnapshotBody(1 + contents.size, self._decisions, begins=begins, gap=gap)
        first = encoded(FrameKind.SNAPSHOT, now, head, [SNAPSHOT_SUBJECT]), encoded(FrameKind.RUN, now, self._run)
        return chain(first, contents.parts)

    def _snapshot_contents(self) -> SnapshotContents:
        """Return the frames that reproduce the current state."""
        raise NotImplementedError

    def _close_log(self, *, is_complete: bool = True) -> None:
        self._log.close(encoded(FrameKind.END, self._now(), EndBody(self._decisions, is_complete)))


@copied_attributes(_tell=no_value, _now=no_value, _evaluation=no_value, _evaluated=no_value, _recorder=no_value)
class PlacementObserver(DecisionObserver):
    """Observer that passes decisions and bindings to a recorder, placements in compact form. Copies
    in forks record nothing."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__(recorder.decision_time, recorder.note_decision)
        self._recorder: Recorder | None = recorder

    def decided(self, queued: QueuedPodInfo, decision: Decision) -> None:
        evaluation, recorder = self._evaluation, self._recorder
        if not isinstance(decision, Scheduled) or evaluation is None or self._evaluated is not decision.pod:
            super().decided(queued, decision)
        elif recorder is not None:
            self._evaluation, self._last = None, decision
            placed = PlacedPod.from_decision(
                decision, queued.attempts, evaluation.digested_totals(decision.choice.node)
            )
            recorder.note_placed(placed, decision.pod.scheduler_name)

    def placed(
        self, queued: Sequence[QueuedPodInfo], decisions: Sequence[Scheduled], totals: Sequence[DigestedTotals | None]
    ) -> None:
        recorder = self._recorder
        if recorder is not None:
            recorder.begin_replicas()
            for pod, decision, digested in zip(queued, decisions, totals, strict=True):
                recorder.note_placed(
                    PlacedPod.from_decision(decision, pod.attempts, digested), decision.pod.scheduler_name
                )

    def all_carried_out(self) -> None:
        if self._recorder is not None:
            self._recorder.end_replicas()

    def bound(self, decision: Scheduled) -> None:
        pod = decision.pod
        if self._recorder is not None:
            self._recorder.note_bound(pod.key, pod.uid, decision.choice.node)
