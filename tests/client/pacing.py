# SPDX-License-Identifier: Apache-2.0
"""Time that passes at once: whoever sleeps moves the clock."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from steersman.base.clock import ManualClock
from steersman.base.rng import SeededRng
from steersman.base.timing import Timing


class NoChance:
    """An Rng that always gives the least."""

    def random(self) -> float:
        return 0.0

    def randrange(self, n: int) -> int:
        return 0


@dataclass
class Pacing:
    """A clock, and how long everybody slept, in order."""

    clock: ManualClock = field(default_factory=ManualClock)
    slept: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.clock.advance(seconds)
        await asyncio.sleep(0)

    @property
    def timing(self) -> Timing:
        """Without jitter."""
        return Timing(self.clock, NoChance(), self.sleep)

    @property
    def jittery(self) -> Timing:
        return Timing(self.clock, SeededRng(1), self.sleep)
