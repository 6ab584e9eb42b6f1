# SPDX-License-Identifier: Apache-2.0
"""Drives a scheduler in an event loop: schedules pods while there are any, and runs the queue's
timers.

Woken by `queue.on_ready`. Other tasks (watches, bindings, requests) run between slices of pods. If
internal errors are collected, an error with one pod or flush does not end the loop.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Final

from steersman.base import InternalErrors, Timing
from steersman.scheduler.assembly import Scheduler
from steersman.scheduler.assembly.host_actions import HostAction, RunAction, run_directly
from steersman.scheduler.cycle.decision import Decision

BACKOFF_SECONDS: Final = 1.0
"""Interval of backoff flushes, as in kube-scheduler."""
TIMER_SECONDS: Final = 0.001
"""Event loop timers may fire early by this much."""
UNSCHEDULABLE_SECONDS: Final = 30.0
"""Interval of flushes of unschedulable pods, as in kube-scheduler."""
LOOP: Final = "scheduling loop"
PAUSE_SECONDS: Final = 1.0
"""Pause after an internal error that is not attributed to a pod, because it may recur immediately.
"""


class SchedulingLoop:
    """Drives one scheduler."""

    def __init__(
        self,
        scheduler: Scheduler,
        timing: Timing,
        internal_errors: InternalErrors | None = None,
        *,
        pods_at_a_time: int = 1,
        slice_seconds: float = math.inf,
        act: RunAction = run_directly,
        attempt: Callable[[], Awaitable[Decision | None]] | None = None,
        is_paused: Callable[[], bool] = lambda: False,
    ) -> None:
        """`internal_errors` collects errors; without it they end the loop.

        `pods_at_a_time` pods are scheduled before other tasks run, or fewer after `slice_seconds`:
        an iteration of the event loop costs as much as a decision, and bindings sent together share
        a packet. `act` runs every action on the scheduler except attempts with extenders, which
        `attempt` runs. While `is_paused()`, pods stay in the queue, except for those released by
        `step`.
        """
        self._scheduler = scheduler
        self._act = act
        self._attempt = attempt or scheduler.schedule_one_async
        self._pods_at_a_time = pods_at_a_time
        self._slice_seconds = slice_seconds
        self._timing = timing
        self._internal_errors = internal_errors
        self._is_paused = is_paused
        #: Number of pods to schedule while the loop is paused.
        self._steps = 0
        #: Number of internal errors when lost pods were last requeued.
        self._errors_seen = 0
        self._ready = asyncio.Event()
        scheduler.queue.on_ready = self._ready.set

    async def run(self) -> None:
        """Schedule pods until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._repeat(self._seconds_to_next_flush, self._flush_backoff), name="flush backoff")
            group.create_task(
                self._repeat(lambda: UNSCHEDULABLE_SECONDS, self._flush_unschedulable), name="flush unschedulable"
            )
            group.create_task(self._scheduler.postponed.run(self._act), name="postponed attempts")
            group.create_task(self._schedule(), name="schedule")

    def step(self, decisions: int) -> None:
        """Schedule up to `decisions` queued pods while the loop is paused."""
        self._steps = decisions
        self._ready.set()

    def wake(self) -> None:
        """Check again whether the loop is paused."""
        self._ready.set()

    async def _schedule(self) -> None:
        while True:
            self._ready.clear()
            while await self._schedule_slice():
                await asyncio.sleep(0)
            await self._ready.wait()

    async def _schedule_slice(self) -> bool:
        """Schedule a slice of pods; return False if there are none left."""
        monotonic = self._timing.clock.monotonic
        try:
            end = monotonic() + self._slice_seconds
            for _ in range(self._pods_at_a_time):
                if self._is_paused() and not self._steps:
                    return False
                if await self._next() is None:
                    self._steps = 0
                    return False
                self._steps = max(0, self._steps - 1)
                if monotonic() >= end:
                    break
        except Exception as error:
            self._survive(LOOP, "the next pod", error)
            await self._timing.sleep(PAUSE_SECONDS)
        return True

    async def _next(self) -> Decision | None:
        if self._scheduler.options.extenders:
            return await self._attempt()
        return self._act(HostAction.ATTEMPT, self._scheduler.schedule_one)

    def _flush_backoff(self) -> None:
        self._act(HostAction.BACKOFF, self._scheduler.queue.flush_backoff)

    def _flush_unschedulable(self) -> None:
        self._act(HostAction.UNSCHEDULABLE, self._scheduler.queue.flush_unschedulable)
        errors = 0 if self._internal_errors is None else self._internal_errors.counts.total()
        if errors != self._errors_seen:
            self._act(HostAction.LOST_PODS, self._scheduler.requeue_lost_pods)
            self._errors_seen = errors

    def _seconds_to_next_flush(self) -> float:
        """Return the time to the next flush. Backoffs end at whole seconds, so a flush in the
        middle of one would be late for all of them."""
        if not self._scheduler.queue.aligns_backoff_to_seconds:
            return BACKOFF_SECONDS
        return BACKOFF_SECONDS - self._scheduler.clock.monotonic() % BACKOFF_SECONDS + TIMER_SECONDS

    async def _repeat(self, seconds: Callable[[], float], act: Callable[[], None]) -> None:
        """Call `act` repeatedly, each time after `seconds()`."""
        while True:
            await self._timing.sleep(seconds())
            try:
                act()
            except Exception as error:
                self._survive("queue", "a flush", error)

    def _survive(self, where: str, what: str, error: Exception) -> None:
        if self._internal_errors is None:
            raise error
        self._internal_errors.survived(where, what, error)
