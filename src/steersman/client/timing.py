# SPDX-License-Identifier: Apache-2.0
"""Time and chance as one dependency of everything in this package that waits: `retry`, `rate_limit`, the reflectors, leases.

Tests give a clock that jumps instead of sleeping.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from steersman.clock import Clock, RealClock
from steersman.rng import Rng, SeededRng

Sleep = Callable[[float], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Timing:
    """`sleep` waits on the clock's monotonic time."""

    clock: Clock = field(default_factory=RealClock)
    rng: Rng = field(default_factory=lambda: SeededRng(secrets.randbits(64)))
    sleep: Sleep = asyncio.sleep

    def jittered(self, seconds: float, share: float) -> float:
        """`seconds` and up to `share` of them more."""
        return seconds * (1.0 + share * self.rng.random())
