# SPDX-License-Identifier: Apache-2.0
"""Timers of kubelets and controllers: callbacks by due time. The driver of a simulation, or
`LoopTimers` in a sandbox, calls `run_due` or `pop_due` after advancing the clock."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from typing import TypeAlias

from steersman.base.graph_copy import GraphCopy, copied_attributes

Timer: TypeAlias = tuple[float, int, Callable[[], None], bool]
"""Due time, serial number, callback, and whether it is a background timer."""


def _copied_timers(copies: GraphCopy, timers: list[Timer]) -> list[Timer]:
    """Copy the timers; of the possibly thousands of tuples, only the callbacks are copied
    deeply."""

    def fill(timers: list[Timer], made: list[Timer]) -> None:
        copy_of = copies.copy_of
        made += [(time, serial, copy_of(callback), is_background) for time, serial, callback, is_background in timers]

    return copies.note(timers, [], fill)


@copied_attributes(_heap=_copied_timers)
class TimerHeap:
    """Implements `cluster.store.Timers`; timers with the same due time are called in the order in
    which they were set."""

    def __init__(self) -> None:
        self._heap: list[Timer] = []
        self._serials = count()
        self._awaited = 0

    def __len__(self) -> int:
        """Return the number of foreground timers, for which the simulation waits."""
        return self._awaited

    def call_at(self, time: float, callback: Callable[[], None], *, is_background: bool = False) -> None:
        heapq.heappush(self._heap, (time, next(self._serials), callback, is_background))
        self._awaited += not is_background

    def next_time(self) -> float | None:
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now: float) -> Callable[[], None] | None:
        """Remove and return the next due callback, or None."""
        if not self._heap or self._heap[0][0] > now:
            return None
        _, _, callback, is_background = heapq.heappop(self._heap)
        self._awaited -= not is_background
        return callback

    def run_due(self, now: float) -> None:
        """Call all due timers, including those set meanwhile."""
        while self._heap and self._heap[0][0] <= now:
            _, _, callback, is_background = heapq.heappop(self._heap)
            self._awaited -= not is_background
            callback()
