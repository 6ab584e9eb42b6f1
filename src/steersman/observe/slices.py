# SPDX-License-Identifier: Apache-2.0
"""Long work in slices, so that nobody else waits for it: what generators yield, collected while the loop turns.

Used for pages that show every node or pod. What they read may change between two slices; each generator says what that means.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from time import perf_counter
from typing import Final, TypeVar

T = TypeVar("T")

SLICE_SECONDS: Final = 0.005
#: In a thread beside the one that schedules: as long a pause after each slice leaves Python's global lock to the other.
SHORT_SLICE_SECONDS: Final = 0.002


async def in_slices(parts: Iterable[T], seconds: float = SLICE_SECONDS, pause: float = 0.0) -> list[T]:
    """All parts; after every so many seconds of work everybody else in the loop may run, or for a pause everybody at all."""
    collected: list[T] = []
    end = perf_counter() + seconds
    for part in parts:
        collected.append(part)
        if perf_counter() >= end:
            await asyncio.sleep(pause)
            end = perf_counter() + seconds
    return collected


async def beside_scheduling(parts: Iterable[T]) -> list[T]:
    """All parts, by a thread that must not slow the scheduling thread down."""
    return await in_slices(parts, SHORT_SLICE_SECONDS, SHORT_SLICE_SECONDS)
