# SPDX-License-Identifier: Apache-2.0
"""Records a live scheduler: every stimulus in the order in which it set the scheduler to work, and what came of it.

Everything that a scheduler does, it does in one thread, in pieces that nothing interrupts: it is told of an object, it is to
try a pod or to flush its queue, or one of its coroutines goes on. Each piece is a stimulus. What it then asks of the outside
(time, answers of the API server) is noted as well; so the same pieces in the same order decide the same (`live_replay`).
`live_ports` has what stands between the scheduler and the outside.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

import msgspec

from steersman import api
from steersman.assembly import Scheduler
from steersman.assembly.stimuli import Stimulus
from steersman.clock import Clock
from steersman.cycle.decision import Decision, Scheduled
from steersman.errors import SteersmanError
from steersman.framework.ports import Spawn
from steersman.queue import QueuedPodInfo
from steersman.record.answers import raised_error
from steersman.record.decisions import DecisionObserver, subjects_of
from steersman.record.frames import (
    AnswerBody,
    BindingBody,
    DecisionBody,
    EndBody,
    Frame,
    FrameKind,
    PlacedPod,
    RunBody,
    SnapshotBody,
    StepCause,
    encoded,
)
from steersman.record.given_objects import subject_of
from steersman.record.live_items import (
    ANSWER,
    BINDING,
    BOUND,
    DECISION,
    END,
    EXPECTED,
    PLACED,
    STEP,
    TICK,
    TOLD,
    NotedParts,
    SegmentItem,
    kind_text,
    subject_prefix,
)
from steersman.record.live_log import FRAME_BYTES, FRAME_PARTS, LiveLog
from steersman.record.reader import SNAPSHOT_SUBJECT
from steersman.record.recorded_work import RecordedWork

logger = logging.getLogger(__name__)

T = TypeVar("T")


class LiveRecorder:
    """Notes the stimuli of one scheduler. All of it belongs to the scheduling loop."""

    def __init__(self, log: LiveLog, run: RunBody, clock: Clock) -> None:
        """`clock` says when a stimulus came. Times go on evenly from the first, whatever becomes of the wall clock."""
        self._log = log
        self._run = run
        self._monotonic = clock.monotonic
        self._epoch = clock.now() - clock.monotonic()
        #: Whether the scheduler is at work: readings of its clock are noted, and tasks that are made are its own.
        self.is_inside = False
        #: The coroutine that goes on at the moment.
        self.stepping: RecordedWork[Any] | None = None
        #: When the present stimulus came.
        self.time = 0.0
        #: Whether a stimulus is being dealt with.
        self.is_open = False
        self._tasks = self._calls = 0
        self._decisions = 0
        self._is_in_gap = False
        #: By kind, how a record names it, the beginning of its objects' names ("" for pods), and whether it is in namespaces.
        self._kinds: dict[type[api.Object], tuple[str, str, bool]] = {}
        self._objects: Callable[[], Sequence[api.Object]] = tuple
        begins = SegmentItem(self._now(), self._snapshot(begins=True), is_after_gap=False)
        self._note_in(log.begin_segment(begins))

    def observe(self, scheduler: Scheduler, objects: Callable[[], Sequence[api.Object]]) -> None:
        """From now on the decisions of the scheduler are recorded, and the objects that it knows are in snapshots."""
        self._objects = objects
        scheduler.observe(PlacementObserver(self))

    def _now(self) -> float:
        return self._epoch + self._monotonic()

    # -- stimuli -------------------------------------------------------------------------------------------------------

    def act(self, stimulus: Stimulus, act: Callable[[], T]) -> T:
        """Has the scheduler do something: `assembly.stimuli.Act`."""
        self._begin(TICK, stimulus, 0)
        try:
            return act()
        finally:
            self.end()

    def tell(
        self,
        change: str,
        obj: api.Object,
        tell: Callable[[api.Object], None],
        text: msgspec.Raw | None = None,
        size: int = 0,
    ) -> None:
        """Has the scheduler be told of an object. Most stimuli come here. `text` is that which came from the API server, by
        itself or in the line of a watch, `[line]`, and has `size` bytes."""
        if self._log.wants_attention:
            self._attend()
        noted, meta = self._noted, obj.metadata
        kind, prefix, is_namespaced = self._kinds.get(obj.__class__) or self._add_kind(obj.__class__)
        key = f"{meta.namespace or 'default'}/{meta.name}" if is_namespaced else meta.name
        self.time = time = self._epoch + self._monotonic()
        noted.parts += (change, time, kind, key, text or obj)
        if prefix:
            noted.others.add(prefix + key)
        else:
            noted.pods.add(key)
        if text is None:
            noted.objects.append(len(noted.parts) - 1)
        noted.text_bytes += size
        self.is_inside = self.is_open = True
        try:
            tell(obj)
        finally:
            self.end()

    def _add_kind(self, kind: type[api.Object]) -> tuple[str, str, bool]:
        text = kind_text(kind)
        found = text, "" if kind is api.Pod else subject_prefix(text), kind.NAMESPACED
        self._kinds[kind] = found
        return found

    def tell_meanwhile(self, change: str, obj: api.Object, tell: Callable[[api.Object], None]) -> None:
        """Has the scheduler be told of an object in the middle of a stimulus, which a call to the outside has interrupted."""
        kind, subject = kind_text(obj.__class__), subject_of(obj)
        noted = self._noted
        noted.parts += (TOLD, self._calls, change, kind, subject.partition("/")[2], obj)
        noted.others.add(subject)
        noted.objects.append(len(noted.parts) - 1)
        was_inside, self.is_inside = self.is_inside, True
        try:
            tell(obj)
        finally:
            self.is_inside = was_inside

    def expects(self, kind: type[api.Object], count: int) -> None:
        """The scheduler is about to be told of a list; `end` follows."""
        self._begin(EXPECTED, kind_text(kind), count)

    def steps(self, task: int, cause: StepCause) -> None:
        """A coroutine of the scheduler is about to go on; `end` follows."""
        self._begin(STEP, task, cause)

    def call_ended(
        self, call: int, on_end: Callable[[SteersmanError | None], None], failure: SteersmanError | None
    ) -> None:
        """Has the scheduler be told how a call ended that no task waits for."""
        self._begin(END, call, None if failure is None else raised_error(failure))
        try:
            on_end(failure)
        finally:
            self.end()

    def _begin(self, name: str, first: object, second: object) -> None:
        if self._log.wants_attention:
            self._attend()
        self.time = time = self._epoch + self._monotonic()
        self._parts += (name, time, first, second)
        self.is_inside = self.is_open = True

    def end(self) -> None:
        """The scheduler has done what the present stimulus made it do."""
        self.is_inside = self.is_open = False
        noted = self._noted
        noted.complete = complete = len(noted.parts)
        if complete > FRAME_PARTS or noted.text_bytes > FRAME_BYTES:
            self._log.wants_attention = True

    # -- what comes of them --------------------------------------------------------------------------------------------

    def _note_in(self, noted: NotedParts) -> None:
        """Stimuli are noted there from now on."""
        self._noted = noted
        self._parts = noted.parts
        #: The scheduler has read its clock.
        self.note_time: Callable[[float], None] = noted.parts.append

    def next_call(self) -> int:
        """The number of a call to the outside that begins."""
        self._calls += 1
        return self._calls

    def answered(self, call: int) -> None:
        """A call has ended, and there is nothing to say about it."""
        self._parts += (ANSWER, call)

    def answered_with(self, answer: AnswerBody) -> None:
        self._parts += (ANSWER, answer)

    def note_placed(self, placed: PlacedPod, profile: str) -> None:
        """A pod has got a node."""
        noted = self._noted
        noted.parts += (PLACED, profile, placed)
        noted.pods.add(placed.pod)
        noted.nodes.add(placed.node)
        self._decisions += 1

    def note_bound(self, pod: str, uid: str, node: str) -> None:
        """A pod is bound."""
        noted = self._noted
        noted.parts += (BOUND, pod, uid, node)
        noted.pods.add(pod)
        noted.nodes.add(node)

    def note_decision(self, body: DecisionBody | BindingBody) -> None:
        """A pod has not got a node, or is not bound."""
        self._parts += (BINDING if isinstance(body, BindingBody) else DECISION, body)
        self._noted.others.update(subjects_of(body))
        self._decisions += isinstance(body, DecisionBody)

    # -- coroutines ----------------------------------------------------------------------------------------------------

    def recorded(self, work: Coroutine[Any, Any, T]) -> RecordedWork[T]:
        """A coroutine of the scheduler, whose steps are noted."""
        self._tasks += 1
        return RecordedWork(work, self._tasks, self)

    def spawning(self, spawn: Spawn) -> Spawn:
        """`spawn` for coroutines whose steps are noted."""

        def spawn_recorded(work: Coroutine[Any, Any, None]) -> object:
            recorded, inside = self.recorded(work), self.is_inside
            self.is_inside = False  # the task that is made now is noted already
            try:
                return spawn(recorded)
            finally:
                self.is_inside = inside

        return spawn_recorded

    def new_task(self, loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> asyncio.Task[Any]:
        """A task factory: what the scheduler's coroutines set going beside themselves is noted as well."""
        return asyncio.Task(self.recorded(work) if self.is_inside else work, loop=loop, **options)

    async def attempt(self, scheduler: Scheduler) -> Any:
        """An attempt that may wait for extenders."""
        work = self.recorded(scheduler.schedule_one_async())
        self._begin(TICK, Stimulus.ATTEMPT, work.number)
        self.end()
        return await work

    # -- segments ------------------------------------------------------------------------------------------------------

    def _attend(self) -> None:
        """Does what the log wants, unless its thread is at it: then the next stimulus looks again."""
        log = self._log
        if not log.lock.acquire(blocking=False):
            return
        try:
            log.wants_attention = False  # first: what the thread wants meanwhile is looked at the next time
            self._note_in(self._next_parts())
        finally:
            log.lock.release()

    def _next_parts(self) -> NotedParts:
        log = self._log
        if log.wants_segment:
            gap = "nothing was recorded for a while" if self._is_in_gap else ""
            segment = SegmentItem(self._now(), self._snapshot(gap=gap), self._is_in_gap)
            self._is_in_gap = False
            return log.begin_segment(segment)
        if log.is_paused:
            log.wants_attention = self._is_in_gap = True
            return NotedParts()  # which nobody writes
        return log.next_parts()

    def _snapshot(self, *, begins: bool = False, gap: str = "") -> list[Frame | api.Object]:
        now, objects = self._now(), self._objects()
        head = SnapshotBody(1 + len(objects), self._decisions, begins=begins, gap=gap)
        return [
            encoded(FrameKind.SNAPSHOT, now, head, [SNAPSHOT_SUBJECT]),
            encoded(FrameKind.RUN, now, self._run),
            *objects,
        ]

    def close(self) -> None:
        """Ends the record in good order."""
        self._log.close(encoded(FrameKind.END, self._now(), EndBody(self._decisions)))


class PlacementObserver(DecisionObserver):
    """Tells a recorder what becomes of pods. Placements, which are most of it, have a short way."""

    def __init__(self, recorder: LiveRecorder) -> None:
        super().__init__(lambda: recorder.time, recorder.note_decision)
        self._recorder = recorder

    def decided(self, queued: QueuedPodInfo, decision: Decision) -> None:
        evaluation = self._evaluation
        if not isinstance(decision, Scheduled) or evaluation is None or self._evaluated is not decision.pod:
            super().decided(queued, decision)
            return
        self._evaluation, self._last = None, decision
        placed = PlacedPod.of(decision, queued.attempts, evaluation.digested_totals(decision.choice.node))
        self._recorder.note_placed(placed, decision.pod.scheduler_name)

    def bound(self, decision: Scheduled) -> None:
        pod = decision.pod
        self._recorder.note_bound(pod.key, pod.uid, decision.choice.node)
