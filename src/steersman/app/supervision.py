# SPDX-License-Identifier: Apache-2.0
"""A running scheduler keeps going: work in the background that fails is begun again, and the scheduling loop is watched.

`Heartbeat` runs in the scheduling loop and measures how late it is woken; `Watchdog` runs in the control loop. When there has
been no beat for long, `/livez` fails and the lease is given up, so that another replica takes over even where no kubelet
restarts this one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from typing import Any, Final

from steersman.client import Timing
from steersman.observe import Metrics
from steersman.serving import HealthCheck

logger = logging.getLogger(__name__)

PAUSE_SECONDS: Final = 5.0
BEAT_SECONDS: Final = 0.25
LOOK_SECONDS: Final = 1.0
STANDSTILL_SECONDS: Final = 60.0
STANDS_STILL: Final = "the scheduling loop has stood still for {:.0f} seconds"
CHECK_NAME: Final = "scheduling-loop"


async def kept_going(
    name: str, work: Callable[[], Coroutine[Any, Any, None]], timing: Timing, metrics: Metrics
) -> None:
    """Runs the work, again after a pause when it fails or ends, until this is cancelled. Failures are logged and counted."""
    while True:
        try:
            await work()
        except Exception:
            metrics.background_failures[(name,)].inc()
            logger.exception("%s has failed and is begun again in %g seconds", name, PAUSE_SECONDS)
        await timing.sleep(PAUSE_SECONDS)


# -- the scheduling loop -----------------------------------------------------------------------------------------------


class Heartbeat:
    """Beats in the scheduling loop. `beats` and `lag` may be read by any thread."""

    def __init__(self, timing: Timing, metrics: Metrics) -> None:
        self._timing = timing
        self._metrics = metrics
        self.beats = 0
        #: Seconds by which the last beat came late.
        self.lag = 0.0

    async def run(self) -> None:
        """Beats until it is cancelled."""
        clock = self._timing.clock
        while True:
            due = clock.monotonic() + BEAT_SECONDS
            await self._timing.sleep(BEAT_SECONDS)
            self.lag = max(0.0, clock.monotonic() - due)
            self._metrics.loop_delay_seconds.observe(self.lag)
            self.beats += 1


class Watchdog:
    """Watches the heartbeat from the control loop."""

    def __init__(self, heartbeat: Heartbeat, timing: Timing, give_up: Callable[[], None]) -> None:
        """`give_up` is called once, when the loop has stood still for too long."""
        self._heartbeat = heartbeat
        self._timing = timing
        self._give_up = give_up
        self._beats = -1
        self._looked = 0.0
        self._gave_up = False
        #: Seconds without a beat. Time in which this thread did not run either (a machine that was asleep) does not count.
        self.standstill = 0.0

    @property
    def reason(self) -> str:
        """Why the loop is given up; "" while it turns."""
        return STANDS_STILL.format(self.standstill) if self.standstill >= STANDSTILL_SECONDS else ""

    def check(self) -> HealthCheck:
        return HealthCheck(CHECK_NAME, lambda: self.reason)

    async def run(self) -> None:
        """Looks until it is cancelled."""
        while True:
            self.look()
            await self._timing.sleep(LOOK_SECONDS)

    def look(self) -> None:
        now, beats = self._timing.clock.monotonic(), self._heartbeat.beats
        passed = min(now - self._looked, 2 * LOOK_SECONDS)
        self.standstill = 0.0 if beats != self._beats else self.standstill + passed
        self._looked, self._beats = now, beats
        if self.reason and not self._gave_up:
            self._gave_up = True
            logger.error("%s: nothing is written and no lease renewed any more", self.reason)
            self._give_up()
