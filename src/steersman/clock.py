# SPDX-License-Identifier: Apache-2.0
"""Time as a dependency: everything that needs the time is given a `Clock`.

`RealClock` serves a running scheduler, `ManualClock` simulations and tests, whose time moves only when told to.
"""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Where the time comes from."""

    def now(self) -> float:
        """Wall-clock seconds since the Unix epoch; may jump, to be used for timestamps only."""
        ...

    def monotonic(self) -> float:
        """Seconds since an arbitrary start; never goes back, to be used for durations and deadlines."""
        ...


class RealClock:
    """The clock of the machine. Its functions are the machine's own, without a call of Python around them."""

    now = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)


class ManualClock:
    """A clock that stands still until it is moved; wall and monotonic time move together."""

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
        """Move the clock forward to `time`, seconds since the epoch."""
        if time < self._now:
            raise ValueError(f"a clock cannot go back from {self._now} to {time}")
        self._now = float(time)
