"""Drives the scheduler: pod after pod while the queue has any, and the queue's timers.

Woken by `queue.on_ready`. Between two pods everybody else (watches, bindings, requests) may run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from steersman.assembly import Scheduler
from steersman.client import Timing
from steersman.cycle.decision import Decision

BACKOFF_SECONDS: Final = 1.0
UNSCHEDULABLE_SECONDS: Final = 30.0


class SchedulingLoop:
    """Of one scheduler."""

    def __init__(self, scheduler: Scheduler, witnesses: Sequence[Callable[[Decision], None]], timing: Timing) -> None:
        self._scheduler = scheduler
        #: Each is told every decision.
        self._witnesses = witnesses
        self._timing = timing
        self._ready = asyncio.Event()
        scheduler.queue.on_ready = self._ready.set

    async def run(self) -> None:
        """Until it is cancelled."""
        queue = self._scheduler.queue
        async with asyncio.TaskGroup() as group:
            group.create_task(self._every(BACKOFF_SECONDS, queue.flush_backoff), name="flush backoff")
            group.create_task(self._every(UNSCHEDULABLE_SECONDS, queue.flush_unschedulable), name="flush unschedulable")
            group.create_task(self._scheduler.postponed.run(), name="postponed attempts")
            group.create_task(self._schedule(), name="schedule")

    async def _schedule(self) -> None:
        while True:
            self._ready.clear()
            while (decision := await self._next()) is not None:
                for tell in self._witnesses:
                    tell(decision)
                await asyncio.sleep(0)
            await self._ready.wait()

    async def _next(self) -> Decision | None:
        if self._scheduler.options.extenders:
            return await self._scheduler.schedule_one_async()
        return self._scheduler.schedule_one()

    async def _every(self, seconds: float, act: Callable[[], None]) -> None:
        while True:
            await self._timing.sleep(seconds)
            act()
