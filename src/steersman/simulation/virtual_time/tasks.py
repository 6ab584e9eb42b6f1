# SPDX-License-Identifier: Apache-2.0
"""The tasks of a simulation: binding cycles that have to wait for a permission or for a plugin's own work.

The scheduler hands its coroutines to `spawn`; the driver lets them run between decisions and while time passes. Most
simulations have none, and then there is no event loop either: it lives only as long as a task does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

from steersman.base import ManualClock, SteersmanError
from steersman.simulation.virtual_time.loop import VirtualLoop

T = TypeVar("T")

ENDLESS_WAIT: Final = (
    "the simulation cannot end: a plugin waits for something that never comes in virtual time; it must not wait for "
    "threads or the network"
)


class SimulationError(SteersmanError):
    """A simulation cannot go on."""


class Tasks:
    """All tasks of one simulation. They run only when told to."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self._loop: VirtualLoop | None = None
        self._pending: set[asyncio.Task[None]] = set()
        self._failures: list[BaseException] = []

    def __len__(self) -> int:
        """How many have not ended."""
        return len(self._pending)

    def spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        if self._loop is None:
            self._loop = VirtualLoop(self._clock)
        task = self._loop.create_task(coroutine)
        self._pending.add(task)
        task.add_done_callback(self._ended)

    def finish(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine that needs no time, and gives what it returns. Raises `SimulationError` for one that would wait."""
        if self._loop is None:
            self._loop = VirtualLoop(self._clock)
        task = self._loop.create_task(coroutine)
        self._loop.run_ready()
        if not task.done():
            task.cancel()
            raise SimulationError(ENDLESS_WAIT)
        if not self._pending:
            self.close()
        return task.result()

    def run_ready(self) -> float | None:
        """Lets tasks go as far as they can at this moment; when one of them wants to go on, None if none says so."""
        if self._loop is None:
            return None
        due = self._loop.run_ready()
        if not self._pending:
            self.close()
        if self._failures:
            raise self._failures.pop()
        return due

    def advance(self, limit: float | None) -> None:
        """Moves the clock to the moment at which a task wants to go on, but not beyond `limit`, and lets it."""
        due = self.run_ready()
        moments = [moment for moment in (due, limit) if moment is not None]
        if not moments:
            if self._pending:
                raise SimulationError(ENDLESS_WAIT)
            return
        self._clock.set(max(self._clock.monotonic(), min(moments)))
        self.run_ready()

    def close(self) -> None:
        """Ends the tasks that are left."""
        loop, self._loop = self._loop, None
        if loop is None:
            return
        for task in self._pending:
            task.cancel()
        if self._pending:
            loop.run_ready()
        loop.close()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._pending.discard(task)
        if not task.cancelled() and (failure := task.exception()) is not None:
            self._failures.append(failure)
