# SPDX-License-Identifier: Apache-2.0
"""A coroutine that cleans up even if it never runs. Used by `cycle` for the tasks it hands to its host.

A host that shuts down may cancel a task before its first step, or close a coroutine that it did not start. Python then
runs not a single line of it, and a `finally` in it is of no use.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from types import TracebackType
from typing import Any


class Guarded(Coroutine[Any, Any, None]):
    """Runs `work`; calls `on_abandoned` instead when that ends before it has begun."""

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
