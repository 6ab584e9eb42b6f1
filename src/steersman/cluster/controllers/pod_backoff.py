# SPDX-License-Identifier: Apache-2.0
"""Exponential backoff of replacing finished pods, as in the DaemonSet controller."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, NamedTuple

FIRST_BACKOFF_SECONDS: Final = 1.0
MAX_BACKOFF_SECONDS: Final = 900.0


class _Backoff(NamedTuple):
    seconds: float
    since: float


class ReplacementBackoffs:
    """Backoffs by key; they reset after twice the maximum without use."""

    def __init__(self) -> None:
        self._known: dict[Hashable, _Backoff] = {}

    def remaining_seconds(self, place: Hashable, now: float) -> float:
        """Return the backoff if it is not over; else 0, and start the next, longer one."""
        known = self._known.get(place)
        if known is not None and now - known.since < known.seconds:
            return known.seconds
        seconds = FIRST_BACKOFF_SECONDS
        if known is not None and now - known.since <= 2 * MAX_BACKOFF_SECONDS:
            seconds = min(2 * known.seconds, MAX_BACKOFF_SECONDS)
        self._known[place] = _Backoff(seconds, now)
        return 0.0
