# SPDX-License-Identifier: Apache-2.0
"""Times as API objects write them (RFC 3339) and as clocks give them (seconds since the epoch)."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

from steersman.errors import InputError


@lru_cache(maxsize=2048)
def parse(text: str) -> float:
    """Seconds since the epoch."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise InputError("is not a time", value=text, hint='use RFC 3339, such as "2031-01-01T00:00:00Z"') from error
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def render(seconds: float) -> str:
    """Whole seconds in UTC, as the API server writes creation and start times."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def render_micro(seconds: float) -> str:
    """Microseconds in UTC, as leases and events need them."""
    whole, micro = divmod(round(seconds * 1_000_000), 1_000_000)
    return f"{_second(whole)}.{micro:06d}Z"


@lru_cache(maxsize=8)
def _second(whole: int) -> str:
    """The text of a second, without the zone. Many events are of the same second."""
    return datetime.fromtimestamp(whole, UTC).strftime("%Y-%m-%dT%H:%M:%S")
