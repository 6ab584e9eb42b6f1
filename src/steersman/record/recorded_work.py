# SPDX-License-Identifier: Apache-2.0
"""Coroutines of a scheduler that is recorded: the steps in which they go on, and what they wait for outside of it.

    task ─ send ─► RecordedWork ─► coroutine of the scheduler ─► OutsideWork ─► a request

What happens within a request is no step of the scheduler: its coroutine goes on when the answer is there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from steersman.record.frames import StepCause

if TYPE_CHECKING:
    from steersman.record.live_recorder import LiveRecorder

T = TypeVar("T")


class RecordedWork(Coroutine[Any, Any, T], Generic[T]):
    """A coroutine whose every step is a stimulus of its scheduler. Can be awaited, or made a task."""

    def __init__(self, work: Coroutine[Any, Any, T], number: int, recorder: LiveRecorder) -> None:
        self._work = work
        self.number = number
        self._recorder = recorder
        #: Whether it waits for something outside of the scheduler, which goes on by itself.
        self.is_outside = False

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
            recorder.steps(self.number, cause)
        try:
            return go_on()
        finally:
            recorder.stepping = None
            if not self.is_outside or recorder.is_inside:
                recorder.end()

    def __await__(self) -> Generator[Any, Any, T]:
        return _stepped(self)


class OutsideWork(Coroutine[Any, Any, T], Generic[T]):
    """A coroutine of the host that a coroutine of the scheduler waits for: while it runs, the scheduler does not."""

    def __init__(self, work: Coroutine[Any, Any, T], recorder: LiveRecorder) -> None:
        self._work = work
        self._recorder = recorder
        #: Who waits; None before the first step, which is a part of his own.
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
                recorder.is_inside = True  # there was nothing to wait for
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
    """Awaits a coroutine step by step, through its own `send` and `throw`."""
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
