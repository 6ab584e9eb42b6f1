# SPDX-License-Identifier: Apache-2.0
"""Drives the scheduler: pod after pod while the queue has any, and the queue's timers.

Woken by `queue.on_ready`. Between two slices of pods everybody else (watches, bindings, requests) may run. Where errors
are survived, nothing that goes wrong with one pod or one flush ends the loop.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Final

from steersman.assembly import Scheduler
from steersman.assembly.stimuli import Act, Stimulus, at_once
from steersman.client import Timing
from steersman.cycle.decision import Decision
from steersman.internal_errors import InternalErrors

BACKOFF_SECONDS: Final = 1.0
"""How often pods are looked at whose backoff may be over, as in kube-scheduler."""
TIMER_SECONDS: Final = 0.001
"""By so much timers of event loops may come early."""
UNSCHEDULABLE_SECONDS: Final = 30.0
"""How often pods are looked at that may have waited for too long, as in kube-scheduler."""
LOOP: Final = "scheduling loop"
PAUSE_SECONDS: Final = 1.0
"""After an error that no pod answers for: it might come at once again."""


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
        act: Act = at_once,
        attempt: Callable[[], Awaitable[Decision | None]] | None = None,
    ) -> None:
        """`internal_errors`: where errors are survived; None: they end the loop. `pods_at_a_time` are decided before others
        have their turn, but none any more after `slice_seconds`: going round the event loop costs as much as a decision, and
        bindings that begin together share a packet. `act` does everything that is done to the
        scheduler, but for attempts with extenders: `attempt` makes these."""
        self._scheduler = scheduler
        self._act = act
        self._attempt = attempt or scheduler.schedule_one_async
        self._pods_at_a_time = pods_at_a_time
        self._slice_seconds = slice_seconds
        self._timing = timing
        self._internal_errors = internal_errors
        #: So many more pods are decided; None: there is no limit.
        self._left: int | None = None
        #: How many internal errors there were when lost pods were last looked for.
        self._errors_seen = 0
        self._ready = asyncio.Event()
        scheduler.queue.on_ready = self._ready.set

    async def run(self) -> None:
        """Schedules pods until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._again(self._to_next_second, self._flush_backoff), name="flush backoff")
            group.create_task(
                self._again(lambda: UNSCHEDULABLE_SECONDS, self._flush_unschedulable), name="flush unschedulable"
            )
            group.create_task(self._scheduler.postponed.run(self._act), name="postponed attempts")
            group.create_task(self._schedule(), name="schedule")

    @property
    def is_held(self) -> bool:
        """Whether nothing is decided before somebody says so."""
        return self._left is not None

    def hold(self, decisions: int = 0) -> None:
        """Only so many more pods are decided, until `release`."""
        self._left = decisions
        self._ready.set()

    def release(self) -> None:
        """Pods are decided as they come."""
        self._left = None
        self._ready.set()

    async def _schedule(self) -> None:
        while True:
            self._ready.clear()
            while await self._schedule_slice():
                await asyncio.sleep(0)
            await self._ready.wait()

    async def _schedule_slice(self) -> bool:
        """False: there is no pod to be scheduled."""
        monotonic = self._timing.clock.monotonic
        try:
            end = monotonic() + self._slice_seconds
            for _ in range(self._pods_at_a_time):
                if self._left == 0 or await self._next() is None:
                    return False
                if self._left is not None:
                    self._left -= 1
                if monotonic() >= end:
                    break
        except Exception as error:
            self._survive(LOOP, "the next pod", error)
            await self._timing.sleep(PAUSE_SECONDS)
        return True

    async def _next(self) -> Decision | None:
        if self._scheduler.options.extenders:
            return await self._attempt()
        return self._act(Stimulus.ATTEMPT, self._scheduler.schedule_one)

    def _flush_backoff(self) -> None:
        self._act(Stimulus.BACKOFF, self._scheduler.queue.flush_backoff)

    def _flush_unschedulable(self) -> None:
        self._act(Stimulus.UNSCHEDULABLE, self._scheduler.queue.flush_unschedulable)
        errors = 0 if self._internal_errors is None else self._internal_errors.counts.total()
        if errors != self._errors_seen:
            self._act(Stimulus.LOST_PODS, self._scheduler.adopt_lost_pods)
            self._errors_seen = errors

    def _to_next_second(self) -> float:
        """Backoffs end when a whole second is over: a flush in the middle of one would come late for all of them."""
        if not self._scheduler.queue.backoffs_end_at_whole_seconds:
            return BACKOFF_SECONDS
        return BACKOFF_SECONDS - self._scheduler.clock.monotonic() % BACKOFF_SECONDS + TIMER_SECONDS

    async def _again(self, seconds: Callable[[], float], act: Callable[[], None]) -> None:
        """Acts again and again, each time after so many seconds as are asked for anew."""
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
