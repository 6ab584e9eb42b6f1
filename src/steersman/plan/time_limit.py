# SPDX-License-Identifier: Apache-2.0
"""The time limit of a search: the time that is left, for loops and for solvers."""

from __future__ import annotations

import math
import time
from collections.abc import Callable


class TimeLimit:
    """A deadline on a monotonic clock; without seconds it never passes."""

    def __init__(self, seconds: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._deadline = math.inf if seconds is None else clock() + seconds

    @property
    def is_set(self) -> bool:
        """Whether the limit can pass at all."""
        return self._deadline < math.inf

    def remaining(self) -> float:
        """Return the seconds that are left; infinity without a limit, and never less than 0."""
        return max(0.0, self._deadline - self._clock()) if self.is_set else math.inf

    def is_over(self) -> bool:
        """Return whether no time is left."""
        return self.remaining() <= 0

    def part(self, share: float) -> TimeLimit:
        """Return a limit that passes after this share of the remaining time."""
        return TimeLimit(self.remaining() * share, self._clock) if self.is_set else self
