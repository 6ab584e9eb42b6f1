# SPDX-License-Identifier: Apache-2.0
"""Conversion of times between RFC 3339 in API objects and clocks' seconds since the epoch."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

from steersman.base import InputError

#: 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z.
_FIRST, _LAST = -62_135_596_800, 253_402_300_799


@lru_cache(maxsize=2048)
def parse(text: str) -> float:
    """Return the seconds since the epoch. Raises `InputError`."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise InputError("is not a time", value=text, hint='use RFC 3339, such as "2031-01-01T00:00:00Z"') from error
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def check_range(seconds: int) -> int:
    """Return the time, or raise `OverflowError` if its year has more than four digits or is before
    1."""
    if not _FIRST <= seconds <= _LAST:
        raise OverflowError(seconds)
    return seconds


def render(seconds: float) -> str:
    """Format in UTC with whole seconds, as in the API server's creation and start times."""
    return f"{_second(int(seconds))}Z"


def render_micro(seconds: float) -> str:
    """Format in UTC with microseconds, as in leases and events."""
    whole, micro = divmod(round(seconds * 1_000_000), 1_000_000)
    return f"{_second(whole)}.{micro:06d}Z"


@lru_cache(maxsize=8)
def _second(whole: int) -> str:
    """Format without the zone; cached because many events share a second. Times outside the years 1
    to 9999, such as the end of a grace period of 10^18 seconds, become the first or last second of
    this range."""
    return datetime.fromtimestamp(min(max(whole, _FIRST), _LAST), UTC).isoformat(timespec="seconds")[:19]
