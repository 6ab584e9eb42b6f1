# SPDX-License-Identifier: Apache-2.0
"""Parsing and formatting of timestamps, and local times in time zones."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from steersman.api.cel.arithmetic import MAX_INT, MAX_SECONDS, MIN_INT, MIN_SECONDS
from steersman.api.cel.errors import CelError
from steersman.api.cel.literals import parse_integer
from steersman.api.cel.values import NANOS, Timestamp
from steersman.api.go_text import quote

_TIMESTAMP: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?"
    r"(?:(Z)|([+-])([0-9]{2}):([0-9]{2}))"
)
_EPOCH: Final = datetime(1970, 1, 1)
_MARGIN: Final = 300 * 366 * 24 * 3600
"""Seconds; offsets from UTC are smaller, as they are limited by the range of nanoseconds."""


def parse_timestamp(text: str) -> Timestamp | None:
    """Parse an RFC 3339 timestamp; None if it is invalid."""
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    fraction, _, sign, zone_hour, zone_minute = match.groups()[6:]
    offset = 0
    if sign is not None:
        if int(zone_hour) > 24 or int(zone_minute) > 60:
            return None
        offset = (int(zone_hour) * 3600 + int(zone_minute) * 60) * (-1 if sign == "-" else 1)
    try:
        # Python has no year 0; one leap cycle later, all else is equal.
        moment = datetime(year or 400, month, day, hour, minute, second)
    except ValueError:
        return None
    seconds = (moment - _EPOCH) // timedelta(seconds=1) - (0 if year else _LEAP_CYCLE)
    nanos = int(((fraction or "") + "000000000")[:9])
    return Timestamp((seconds - offset) * NANOS + nanos, offset)


def written_timestamp(moment: Timestamp) -> str:
    """Format as RFC 3339 in the original zone, with as many digits as needed."""
    local = _datetime(moment.seconds + moment.offset)
    nanos = moment.nanos % NANOS
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    text = f"{local.year:04d}-{local.month:02d}-{local.day:02d}T{local:%H:%M:%S}{fraction}"
    if not moment.offset:
        return text + "Z"
    hours, minutes = divmod(abs(moment.offset) // 60, 60)
    return f"{text}{'-' if moment.offset < 0 else '+'}{hours:02d}:{minutes:02d}"


class LocalTime(NamedTuple):
    """Calendar date and time in a zone."""

    #: Correct except for the year, which may be off by 400 near the limits of Python's calendar.
    clock: datetime
    year: int


def in_zone(moment: Timestamp, zone: str) -> LocalTime:
    """Convert to a zone: a name such as `Europe/Berlin`, or an offset such as `-02:30`."""
    shift = _shift(moment.seconds)
    utc = _datetime(moment.seconds + shift * _LEAP_CYCLE).replace(tzinfo=UTC)
    local = utc.astimezone(_zone(zone)) if ":" not in zone else utc + timedelta(seconds=_offset(zone))
    return LocalTime(local, local.year - 400 * shift)


def _shift(seconds: int) -> int:
    """Return the leap cycles to shift by, to keep local times within Python's calendar."""
    if seconds < MIN_SECONDS + _MARGIN:
        return 1
    return -1 if seconds > MAX_SECONDS - _MARGIN else 0


def _offset(zone: str) -> int:
    """Return the seconds east of UTC; like upstream, nanoseconds wrap around."""
    hours, _, minutes = zone.partition(":")
    offset = _wrapped(_number(hours) * 60 + _number(minutes) * (-1 if zone.startswith("-") else 1))
    return int(_wrapped(offset * 60 * NANOS) / NANOS)


def _wrapped(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


def _datetime(seconds: int) -> datetime:
    return _EPOCH + timedelta(seconds=seconds)


def _zone(name: str) -> ZoneInfo | timezone:
    if name in ("", "UTC"):
        return UTC
    if ".." in name or name[0] in "/\\":
        raise CelError("time: invalid location name")
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise CelError(f"unknown time zone {name}") from None


def _number(text: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise CelError(f"strconv.Atoi: parsing {quote(text)}: invalid syntax")
    number = parse_integer(text)
    if number is None or not MIN_INT <= number <= MAX_INT:
        raise CelError(f"strconv.Atoi: parsing {quote(text)}: value out of range")
    return number


_LEAP_CYCLE: Final = (datetime(800, 1, 1) - datetime(400, 1, 1)) // timedelta(seconds=1)
