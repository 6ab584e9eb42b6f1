# SPDX-License-Identifier: Apache-2.0
"""Time for controllers under test: it passes when told to."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from tests.embedded.stores import START, clock_of

from steersman.cluster.store import Store


class FakeTimers:
    """Time passes when `run_until` is called; implements `embedded.Timers`."""

    def __init__(self, store: Store) -> None:
        self._clock = clock_of(store)
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._due)

    @property
    def is_idle(self) -> bool:
        """Whether nobody waits for anything."""
        return not self._due

    def call_at(self, time: float, callback: Callable[[], None], *, is_background: bool = False) -> None:
        self._count += 1
        heapq.heappush(self._due, (time, self._count, callback))

    def run_until(self, seconds: float) -> None:
        """Everything that is due until so many seconds after the start."""
        while self._due and self._due[0][0] <= START + seconds:
            time, _, callback = heapq.heappop(self._due)
            self._clock.set(max(time, self._clock.now()))
            callback()
        self._clock.set(START + seconds)
