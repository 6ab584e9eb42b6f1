# SPDX-License-Identifier: Apache-2.0
"""Standard functions: operators, sizes, conversions, strings, and parts of times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from steersman.api.cel import arithmetic, ast
from steersman.api.cel.comparison import contains, find, is_ordered, order, require_hashable
from steersman.api.cel.declarations import Implementation
from steersman.api.cel.errors import no_such_overload
from steersman.api.cel.library import regexes
from steersman.api.cel.times import LocalTime, in_zone
from steersman.api.cel.values import NANOS, CelDuration, DefaultMap, TextMap, Timestamp, Value, to_key

_MILLI: Final = 1_000_000
_MINUTE: Final = 60 * NANOS


def _relation(operator: str, holds: Callable[[int], bool]) -> Implementation:
    def relation(left: Value, right: Value) -> bool:
        if not is_ordered(left):
            raise arithmetic.missing_operator(operator, left)
        return holds(order(left, right))

    return relation


def _is_in(sought: Value, container: Value) -> bool:
    if isinstance(container, list):
        return contains(container, sought)
    if isinstance(container, dict):
        if container and not isinstance(container, TextMap | DefaultMap):
            require_hashable(sought)
        return find(container, to_key(sought))[1]
    raise no_such_overload()


def _size(value: Value) -> int:
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    raise arithmetic.missing_operator("size", value)


def _not(operand: Value) -> bool:
    if type(operand) is bool:
        return not operand
    raise no_such_overload()


def _matches(text: Value, pattern: Value) -> bool:
    if not isinstance(text, str):
        raise arithmetic.missing_operator("matches", text)
    return regexes.matches(text, pattern)


def _identity(value: Value) -> Value:
    return value


def _text_function(holds: Callable[[str, str], bool]) -> Implementation:
    """Return a predicate of two strings, which checks argument types itself."""

    def predicate(text: Value, part: Value) -> bool:
        if not isinstance(text, str) or not isinstance(part, str):
            raise no_such_overload()
        return holds(text, part)

    return predicate


def _part_of_timestamp(part: Callable[[LocalTime, Timestamp], int]) -> tuple[Implementation, Implementation]:
    """Return the accessors of a part of a timestamp, in UTC and in a zone."""

    def in_utc(moment: Timestamp) -> int:
        return part(in_zone(moment, "UTC"), moment)

    def in_named_zone(moment: Timestamp, zone: str) -> int:
        return part(in_zone(moment, zone), moment)

    return in_utc, in_named_zone


def _whole(unit: int) -> Implementation:
    """Return a function that converts a duration to whole units, rounded towards zero."""

    def whole(duration: CelDuration) -> int:
        count = abs(duration.nanos) // unit
        return -count if duration.nanos < 0 else count

    return whole


_less: Final = _relation(ast.LESS, lambda result: result < 0)
_less_equals: Final = _relation(ast.LESS_EQUALS, lambda result: result <= 0)
_greater: Final = _relation(ast.GREATER, lambda result: result > 0)
_greater_equals: Final = _relation(ast.GREATER_EQUALS, lambda result: result >= 0)
_contains: Final = _text_function(lambda text, part: part in text)
_ends_with: Final = _text_function(str.endswith)
_starts_with: Final = _text_function(str.startswith)
_year, _year_in_zone = _part_of_timestamp(lambda local, _: local.year)
_month, _month_in_zone = _part_of_timestamp(lambda local, _: local.clock.month - 1)
_day_of_year, _day_of_year_in_zone = _part_of_timestamp(lambda local, _: local.clock.timetuple().tm_yday - 1)
_day_of_month, _day_of_month_in_zone = _part_of_timestamp(lambda local, _: local.clock.day - 1)
_date, _date_in_zone = _part_of_timestamp(lambda local, _: local.clock.day)
_day_of_week, _day_of_week_in_zone = _part_of_timestamp(lambda local, _: local.clock.isoweekday() % 7)
_hours, _hours_in_zone = _part_of_timestamp(lambda local, _: local.clock.hour)
_minutes, _minutes_in_zone = _part_of_timestamp(lambda local, _: local.clock.minute)
_seconds, _seconds_in_zone = _part_of_timestamp(lambda local, _: local.clock.second)
_milliseconds, _milliseconds_in_zone = _part_of_timestamp(lambda _, moment: moment.nanos % NANOS // _MILLI)
_whole_hours: Final = _whole(60 * _MINUTE)
_whole_minutes: Final = _whole(_MINUTE)
_whole_seconds: Final = _whole(NANOS)
_whole_milliseconds: Final = _whole(_MILLI)
