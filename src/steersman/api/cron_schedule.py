# SPDX-License-Identifier: Apache-2.0
"""Cron schedules with the rules of robfig/cron v3, which CronJobs use.

Five fields (minute, hour, day of month, month, day of week) with lists, ranges, steps and names, or
a descriptor such as `@hourly` or `@every 90m`. If both day of month and day of week are restricted,
either matches. A local time that a clock change skips is not scheduled that day; one that occurs
twice is scheduled twice. `cronsim` follows Debian's cron instead: see ADR 0056.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from steersman.base import InputError

_MAX_YEARS: Final = 5
_HOUR: Final = 3600
_MONTHS: Final = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), start=1
    )
}
_DAYS: Final = {name: number for number, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}
_DESCRIPTORS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY: Final = "@every "
_DURATION: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")
_UNITS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_MAX_DIGITS: Final = 9


class _Bounds(NamedTuple):
    minimum: int
    maximum: int
    names: Mapping[str, int] = {}


_FIELDS: Final = (_Bounds(0, 59), _Bounds(0, 23), _Bounds(1, 31), _Bounds(1, 12, _MONTHS), _Bounds(0, 6, _DAYS))


class _CronField(NamedTuple):
    values: frozenset[int]
    #: Whether the field is a star, which restricts nothing.
    is_star: bool


class CronSchedule(NamedTuple):
    """Schedule in a time zone: by fields, or every `every` seconds if not 0."""

    minute: _CronField
    hour: _CronField
    day_of_month: _CronField
    month: _CronField
    day_of_week: _CronField
    zone: tzinfo = UTC
    every: int = 0

    def next_after(self, moment: float) -> float | None:
        """Return the first scheduled Unix time after a moment, None if not within five years."""
        if self.every:
            return float(int(moment) + self.every)
        time = int(moment) + 1
        last_year = self._wall(time).year + _MAX_YEARS
        while self._wall(time).year <= last_year:
            found, time = self._step(time)
            if found:
                return float(time)
        return None

    def _step(self, time: int) -> tuple[bool, int]:
        """Return whether the time is scheduled; if not, a later time up to which none is."""
        wall = self._wall(time)
        if wall.month not in self.month.values:
            later = wall.replace(day=1) + timedelta(days=32)
            return False, self._at(later.year, later.month, 1)
        if not self._has_day(wall):
            later = wall + timedelta(days=1)
            return False, self._at(later.year, later.month, later.day)
        if wall.hour not in self.hour.values:
            return False, time - wall.minute * 60 - wall.second + _HOUR
        if wall.minute not in self.minute.values:
            return False, time - wall.second + 60
        return (True, time) if not wall.second else (False, time - wall.second + 60)

    def _has_day(self, wall: datetime) -> bool:
        of_month = wall.day in self.day_of_month.values
        of_week = wall.isoweekday() % 7 in self.day_of_week.values
        if self.day_of_month.is_star or self.day_of_week.is_star:
            return of_month and of_week
        return of_month or of_week

    def _wall(self, time: int) -> datetime:
        return datetime.fromtimestamp(time, self.zone)

    def _at(self, year: int, month: int, day: int) -> int:
        """Return the start of a day: midnight, or the first existing hour."""
        return int(datetime(year, month, day, tzinfo=self.zone).timestamp())


@lru_cache(maxsize=1024)
def parse_schedule(text: str, time_zone: str | None = None) -> CronSchedule:
    """Parse a schedule. Raises `InputError` for an invalid schedule or an unknown time zone."""
    zone = _zone(time_zone) if time_zone else UTC
    prefix = re.match(r"(?:CRON_)?TZ=(\S+)\s+", text)
    if prefix is not None:
        zone, text = _zone(prefix[1]), text[prefix.end() :]
    if not text:
        raise InputError("empty spec string")
    if text.startswith(_EVERY):
        return _schedule("* * * * *", zone)._replace(every=_seconds(text.removeprefix(_EVERY), text))
    if text.startswith("@"):
        if text not in _DESCRIPTORS:
            raise InputError(f"unrecognized descriptor: {text}")
        text = _DESCRIPTORS[text]
    return _schedule(text, zone)


def is_known_zone(name: str) -> bool:
    """Return whether the time zone exists."""
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return False
    return True


def _schedule(text: str, zone: tzinfo) -> CronSchedule:
    fields = text.split()
    if len(fields) != len(_FIELDS):
        raise InputError(f"expected exactly {len(_FIELDS)} fields, found {len(fields)}: [{' '.join(fields)}]")
    minute, hour, day_of_month, month, day_of_week = map(_parsed_field, fields, _FIELDS)
    return CronSchedule(minute, hour, day_of_month, month, day_of_week, zone)


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise InputError(f"provided bad location {name}: unknown time zone {name}") from error


def _parsed_field(text: str, bounds: _Bounds) -> _CronField:
    ranges = [_range(part, bounds) for part in text.split(",") if part]
    return _CronField(frozenset().union(*(known.values for known in ranges)), any(known.is_star for known in ranges))


def _range(text: str, bounds: _Bounds) -> _CronField:
    limits, *steps = text.split("/")
    low, *high = limits.split("-")
    is_star = low in ("*", "?")
    first, last = (bounds.minimum, bounds.maximum) if is_star else _limits(low, high, text, bounds)
    if len(steps) > 1:
        raise InputError(f"too many slashes: {text}")
    step = _number(steps[0]) if steps else 1
    if steps and not high:
        last = bounds.maximum
    if first < bounds.minimum:
        raise InputError(f"beginning of range ({first}) below minimum ({bounds.minimum}): {text}")
    if last > bounds.maximum:
        raise InputError(f"end of range ({last}) above maximum ({bounds.maximum}): {text}")
    if first > last:
        raise InputError(f"beginning of range ({first}) beyond end of range ({last}): {text}")
    if not step:
        raise InputError(f"step of range should be a positive number: {text}")
    return _CronField(frozenset(range(first, last + 1, step)), is_star and step == 1)


def _limits(low: str, high: list[str], text: str, bounds: _Bounds) -> tuple[int, int]:
    if len(high) > 1:
        raise InputError(f"too many hyphens: {text}")
    first = _number(low, bounds.names)
    return first, _number(high[0], bounds.names) if high else first


def _number(text: str, names: Mapping[str, int] | None = None) -> int:
    named = (names or {}).get(text.lower())
    if named is not None:
        return named
    if not text.isascii() or not text.isdecimal() or len(text) > _MAX_DIGITS:
        raise InputError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    return int(text)


def _seconds(text: str, descriptor: str) -> int:
    """Return the whole seconds of a Go duration, at least 1."""
    parts = _DURATION.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise InputError(f'failed to parse duration {descriptor}: time: invalid duration "{text}"')
    return max(1, int(sum(float(number) * _UNITS[unit] for number, unit in parts)))
