# SPDX-License-Identifier: Apache-2.0
"""What is to be called when: the simulated kubelets' idea of the future. The driver moves the clock and calls `run_due`."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count


class TimerHeap:
    """Implements `embedded.Timers`; timers of one moment are called in the order in which they were set."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Callable[[], None], bool]] = []
        self._serials = count()
        self._awaited = 0

    def __len__(self) -> int:
        """How many timers the simulation waits for: all but those in the background."""
        return self._awaited

    def call_at(self, time: float, callback: Callable[[], None], *, is_background: bool = False) -> None:
        heapq.heappush(self._heap, (time, next(self._serials), callback, is_background))
        self._awaited += not is_background

    def next_time(self) -> float | None:
        return self._heap[0][0] if self._heap else None

    def run_due(self, now: float) -> None:
        """Calls whatever is due, timers included that are set meanwhile for now or earlier."""
        while self._heap and self._heap[0][0] <= now:
            _, _, callback, is_background = heapq.heappop(self._heap)
            self._awaited -= not is_background
            callback()
