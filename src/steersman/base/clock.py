# SPDX-License-Identifier: Apache-2.0
"""Time as a dependency: code that needs the time gets a `Clock`.

`RealClock` is for a running scheduler, `ManualClock` for simulations and tests, whose time only
advances explicitly.
"""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Source of the time."""

    def now(self) -> float:
        """Return wall-clock seconds since the Unix epoch; may jump, so use it for timestamps
        only."""
        ...

    def monotonic(self) -> float:
        """Return seconds since an arbitrary start; never decreases, so use it for durations and
        deadlines."""
        ...


class RealClock:
    """The system clock. The functions are those of `time`, without a Python call around them."""

    now = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)


class ManualClock:
    """A clock that only advances explicitly; wall and monotonic time advance together."""

    def __init__(self, start: float = 0.0) -> None:
        self._now = float(start)

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        """Move the clock forward by `seconds`."""
        self.set(self._now + seconds)

    def set(self, time: float) -> None:
        """Move the clock forward to `time`, in seconds since the epoch."""
        if time < self._now:
            raise ValueError(f"a clock cannot go back from {self._now} to {time}")
        self._now = float(time)
