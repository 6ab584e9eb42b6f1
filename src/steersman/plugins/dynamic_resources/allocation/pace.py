# SPDX-License-Identifier: Apache-2.0
"""How long a search may go on, and when it pauses."""

from __future__ import annotations

from collections.abc import Callable

from steersman.plugins.dynamic_resources.allocation.faults import OutOfTime


class Pace:
    """Of one search, which asks again and again. Seconds are those in which the search runs: pauses do not count."""

    __slots__ = ("_clock", "_limit", "_pause_at", "_resumed", "_used")

    def __init__(self, clock: Callable[[], float], limit: float | None = None) -> None:
        self._clock = clock
        self._limit = limit
        self._used = 0.0
        self._resumed = clock()
        self._pause_at: float | None = None

    def resume(self, seconds: float | None) -> None:
        """The search goes on, up to a pause in so many seconds; None: without one."""
        self._resumed = self._clock()
        self._pause_at = None if seconds is None else self._resumed + seconds

    def is_time_to_pause(self) -> bool:
        """OutOfTime when the search has been running for too long."""
        if self._limit is None and self._pause_at is None:
            return False
        now = self._clock()
        if self._limit is not None and self._used + now - self._resumed > self._limit:
            raise OutOfTime
        if self._pause_at is None or now <= self._pause_at:
            return False
        self._used += now - self._resumed
        return True
