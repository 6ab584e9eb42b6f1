# SPDX-License-Identifier: Apache-2.0
"""Backoffs end at whole seconds, as kube-scheduler's do, and are looked at right then, however long a look takes."""

from __future__ import annotations

import asyncio

from steersman.base.clock import ManualClock
from steersman.base.rng import SeededRng
from steersman.base.timing import Timing
from steersman.scheduler.host.scheduling_loop import SchedulingLoop
from steersman.testing import Harness

WANTED = 5


def test_flushes_of_the_backoff_queue_come_when_a_second_begins() -> None:
    """Each takes 30 ms; looks that come a second after the last one would be later every time."""
    clock, flushed = ManualClock(1000.3), list[float]()
    harness = Harness()
    harness.scheduler.clock = clock

    def flush() -> None:
        flushed.append(clock.monotonic())
        clock.advance(0.03)

    async def sleep(seconds: float) -> None:
        if seconds < 2.0:  # the other timer of the queue comes every half minute
            clock.advance(seconds)
        await asyncio.sleep(0)

    async def scenario() -> None:
        harness.scheduler.queue.flush_backoff = flush  # type: ignore[method-assign]
        loop = asyncio.create_task(SchedulingLoop(harness.scheduler, Timing(clock, SeededRng(1), sleep)).run())
        async with asyncio.timeout(20):
            while len(flushed) < WANTED:
                await asyncio.sleep(0)
        loop.cancel()
        await asyncio.gather(loop, return_exceptions=True)

    asyncio.run(scenario())
    late = [round(at % 1.0, 3) for at in flushed[:WANTED]]
    assert max(late) < 0.01, late
