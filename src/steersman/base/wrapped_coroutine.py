# SPDX-License-Identifier: Apache-2.0
"""Base class of coroutines that run another one and do something at each of its steps."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from types import TracebackType
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class WrappedCoroutine(Coroutine[Any, Any, T], Generic[T]):
    """Runs `work`; a subclass overrides `_step`, or `close`. Can be awaited or run as a task."""

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self._work = work

    def _step(self, resume: Callable[[], Any], raised: object = None) -> Any:
        """Run one step of `work` by `resume`; `raised` is the exception that is thrown into it,
        such as a cancellation."""
        return resume()

    def send(self, value: Any, /) -> Any:
        return self._step(lambda: self._work.send(value))

    def throw(self, kind: Any, value: object = None, trace: TracebackType | None = None, /) -> Any:
        if value is None:
            return self._step(lambda: self._work.throw(kind), kind)
        return self._step(lambda: self._work.throw(kind, value, trace), value)

    def close(self) -> None:
        self._work.close()

    def __await__(self) -> Generator[Any, Any, T]:
        try:
            awaited = self.send(None)
            while True:
                try:
                    value = yield awaited
                except GeneratorExit:
                    self.close()
                    raise
                except BaseException as raised:
                    awaited = self.throw(raised)
                else:
                    awaited = self.send(value)
        except StopIteration as end:
            result: T = end.value
            return result
