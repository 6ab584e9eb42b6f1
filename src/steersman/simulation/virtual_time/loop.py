# SPDX-License-Identifier: Apache-2.0
"""An event loop whose time is a `ManualClock`: nothing sleeps, and nothing but its owner moves the clock.

`tasks` owns one. `run_ready` runs everything that is due at the present moment and says when something else will be, so
that the owner can move the clock there, or to an earlier event that the loop knows nothing of.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from typing import Final

from steersman.base import ManualClock

_Ready = list[tuple[selectors.SelectorKey, int]]
_RESOLUTION: Final = 1e-6


class _IdleSelector(selectors.DefaultSelector):
    """Tells that the loop would have to wait, instead of waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.on_idle: Callable[[float | None], None] = lambda seconds: None

    def select(self, timeout: float | None = None) -> _Ready:
        if timeout is None or timeout > 0:
            self.on_idle(timeout)
        ready: _Ready = super().select(0)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """Coroutines, timeouts and `call_at` as in any event loop; `time()` is the clock's."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        selector = _IdleSelector()
        super().__init__(selector)
        selector.on_idle = self._note_idle
        self._idle_seconds: float | None = None
        # What lies within it is due: floats of today's Unix time are a quarter of a microsecond apart.
        self._clock_resolution = _RESOLUTION

    def time(self) -> float:
        return self._clock.monotonic()

    def run_ready(self) -> float | None:
        """Runs all that can run without waiting; the time at which the next timer is due, None without one.

        Works inside of another running loop as well, which a notebook has.
        """
        outer = asyncio._get_running_loop()
        asyncio._set_running_loop(None)
        try:
            self.run_forever()
        finally:
            asyncio._set_running_loop(outer)
        return None if self._idle_seconds is None else self.time() + self._idle_seconds

    def _note_idle(self, seconds: float | None) -> None:
        self._idle_seconds = seconds
        self.stop()
