# SPDX-License-Identifier: Apache-2.0
"""The clock, the random source and the sleep function of code that waits, as one value."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable

import msgspec

from steersman.base.clock import Clock, RealClock
from steersman.base.rng import Rng, SeededRng

Sleep = Callable[[float], Awaitable[object]]


class Timing(msgspec.Struct, frozen=True):
    """Clock, random source and sleep; tests pass a clock that jumps instead of sleeping."""

    clock: Clock = msgspec.field(default_factory=RealClock)
    rng: Rng = msgspec.field(default_factory=lambda: SeededRng(secrets.randbits(64)))
    sleep: Sleep = asyncio.sleep

    def jittered(self, seconds: float, share: float) -> float:
        """Return `seconds` plus a random part of up to `share` of them."""
        return seconds * (1.0 + share * self.rng.random())
