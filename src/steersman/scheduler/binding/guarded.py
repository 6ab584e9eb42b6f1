# SPDX-License-Identifier: Apache-2.0
"""A coroutine that cleans up even if it never runs; used by `cycle` for the tasks that it passes to
its host.

A host that shuts down may cancel a task before its first step, or close a coroutine that it did not
start. Python then executes no line of it, so that a `finally` in it has no effect.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from steersman.base import WrappedCoroutine


class Guarded(WrappedCoroutine[None]):
    """Runs `work`; calls `on_abandoned` if the coroutine is cancelled or closed before its first
    step."""

    def __init__(self, work: Coroutine[Any, Any, None], on_abandoned: Callable[[], None]) -> None:
        super().__init__(work)
        self._on_abandoned: Callable[[], None] | None = on_abandoned

    def _step(self, resume: Callable[[], Any], raised: object = None) -> Any:
        if raised is None:
            self._on_abandoned = None
        else:
            self._abandon()
        return resume()

    def close(self) -> None:
        self._abandon()
        super().close()

    def _abandon(self) -> None:
        abandoned, self._on_abandoned = self._on_abandoned, None
        if abandoned is not None:
            abandoned()
