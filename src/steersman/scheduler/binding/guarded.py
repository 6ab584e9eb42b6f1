# SPDX-License-Identifier: Apache-2.0
"""A coroutine that cleans up even if it never runs; used by `cycle` for the tasks that it passes to
its host.

A host that shuts down may cancel a task before its first step, or close a coroutine that it did not
start. Python then executes no line of it, so that a `finally` in it has no effect.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from types import TracebackType
from typing import Any


class Guarded(Coroutine[Any, Any, None]):
    """Runs `work`; calls `on_abandoned` if the coroutine is cancelled or closed before its first
    step."""

    def __init__(self, work: Coroutine[Any, Any, None], on_abandoned: Callable[[], None]) -> None:
        self._work = work
        self._on_abandoned: Callable[[], None] | None = on_abandoned

    def send(self, value: Any, /) -> Any:
        self._on_abandoned = None
        return self._work.send(value)

    def throw(
        self,
        kind: Any,
        value: BaseException | object = None,
        trace: TracebackType | None = None,
        /,
    ) -> Any:
        self._abandon()
        return self._work.throw(kind) if value is None else self._work.throw(kind, value, trace)

    def close(self) -> None:
        self._abandon()
        self._work.close()

    def __await__(self) -> Generator[Any, Any, None]:
        self._on_abandoned = None
        return self._work.__await__()

    def _abandon(self) -> None:
        abandoned, self._on_abandoned = self._on_abandoned, None
        if abandoned is not None:
            abandoned()
