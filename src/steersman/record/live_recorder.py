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
from steersman.framework.ports import Spawn
from steersman.record.decisions import DecisionObserver
from steersman.record.frames import (
    AnswerBody,
    BindingBody,
    DecisionBody,
    EndBody,
    Frame,
    FrameKind,
    RunBody,
    SnapshotBody,
    StepCause,
    WatchedChange,
    encoded,
)
from steersman.record.live_items import ANSWER, BINDING, DECISION, EXPECTED, STEP, TICK, TOLD, SegmentItem, kind_text
from steersman.record.live_log import LiveLog
from steersman.record.reader import SNAPSHOT_SUBJECT
from steersman.record.recorded_work import RecordedWork

logger = logging.getLogger(__name__)

T = TypeVar("T")


def _nothing(stimulus: list[Any]) -> None:
    """Where nothing is recorded."""


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
        self._is_open = False
        self._tasks = self._calls = 0
        self._decisions = 0
        self._put: Callable[[list[Any]], None] = log.put
        #: The present stimulus, with what has come of it so far; the last one while the scheduler rests.
        self._stimulus: list[Any] = []
        self._is_in_gap = False
        self._objects: Callable[[], Sequence[api.Object]] = tuple
        log.begin_segment(SegmentItem(self._now(), self._snapshot(begins=True), is_after_gap=False))

    def observe(self, scheduler: Scheduler, objects: Callable[[], Sequence[api.Object]]) -> None:
        """From now on the decisions of the scheduler are recorded, and the objects that it knows are in snapshots."""
        self._objects = objects
        scheduler.observe(DecisionObserver(lambda: self.time, self._note_decision))

    def _now(self) -> float:
        return self._epoch + self._monotonic()

    # -- stimuli -------------------------------------------------------------------------------------------------------

    def act(self, stimulus: Stimulus, act: Callable[[], T]) -> T:
        """Has the scheduler do something: `assembly.stimuli.Act`."""
        self._begin([self._now(), TICK, stimulus, 0])
        try:
            return act()
        finally:
            self.end()

    def told(self, change: WatchedChange, obj: api.Object, text: msgspec.Raw | None) -> bool:
        """The scheduler is about to be told of an object; `end` follows. False: it is told in the middle of another stimulus,
        which a call to the outside has interrupted, and which does not end with it."""
        meta = obj.metadata
        key = f"{meta.namespace or 'default'}/{meta.name}" if obj.NAMESPACED else meta.name
        if self._is_open:
            self._stimulus.append([TOLD, [self._calls, change, kind_text(obj.__class__), key, obj]])
            return False
        if text is not None:
            self._log.count(memoryview(text).nbytes)
        self._begin([self._now(), change, kind_text(obj.__class__), key, obj if text is None else text])
        return True

    def expects(self, kind: type[api.Object], count: int) -> None:
        """The scheduler is about to be told of a list; `end` follows."""
        self._begin([self._now(), EXPECTED, kind_text(kind), count])

    def steps(self, task: int, cause: StepCause) -> None:
        """A coroutine of the scheduler is about to go on; `end` follows."""
        self._begin([self._now(), STEP, task, cause])

    def _begin(self, stimulus: list[Any]) -> None:
        if self._log.wants_attention:
            self._attend()
        self.time = stimulus[0]
        self._stimulus = stimulus
        self.is_inside = self._is_open = True

    def end(self) -> None:
        """The scheduler has done what the present stimulus made it do."""
        self.is_inside = self._is_open = False
        self._put(self._stimulus)

    # -- what comes of them --------------------------------------------------------------------------------------------

    def note_time(self, reading: float) -> None:
        """The scheduler has read its clock."""
        self._stimulus.append(reading)

    def next_call(self) -> int:
        """The number of a call to the outside that begins."""
        self._calls += 1
        return self._calls

    def answered(self, call: int) -> None:
        """A call has ended, and there is nothing to say about it."""
        self._stimulus.append([ANSWER, call])

    def answered_with(self, answer: AnswerBody) -> None:
        self._stimulus.append([ANSWER, answer])

    def _note_decision(self, body: DecisionBody | BindingBody) -> None:
        is_decision = isinstance(body, DecisionBody)
        self._decisions += is_decision
        self._stimulus.append([DECISION if is_decision else BINDING, body])

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
        self._begin([self._now(), TICK, Stimulus.ATTEMPT, work.number])
        self.end()
        return await work

    # -- segments ------------------------------------------------------------------------------------------------------

    def _attend(self) -> None:
        log = self._log
        if log.wants_segment:
            gap = "nothing was recorded for a while" if self._is_in_gap else ""
            snapshot = self._snapshot(gap=gap)
            log.begin_segment(SegmentItem(self._now(), snapshot, self._is_in_gap))
            self._put, self._is_in_gap = log.put, False
        elif log.is_paused:
            self._put, self._is_in_gap = _nothing, True

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
