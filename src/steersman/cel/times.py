# SPDX-License-Identifier: Apache-2.0
"""Timestamps and durations as texts, and the parts of a moment in a time zone."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from steersman.api.go_text import quote
from steersman.cel.arithmetic import MAX_INT, MAX_SECONDS, MIN_INT, MIN_SECONDS
from steersman.cel.errors import CelError
from steersman.cel.literals import parse_integer
from steersman.cel.values import NANOS, Timestamp

_UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "\u00b5s": 1_000,
    "\u03bcs": 1_000,
    "ms": 1_000_000,
    "s": NANOS,
    "m": 60 * NANOS,
    "h": 3600 * NANOS,
}
_DURATION: Final = re.compile(r"[+-]?(?:0|(?:(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:ns|us|µs|μs|ms|s|m|h))++)")
_PART: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
_TIMESTAMP: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?"
    r"(?:(Z)|([+-])([0-9]{2}):([0-9]{2}))"
)
_LARGEST: Final = 2**63
"""Nanoseconds of the longest duration, which has a sign."""
_EPOCH: Final = datetime(1970, 1, 1)
_MARGIN: Final = 300 * 366 * 24 * 3600
"""Seconds; no zone is further from UTC, because nanoseconds do not count further."""


def parse_duration(text: str) -> int | None:
    """Nanoseconds of `1h30m`, `1.5s`; None if the text is no duration or too long a one."""
    if not _DURATION.fullmatch(text):
        return None
    total = 0
    for match in _PART.finditer(text):
        part = _part(*match.groups(default=""))
        if part is None or total + part > _LARGEST:
            return None
        total += part
    if text[0] == "-":
        return -total
    return None if total > MAX_INT else total


def parse_timestamp(text: str) -> Timestamp | None:
    """A moment from RFC 3339; None if the text is none."""
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
        # Python knows no year 0; a leap cycle later everything else is the same.
        moment = datetime(year or 400, month, day, hour, minute, second)
    except ValueError:
        return None
    seconds = (moment - _EPOCH) // timedelta(seconds=1) - (0 if year else _LEAP_CYCLE)
    nanos = int(((fraction or "") + "000000000")[:9])
    return Timestamp((seconds - offset) * NANOS + nanos, offset)


def written_timestamp(moment: Timestamp) -> str:
    """RFC 3339 in the zone the moment was written in, with as many digits as needed."""
    local = _datetime(moment.seconds + moment.offset)
    nanos = moment.nanos % NANOS
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    text = f"{local.year:04d}-{local.month:02d}-{local.day:02d}T{local:%H:%M:%S}{fraction}"
    if not moment.offset:
        return text + "Z"
    hours, minutes = divmod(abs(moment.offset) // 60, 60)
    return f"{text}{'-' if moment.offset < 0 else '+'}{hours:02d}:{minutes:02d}"


class LocalTime(NamedTuple):
    """Calendar and clock of a zone."""

    #: Correct but for the year, which may be 400 off where Python's calendar ends.
    clock: datetime
    year: int


def in_zone(moment: Timestamp, zone: str) -> LocalTime:
    """A moment in a zone: a name such as `Europe/Berlin`, or an offset such as `-02:30`."""
    shift = _shift(moment.seconds)
    utc = _datetime(moment.seconds + shift * _LEAP_CYCLE).replace(tzinfo=UTC)
    local = utc.astimezone(_zone(zone)) if ":" not in zone else utc + timedelta(seconds=_offset(zone))
    return LocalTime(local, local.year - 400 * shift)


def _shift(seconds: int) -> int:
    """Leap cycles to stay away from the ends of Python's calendar: in other zones the moment may be beyond."""
    if seconds < MIN_SECONDS + _MARGIN:
        return 1
    return -1 if seconds > MAX_SECONDS - _MARGIN else 0


def _offset(zone: str) -> int:
    """Seconds east of UTC; like upstream's, nanoseconds in between wrap around."""
    hours, _, minutes = zone.partition(":")
    offset = _wrapped(_number(hours) * 60 + _number(minutes) * (-1 if zone.startswith("-") else 1))
    return int(_wrapped(offset * 60 * NANOS) / NANOS)


def _wrapped(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


def _part(whole: str, fraction: str, unit: str) -> int | None:
    """Nanoseconds; None if they are too many. Of a fraction upstream takes as many digits as an integer holds, and calculates
    with doubles."""
    number, scale = parse_integer(whole or "0"), _UNITS[unit]
    if number is None or number > _LARGEST // scale:
        return None
    digits = fraction[: _fraction_digits(fraction)]
    if int(digits or "0"):
        number_of_nanos = number * scale + int(float(int(digits)) * (float(scale) / 10.0 ** len(digits)))
        return number_of_nanos if number_of_nanos <= _LARGEST else None
    return number * scale


def _fraction_digits(fraction: str) -> int:
    """How many digits of a fraction count."""
    value = 0
    for position, digit in enumerate(fraction):
        if value > MAX_INT // 10 or value * 10 + int(digit) > _LARGEST:
            return position
        value = value * 10 + int(digit)
    return len(fraction)


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
