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
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from steersman import api
from steersman.assembly import Scheduler
from steersman.assembly.stimuli import Stimulus
from steersman.clock import Clock
from steersman.engine.evaluation import Evaluation
from steersman.framework.ports import Spawn
from steersman.record.decisions import DecisionObserver
from steersman.record.frames import (
    AnswerBody,
    BindingBody,
    DecisionBody,
    EndBody,
    Frame,
    FrameKind,
    RaisedError,
    RunBody,
    SnapshotBody,
    StepCause,
    WatchedChange,
    encoded,
)
from steersman.record.live_items import (
    ANSWER,
    BINDING,
    DECISION,
    END,
    EXPECTED,
    STEP,
    TICK,
    TOLD,
    NotedParts,
    SegmentItem,
    kind_text,
)
from steersman.record.live_log import BLOCK_BYTES, LiveLog
from steersman.record.reader import SNAPSHOT_SUBJECT
from steersman.record.recorded_work import RecordedWork
from steersman.record.score_digest import DigestedScores, NotedColumn

logger = logging.getLogger(__name__)

T = TypeVar("T")
NotedText: TypeAlias = tuple[msgspec.Raw] | msgspec.Raw
"""The text of an object as it came from the API server: in the line of a watch, `[line]`, or by itself."""


DIGESTED_LATER: Final = DigestedScores("", 0)


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
        #: The totals of the attempt that is under way.
        self._column: NotedColumn | None = None
        self._is_in_gap = False
        self._objects: Callable[[], Sequence[api.Object]] = tuple
        begins = SegmentItem(self._now(), self._snapshot(begins=True), is_after_gap=False)
        self._note_in(log.begin_segment(begins))

    def observe(self, scheduler: Scheduler, objects: Callable[[], Sequence[api.Object]]) -> None:
        """From now on the decisions of the scheduler are recorded, and the objects that it knows are in snapshots."""
        self._objects = objects
        scheduler.observe(DecisionObserver(lambda: self.time, self._note_decision, self._note_scores))

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
        change: WatchedChange,
        obj: api.Object,
        tell: Callable[[api.Object], None],
        text: NotedText | None = None,
        size: int = 0,
    ) -> None:
        """Has the scheduler be told of an object. `size`: so many bytes has its text."""
        if self._log.wants_attention:
            self._attend()
        meta = obj.metadata
        kind, key = (
            kind_text(obj.__class__),
            f"{meta.namespace or 'default'}/{meta.name}" if obj.NAMESPACED else meta.name,
        )
        noted, self.time = self._noted, self._epoch + self._monotonic()
        noted.parts += (change, self.time, kind, key, text or obj)
        noted.add_object(kind, key, has_text=text is not None)
        noted.text_bytes += size
        if noted.text_bytes >= BLOCK_BYTES:
            self._log.wants_attention = True
        self.is_inside = self.is_open = True
        try:
            tell(obj)
        finally:
            self.is_inside = self.is_open = False
            noted.complete = len(noted.parts)

    def tell_meanwhile(self, change: WatchedChange, obj: api.Object, tell: Callable[[api.Object], None]) -> None:
        """Has the scheduler be told of an object in the middle of a stimulus, which a call to the outside has interrupted."""
        meta = obj.metadata
        kind, key = (
            kind_text(obj.__class__),
            f"{meta.namespace or 'default'}/{meta.name}" if obj.NAMESPACED else meta.name,
        )
        self._parts += (TOLD, self._calls, change, kind, key, obj)
        self._noted.add_object(kind, key, has_text=False)
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

    def call_ended(self, call: int, error: RaisedError | None, on_end: Callable[[], None]) -> None:
        """Has the scheduler be told how a call ended that no task waits for."""
        self._begin(END, call, error)
        try:
            on_end()
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
        self._noted.complete = len(self._parts)

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

    def _note_scores(self, evaluation: Evaluation, node: str) -> DigestedScores | None:
        """Copies the totals of the attempt that is about to be told: their digest is for the thread that writes."""
        ranked = evaluation.ranked_totals(node)
        if ranked is None:
            return None
        totals, row = ranked
        self._column = NotedColumn(totals.tobytes(), totals.itemsize, row)
        return DIGESTED_LATER

    def _note_decision(self, body: DecisionBody | BindingBody) -> None:
        noted = self._noted
        noted.pods.add(body.pod)
        noted.nodes.add(body.node)
        if isinstance(body, BindingBody):
            self._parts += (BINDING, body)
            return
        self._decisions += 1
        self._parts += (DECISION, body)
        column, self._column = self._column, None
        if column is not None:
            noted.add_column(body, column)
        if body.nominated_node:
            noted.nodes.add(body.nominated_node)
            noted.pods.update(body.victims)

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
        log = self._log
        log.wants_attention = False  # first: what the thread wants meanwhile is looked at the next time
        if log.wants_segment:
            gap = "nothing was recorded for a while" if self._is_in_gap else ""
            snapshot = self._snapshot(gap=gap)
            self._note_in(log.begin_segment(SegmentItem(self._now(), snapshot, self._is_in_gap)))
            self._is_in_gap = False
        elif log.is_paused:
            log.wants_attention = self._is_in_gap = True
            self._note_in(NotedParts())  # which nobody writes
        else:
            self._note_in(log.next_parts())

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
