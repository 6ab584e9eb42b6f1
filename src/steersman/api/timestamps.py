# SPDX-License-Identifier: Apache-2.0
"""Conversion of times between RFC 3339 in API objects and clocks' seconds since the epoch."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

from steersman.base import InputError


@lru_cache(maxsize=2048)
def parse(text: str) -> float:
    """Return the seconds since the epoch. Raises `InputError`."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise InputError("is not a time", value=text, hint='use RFC 3339, such as "2031-01-01T00:00:00Z"') from error
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def render(seconds: float) -> str:
    """Format in UTC with whole seconds, as in the API server's creation and start times."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def render_micro(seconds: float) -> str:
    """Format in UTC with microseconds, as in leases and events."""
    whole, micro = divmod(round(seconds * 1_000_000), 1_000_000)
    return f"{_second(whole)}.{micro:06d}Z"


@lru_cache(maxsize=8)
def _second(whole: int) -> str:
    """Format without the zone; cached because many events share a second."""
    return datetime.fromtimestamp(whole, UTC).strftime("%Y-%m-%dT%H:%M:%S")
