"""Drives a scheduler in real time: pods while there are any, the queue's timers, and others in between.

Woken by `queue.on_ready`. A slice of pods is decided before others (the creators of pods, timers, bindings that wait) have
their turn: going round the event loop costs as much as a decision.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final

from steersman.assembly import Scheduler

SLICE: Final = 30
"""As many pods as upstream's harness creates at a time."""
BACKOFF_SECONDS: Final = 1.0
UNSCHEDULABLE_SECONDS: Final = 30.0


class Tasks:
    """Tasks that end with what they were started for. `spawn` is what a scheduler wants."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        self._running: set[asyncio.Task[None]] = set()

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._group.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def cancel(self) -> None:
        for task in self._running:
            task.cancel()


async def schedule(scheduler: Scheduler) -> None:
    """Until it is cancelled."""
    ready = asyncio.Event()
    scheduler.queue.on_ready = ready.set
    while True:
        ready.clear()
        await (asyncio.sleep(0) if await _slice(scheduler) else ready.wait())


async def _slice(scheduler: Scheduler) -> bool:
    """Whether there may be more to do."""
    left = SLICE
    while left > 0:
        if scheduler.options.extenders:
            decided = int(await scheduler.schedule_one_async() is not None)
        else:
            decided = len(scheduler.schedule_some(left))
        if not decided:
            return False
        left -= decided
    return True


async def every(seconds: float, act: Callable[[], object]) -> None:
    """Until it is cancelled."""
    while True:
        await asyncio.sleep(seconds)
        act()
