# SPDX-License-Identifier: Apache-2.0
"""The tasks of a simulation: binding cycles that wait for Permit plugins or for work of plugins.

The scheduler passes its coroutines to `spawn`; the driver runs them between decisions and when time
advances. The event loop exists only while there is a task; most simulations have none. Its time is
that of a `ManualClock`: nothing sleeps, and only the owner of the loop moves the clock.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from steersman.base import ManualClock, SteersmanError

_Ready = list[tuple[selectors.SelectorKey, int]]
_RESOLUTION: Final = 1e-6


class _IdleSelector(selectors.DefaultSelector):
    """Selector that raises instead of waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.on_idle: Callable[[float | None], None] = lambda seconds: None

    def select(self, timeout: float | None = None) -> _Ready:
        if timeout is None or timeout > 0:
            self.on_idle(timeout)
        ready: _Ready = super().select(0)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """Event loop whose `time()` is the time of the clock."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        selector = _IdleSelector()
        super().__init__(selector)
        selector.on_idle = self._note_idle
        self._idle_seconds: float | None = None
        # Timers within this resolution are due: floats of today's Unix time are a quarter of a
        # microsecond apart.
        self._clock_resolution = _RESOLUTION

    def time(self) -> float:
        return self._clock.monotonic()

    def run_ready(self) -> float | None:
        """Run everything that can run without waiting; return when the next timer is due, or None.

        Also works inside another running loop, as in a notebook.
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


# -- tasks -------------------------------------------------------------------------------------------------------------


T = TypeVar("T")

ENDLESS_WAIT: Final = (
    "the simulation cannot end: a plugin waits for something that never comes in virtual time; it must not wait for "
    "threads or the network"
)


class SimulationError(SteersmanError):
    """A simulation cannot continue."""


class Tasks:
    """All tasks of one simulation. They run only in `run_ready` and `advance`."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self._loop: VirtualLoop | None = None
        self._pending: set[asyncio.Task[None]] = set()
        self._failures: list[BaseException] = []

    def __len__(self) -> int:
        """Number of unfinished tasks."""
        return len(self._pending)

    def spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        if self._loop is None:
            self._loop = VirtualLoop(self._clock)
        task = self._loop.create_task(coroutine)
        self._pending.add(task)
        task.add_done_callback(self._ended)

    def finish(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine that needs no time; return its result. Raises `SimulationError` if it
        would wait."""
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
        """Run the tasks as far as possible without time passing; return when the next timer is due,
        or None."""
        if self._loop is None:
            return None
        due = self._loop.run_ready()
        if not self._pending:
            self.close()
        if self._failures:
            raise self._failures.pop()
        return due

    def advance(self, limit: float | None) -> None:
        """Advance the clock to the next timer of a task, at most to `limit`, and run the tasks."""
        due = self.run_ready()
        moments = [moment for moment in (due, limit) if moment is not None]
        if not moments:
            if self._pending:
                raise SimulationError(ENDLESS_WAIT)
            return
        self._clock.set(max(self._clock.monotonic(), min(moments)))
        self.run_ready()

    def close(self) -> None:
        """Cancel the remaining tasks."""
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
