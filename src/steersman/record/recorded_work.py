# SPDX-License-Identifier: Apache-2.0
"""Coroutines of a recorded scheduler: their steps, and the external work that they await.

    task ─ send ─► RecordedWork ─► coroutine of the scheduler ─► HostWork ─► a request

Steps within a request are not steps of the scheduler; its coroutine continues with the response.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from steersman.record.frames import StepCause

if TYPE_CHECKING:
    from steersman.record.scheduler_recorder import SchedulerRecorder

T = TypeVar("T")


class RecordedWork(Coroutine[Any, Any, T], Generic[T]):
    """A coroutine whose steps are stimuli of its scheduler. Can be awaited or run as a task."""

    def __init__(self, work: Coroutine[Any, Any, T], number: int, recorder: SchedulerRecorder) -> None:
        self._work = work
        self.number = number
        self._recorder = recorder
        #: Whether it awaits external work, which continues by itself.
        self.is_outside = False
        #: Whether it has made its first step.
        self.has_begun = False

    def send(self, value: Any, /) -> Any:
        return self._step(StepCause.WOKEN, lambda: self._work.send(value))

    def throw(self, kind: Any, value: object = None, trace: TracebackType | None = None, /) -> Any:
        cause = _cause(kind if value is None else value)
        if value is None:
            return self._step(cause, lambda: self._work.throw(kind))
        return self._step(cause, lambda: self._work.throw(kind, value, trace))

    def close(self) -> None:
        self.is_outside = False
        self._step(StepCause.CLOSED, self._work.close)

    def _step(self, cause: StepCause, go_on: Callable[[], Any]) -> Any:
        recorder = self._recorder
        recorder.stepping = self
        if not self.is_outside:
            recorder.steps(self.number, cause)  # a snapshot may be made here, before the step
        self.has_begun = True
        try:
            awaited = go_on()
        except BaseException:
            recorder.open_tasks.pop(self.number, None)
            raise
        else:
            if cause is StepCause.CLOSED:
                recorder.open_tasks.pop(self.number, None)
            return awaited
        finally:
            recorder.stepping = None
            if not self.is_outside or recorder.is_inside:
                recorder.end()

    def __await__(self) -> Generator[Any, Any, T]:
        return _stepped(self)


class HostWork(Coroutine[Any, Any, T], Generic[T]):
    """A coroutine of the host, awaited by the scheduler. While it runs, the scheduler does not."""

    def __init__(self, work: Coroutine[Any, Any, T], recorder: SchedulerRecorder) -> None:
        self._work = work
        self._recorder = recorder
        #: The awaiting coroutine; None before the first step, which is part of that one's step.
        self._waiting: RecordedWork[Any] | None = None

    def send(self, value: Any, /) -> Any:
        return self._step(lambda: self._work.send(value))

    def throw(self, kind: Any, value: object = None, trace: TracebackType | None = None, /) -> Any:
        if value is None:
            return self._step(lambda: self._work.throw(kind))
        return self._step(lambda: self._work.throw(kind, value, trace))

    def _step(self, go_on: Callable[[], Any]) -> Any:
        recorder, waiting = self._recorder, self._waiting
        recorder.is_inside = False
        try:
            waits_for = go_on()
        except BaseException as end:
            if waiting is None:
                recorder.is_inside = True  # it ended without waiting
            else:
                waiting.is_outside = False
                recorder.steps(waiting.number, _cause(end))
            raise
        if waiting is None and recorder.stepping is not None:
            recorder.end()
            self._waiting = recorder.stepping
            self._waiting.is_outside = True
        return waits_for

    def close(self) -> None:
        self._work.close()

    def __await__(self) -> Generator[Any, Any, T]:
        return _stepped(self)


def _cause(raised: object) -> StepCause:
    return StepCause.CANCELLED if isinstance(raised, asyncio.CancelledError) else StepCause.WOKEN


def _stepped(work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
    """Await a coroutine step by step through its own `send` and `throw`."""
    try:
        waits_for = work.send(None)
        while True:
            try:
                value = yield waits_for
            except GeneratorExit:
                work.close()
                raise
            except BaseException as raised:
                waits_for = work.throw(raised)
            else:
                waits_for = work.send(value)
    except StopIteration as end:
        result: T = end.value
        return result
