# SPDX-License-Identifier: Apache-2.0
"""The event loop of a replay, which steps coroutines of the scheduler only as recorded.

A coroutine that is ready waits at its gate for its recorded step. Timers fire only if a recorded
step needs one of them: the record determines the order of events, not the clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import Context
from typing import Any, Final, TypeVar, TypeVarTuple

from steersman.base import ManualClock, SteersmanError, WrappedCoroutine
from steersman.framework import Spawn
from steersman.record.frames import (
    AnswerBody,
    CallEndBody,
    NestedWatchEventBody,
    StepCause,
    TaskStepBody,
    WatchEventBody,
)
from steersman.record.ports import OnEnd, ResultCodec, error_of
from steersman.simulation import VirtualLoop

Arguments = TypeVarTuple("Arguments")

EARLY_SECONDS: Final = 1.0
"""Tolerance for timers that fired early: an event loop uses the time of its last iteration."""


class ReplayLoop(VirtualLoop):
    """Event loop that runs ready callbacks and holds timers until they are released."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock)
        self._held: list[asyncio.TimerHandle] = []

    def call_at(
        self,
        when: float,
        callback: Callable[[*Arguments], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        self._held.append(timer)
        return timer

    def release_timers(self, until: float, is_enough: Callable[[], bool]) -> None:
        """Fire timers due by `until`, earliest first, until `is_enough()`."""
        for timer in sorted(self._held, key=asyncio.TimerHandle.when):
            if timer.when() > until or is_enough():
                break
            self._held.remove(timer)
            if not timer.cancelled():
                self.call_soon(timer._run)
                self.run_ready()
        self._held = [timer for timer in self._held if not timer.cancelled()]


@contextmanager
def closed_unless_made(loop: ReplayLoop) -> Iterator[None]:
    """Close the loop if the block raises."""
    try:
        yield
    except BaseException:
        loop.close()
        raise


class StepNotPossible(Exception):
    """The record steps a coroutine that is not ready or does not exist."""


class GatedWork(WrappedCoroutine[None]):
    """A coroutine that continues when its gate is opened."""

    def __init__(self, work: Coroutine[Any, Any, Any], loop: ReplayLoop) -> None:
        super().__init__(work)
        self._loop = loop
        #: The pending step while the coroutine waits at its gate.
        self._next: Callable[[], Any] | None = None
        self._gate: asyncio.Future[None] | None = None
        self._is_open = False

    @property
    def is_waiting(self) -> bool:
        """Whether the coroutine is ready and waits at its gate."""
        return self._next is not None

    def open(self) -> None:
        """Allow the coroutine one step."""
        self._is_open = True
        if self._gate is not None and not self._gate.done():
            self._gate.set_result(None)

    def _step(self, resume: Callable[[], Any], raised: object = None) -> Any:
        if self._next is None or raised is not None:
            self._next = resume
        if self._is_open:
            resume, self._next, self._is_open, self._gate = self._next, None, False, None
            return resume()
        self._gate = self._loop.create_future()
        self._gate._asyncio_future_blocking = True
        return self._gate


class GatedTasks:
    """The coroutines of a replayed scheduler by number."""

    def __init__(self, loop: ReplayLoop) -> None:
        self._loop = loop
        self._made = 0
        self._works: dict[int, GatedWork] = {}
        self._tasks: dict[int, asyncio.Task[Any]] = {}
        loop.set_task_factory(self._new_task)

    @property
    def spawn(self) -> Spawn:
        return self._loop.create_task

    def __len__(self) -> int:
        return len(self._works)

    def continue_after(self, number: int) -> None:
        """Number the next coroutine `number + 1`."""
        self._made = number

    def _new_task(self, loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> asyncio.Task[Any]:
        self._made += 1
        number, gated = self._made, GatedWork(work, self._loop)
        task = asyncio.Task(gated, loop=loop, **options)
        self._works[number], self._tasks[number] = gated, task
        task.add_done_callback(lambda ended: self._ended(number, ended))
        return task

    def _ended(self, number: int, task: asyncio.Task[Any]) -> None:
        del self._works[number], self._tasks[number]
        if not task.cancelled():
            task.exception()  # mark as retrieved; the recorded host survived it

    def step(self, body: TaskStepBody, time: float) -> None:
        """Repeat a recorded step of a coroutine. Raises `StepNotPossible`."""
        self._loop.run_ready()
        work = self._works.get(body.task)
        if work is None:
            raise StepNotPossible(f"coroutine {body.task} is not there")
        if body.cause is StepCause.CLOSED:
            work.close()
            return
        if not work.is_waiting:
            early = EARLY_SECONDS if body.cause is StepCause.WOKEN else 0.0
            self._loop.release_timers(time + early, lambda: work.is_waiting)
        if not work.is_waiting and body.cause is StepCause.CANCELLED:
            self._tasks[body.task].cancel()
            self._loop.run_ready()
        if not work.is_waiting:
            raise StepNotPossible(f"coroutine {body.task} waits for something else")
        work.open()
        self._loop.run_ready()

    def close(self) -> None:
        """Cancel the remaining coroutines and close the loop."""
        for task in self._tasks.values():
            task.cancel()
        for _ in range(100):
            if not self._works:
                break
            for work in list(self._works.values()):
                work.open()
            self._loop.run_ready()
        self._loop.close()


# -- clock and calls ---------------------------------------------------------------------------------------------------


T = TypeVar("T")


class ReplayedClock:
    """Clock that returns the recorded readings, and repeats the last one if there are no more."""

    def __init__(self) -> None:
        self._readings: list[float] = []
        self._last = 0.0

    def load(self, readings: Sequence[float]) -> None:
        """Load the recorded readings of one stimulus."""
        self._readings = list(reversed(readings))

    def now(self) -> float:
        if self._readings:
            self._last = self._readings.pop()
        return self._last

    def monotonic(self) -> float:
        return self.now()


class ReplayedCalls:
    """Implements `Calls` with the recorded results, without external calls. Objects that were
    delivered during a call are delivered again."""

    def __init__(self, loop: ReplayLoop) -> None:
        self._loop = loop
        self._calls = 0
        self._known: dict[int, AnswerBody] = {}
        self._awaited: dict[int, Any] = {}
        self._told: dict[int, list[NestedWatchEventBody]] = {}
        #: Number → receiver of the end of a call that no task awaits.
        self._on_end: dict[int, OnEnd] = {}
        #: Delivers an object to the scheduler during a call.
        self.tell: Callable[[WatchEventBody], None] = lambda body: None

    def load(self, answered: Iterable[AnswerBody], told: Iterable[NestedWatchEventBody] = ()) -> None:
        """Load results, waking the coroutines that await them, and objects delivered in calls."""
        for body in told:
            self._told.setdefault(body.call, []).append(body)
        for answer in answered:
            waiting = self._awaited.pop(answer.call, None)
            if waiting is None:
                self._known[answer.call] = answer
            elif not waiting.done():
                waiting.set_result(answer)

    def continue_after(self, number: int) -> None:
        """Number the next call `number + 1`."""
        self._calls = number

    def _begin_call(self) -> int:
        """Return the number of the next call, after delivering the objects recorded during it."""
        self._calls += 1
        for body in self._told.pop(self._calls, ()):
            self.tell(body)
        return self._calls

    async def ask(self, form: ResultCodec[T], call: Callable[[], Coroutine[Any, Any, T]]) -> T:
        number = self._begin_call()
        answer = self._known.pop(number, None)
        if answer is None:
            waiting = self._awaited[number] = self._loop.create_future()
            answer = await waiting
        if answer.error is not None:
            raise error_of(answer.error)
        return form.read(answer.value)

    def ask_nowait(self, form: ResultCodec[T], call: Callable[[], T]) -> T:
        number = self._begin_call()
        return form.read(self._known.pop(number, AnswerBody(number)).value)

    def report(self, call: Callable[[], None]) -> None:
        self._begin_call()

    def begin(self, call: Callable[[OnEnd], bool], on_end: OnEnd) -> bool:
        number = self._begin_call()
        answer = self._known.pop(number, None)
        if answer is None:
            self._on_end[number] = on_end
            return True
        if answer.error is not None:
            raise error_of(answer.error)
        return False

    def end(self, body: CallEndBody) -> None:
        """End a call as recorded. Raises `StepNotPossible` if it was not started."""
        on_end = self._on_end.pop(body.call, None)
        if on_end is None:
            raise StepNotPossible(f"call {body.call} was not begun")
        error = None if body.error is None else error_of(body.error)
        on_end(error if error is None or isinstance(error, SteersmanError) else SteersmanError(str(error)))
