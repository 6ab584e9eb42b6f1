# SPDX-License-Identifier: Apache-2.0
"""Timers of kubelets and controllers: callbacks by the moment at which they are due. Whoever moves the clock calls `run_due`
or `pop_due`: the driver of a simulation, and `LoopTimers` of a sandbox."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from typing import TypeAlias

from steersman.graph_copy import GraphCopy, copied_attributes

Timer: TypeAlias = tuple[float, int, Callable[[], None], bool]
"""The moment, a serial number, what is called, and whether that happens in the background."""


def _copied_timers(copies: GraphCopy, timers: list[Timer]) -> list[Timer]:
    """There may be thousands, of which only the callbacks have to be copied."""

    def fill(timers: list[Timer], made: list[Timer]) -> None:
        of = copies.of
        made += [(time, serial, of(callback), is_background) for time, serial, callback, is_background in timers]

    return copies.note(timers, [], fill)


@copied_attributes(_heap=_copied_timers)
class TimerHeap:
    """Implements `embedded.Timers`; timers of one moment are called in the order in which they were set."""

    def __init__(self) -> None:
        self._heap: list[Timer] = []
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

    def pop_due(self, now: float) -> Callable[[], None] | None:
        """The next callback that is due, to be called by the caller; None without one."""
        if not self._heap or self._heap[0][0] > now:
            return None
        _, _, callback, is_background = heapq.heappop(self._heap)
        self._awaited -= not is_background
        return callback

    def run_due(self, now: float) -> None:
        """Calls whatever is due, timers included that are set meanwhile for now or earlier."""
        while self._heap and self._heap[0][0] <= now:
            _, _, callback, is_background = heapq.heappop(self._heap)
            self._awaited -= not is_background
            callback()
