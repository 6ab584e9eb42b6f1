# SPDX-License-Identifier: Apache-2.0
"""Standard functions: operators, sizes, conversions, strings, and parts of times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from steersman.api.cel import arithmetic, ast, conversions
from steersman.api.cel.comparison import contains, find, is_ordered, order, require_hashable
from steersman.api.cel.declarations import Function, Implementation, Overload, function, overload
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


def _of_texts(holds: Callable[[str, str], bool]) -> Implementation:
    """Return a predicate of two strings, which checks argument types itself."""

    def predicate(text: Value, part: Value) -> bool:
        if not isinstance(text, str) or not isinstance(part, str):
            raise no_such_overload()
        return holds(text, part)

    return predicate


def _overloads(signatures: str) -> tuple[Overload, ...]:
    """Parse overloads of a singleton, one `id: signature` per line."""
    lines = (line.strip().split(": ", 1) for line in signatures.strip().splitlines())
    return tuple(overload(id_, signature) for id_, signature in lines)


def _relation_overloads(relation: str) -> tuple[Overload, ...]:
    numbers = ("int", "uint", "double")
    ids = {"int": "int64", "uint": "uint64", "double": "double"}
    found = [overload(f"{relation}_bool", "(bool, bool) -> bool")]
    for left in numbers:
        found.append(overload(f"{relation}_{ids[left]}", f"({left}, {left}) -> bool"))
        found += [
            overload(f"{relation}_{ids[left]}_{ids[right]}", f"({left}, {right}) -> bool")
            for right in sorted(numbers)
            if right != left
        ]
    others = ("string", "bytes", "timestamp", "duration")
    return (*found, *(overload(f"{relation}_{other}", f"({other}, {other}) -> bool") for other in others))


def _conversion(name: str, convert: Implementation, *sources: tuple[str, str]) -> Function:
    """Return a conversion function; sources are overload ids and types."""
    return function(name, *(overload(id_, f"({source}) -> {name}", convert) for id_, source in sources))


_OPERATORS: Final = (
    function(ast.CONDITIONAL, overload("conditional", "(bool, A, A) -> A")),
    function(ast.AND, overload("logical_and", "(bool, bool) -> bool")),
    function(ast.OR, overload("logical_or", "(bool, bool) -> bool")),
    function(ast.NOT, overload("logical_not", "(bool) -> bool"), singleton=_not),
    function(ast.NOT_STRICTLY_FALSE, overload("not_strictly_false", "(bool) -> bool")),
    function(ast.EQUALS, overload("equals", "(A, A) -> bool")),
    function(ast.NOT_EQUALS, overload("not_equals", "(A, A) -> bool")),
    function(
        ast.ADD,
        *_overloads("""
            add_bytes: (bytes, bytes) -> bytes
            add_double: (double, double) -> double
            add_duration_duration: (duration, duration) -> duration
            add_duration_timestamp: (duration, timestamp) -> timestamp
            add_timestamp_duration: (timestamp, duration) -> timestamp
            add_int64: (int, int) -> int
            add_list: (list(A), list(A)) -> list(A)
            add_string: (string, string) -> string
            add_uint64: (uint, uint) -> uint
        """),
        singleton=arithmetic.add,
    ),
    function(
        ast.DIVIDE,
        *_overloads("""
            divide_double: (double, double) -> double
            divide_int64: (int, int) -> int
            divide_uint64: (uint, uint) -> uint
        """),
        singleton=arithmetic.divide,
    ),
    function(
        ast.MODULO,
        *_overloads("""
            modulo_int64: (int, int) -> int
            modulo_uint64: (uint, uint) -> uint
        """),
        singleton=arithmetic.modulo,
    ),
    function(
        ast.MULTIPLY,
        *_overloads("""
            multiply_double: (double, double) -> double
            multiply_int64: (int, int) -> int
            multiply_uint64: (uint, uint) -> uint
        """),
        singleton=arithmetic.multiply,
    ),
    function(
        ast.NEGATE,
        *_overloads("""
            negate_double: (double) -> double
            negate_int64: (int) -> int
        """),
        singleton=arithmetic.negate,
    ),
    function(
        ast.SUBTRACT,
        *_overloads("""
            subtract_double: (double, double) -> double
            subtract_duration_duration: (duration, duration) -> duration
            subtract_int64: (int, int) -> int
            subtract_timestamp_duration: (timestamp, duration) -> timestamp
            subtract_timestamp_timestamp: (timestamp, timestamp) -> duration
            subtract_uint64: (uint, uint) -> uint
        """),
        singleton=arithmetic.subtract,
    ),
    function(
        ast.LESS,
        *_relation_overloads("less"),
        singleton=_relation(ast.LESS, lambda result: result < 0),
    ),
    function(
        ast.LESS_EQUALS,
        *_relation_overloads("less_equals"),
        singleton=_relation(ast.LESS_EQUALS, lambda result: result <= 0),
    ),
    function(
        ast.GREATER,
        *_relation_overloads("greater"),
        singleton=_relation(ast.GREATER, lambda result: result > 0),
    ),
    function(
        ast.GREATER_EQUALS,
        *_relation_overloads("greater_equals"),
        singleton=_relation(ast.GREATER_EQUALS, lambda result: result >= 0),
    ),
    function(
        ast.INDEX,
        *_overloads("""
            index_list: (list(A), int) -> A
            index_map: (map(A, B), A) -> B
            optional_list_index_int: (optional(list(V)), int) -> optional(V)
            optional_map_index_value: (optional(map(K, V)), K) -> optional(V)
        """),
    ),
    function(
        ast.IN,
        *_overloads("""
            in_list: (A, list(A)) -> bool
            in_map: (A, map(A, B)) -> bool
        """),
        singleton=_is_in,
    ),
)
_CONVERSIONS: Final = (
    function("type", overload("type", "(A) -> type(A)"), singleton=conversions.to_type),
    function("dyn", overload("to_dyn", "(A) -> dyn"), singleton=_identity),
    _conversion("bool", conversions.to_bool, ("bool_to_bool", "bool"), ("string_to_bool", "string")),
    _conversion("bytes", conversions.to_bytes, ("bytes_to_bytes", "bytes"), ("string_to_bytes", "string")),
    _conversion(
        "double",
        conversions.to_double,
        ("double_to_double", "double"),
        ("int64_to_double", "int"),
        ("string_to_double", "string"),
        ("uint64_to_double", "uint"),
    ),
    _conversion(
        "duration",
        conversions.to_duration,
        ("duration_to_duration", "duration"),
        ("int64_to_duration", "int"),
        ("string_to_duration", "string"),
    ),
    _conversion(
        "int",
        conversions.to_int,
        ("int64_to_int64", "int"),
        ("double_to_int64", "double"),
        ("duration_to_int64", "duration"),
        ("string_to_int64", "string"),
        ("timestamp_to_int64", "timestamp"),
        ("uint64_to_int64", "uint"),
    ),
    _conversion(
        "string",
        conversions.to_string,
        ("string_to_string", "string"),
        ("bool_to_string", "bool"),
        ("bytes_to_string", "bytes"),
        ("double_to_string", "double"),
        ("duration_to_string", "duration"),
        ("int64_to_string", "int"),
        ("timestamp_to_string", "timestamp"),
        ("uint64_to_string", "uint"),
    ),
    _conversion(
        "timestamp",
        conversions.to_timestamp,
        ("timestamp_to_timestamp", "timestamp"),
        ("int64_to_timestamp", "int"),
        ("string_to_timestamp", "string"),
    ),
    _conversion(
        "uint",
        conversions.to_uint,
        ("uint64_to_uint64", "uint"),
        ("double_to_uint64", "double"),
        ("int64_to_uint64", "int"),
        ("string_to_uint64", "string"),
    ),
)
_SIZES_AND_TEXTS: Final = (
    function(
        "size",
        *_overloads("""
            size_bytes: (bytes) -> int
            bytes_size: bytes.() -> int
            size_list: (list(A)) -> int
            list_size: list(A).() -> int
            size_map: (map(A, B)) -> int
            map_size: map(A, B).() -> int
            size_string: (string) -> int
            string_size: string.() -> int
        """),
        singleton=_size,
    ),
    function(
        "contains",
        overload("contains_string", "string.(string) -> bool", _of_texts(lambda text, part: part in text)),
        guarded=False,
    ),
    function(
        "endsWith", overload("ends_with_string", "string.(string) -> bool", _of_texts(str.endswith)), guarded=False
    ),
    function(
        "startsWith",
        overload("starts_with_string", "string.(string) -> bool", _of_texts(str.startswith)),
        guarded=False,
    ),
    function(
        "matches",
        *_overloads("""
            matches: (string, string) -> bool
            matches_string: string.(string) -> bool
        """),
        singleton=_matches,
    ),
)


def _part_of_timestamp(part: Callable[[LocalTime, Timestamp], int]) -> tuple[Implementation, Implementation]:
    """Return the accessors of a part of a timestamp, in UTC and in a zone."""

    def in_utc(moment: Timestamp) -> int:
        return part(in_zone(moment, "UTC"), moment)

    def in_named_zone(moment: Timestamp, zone: str) -> int:
        return part(in_zone(moment, zone), moment)

    return in_utc, in_named_zone


def _part(
    name: str,
    id_: str,
    part: Callable[[LocalTime, Timestamp], int],
    *others: Overload,
    zoned_id: str | None = None,
) -> Function:
    in_utc, in_named_zone = _part_of_timestamp(part)
    return function(
        name,
        overload(id_, "timestamp.() -> int", in_utc),
        overload(zoned_id or f"{id_}_with_tz", "timestamp.(string) -> int", in_named_zone),
        *others,
    )


def _whole(unit: int) -> Implementation:
    """Return a function that converts a duration to whole units, rounded towards zero."""

    def whole(duration: CelDuration) -> int:
        count = abs(duration.nanos) // unit
        return -count if duration.nanos < 0 else count

    return whole


def _duration_part(unit: str, nanos: int) -> Overload:
    return overload(f"duration_to_{unit}", "duration.() -> int", _whole(nanos))


_TIMES: Final = (
    _part("getFullYear", "timestamp_to_year", lambda local, _: local.year),
    _part("getMonth", "timestamp_to_month", lambda local, _: local.clock.month - 1),
    _part("getDayOfYear", "timestamp_to_day_of_year", lambda local, _: local.clock.timetuple().tm_yday - 1),
    _part("getDayOfMonth", "timestamp_to_day_of_month", lambda local, _: local.clock.day - 1),
    _part("getDate", "timestamp_to_day_of_month_1_based", lambda local, _: local.clock.day),
    _part("getDayOfWeek", "timestamp_to_day_of_week", lambda local, _: local.clock.isoweekday() % 7),
    _part("getHours", "timestamp_to_hours", lambda local, _: local.clock.hour, _duration_part("hours", 60 * _MINUTE)),
    _part(
        "getMinutes", "timestamp_to_minutes", lambda local, _: local.clock.minute, _duration_part("minutes", _MINUTE)
    ),
    _part(
        "getSeconds",
        "timestamp_to_seconds",
        lambda local, _: local.clock.second,
        _duration_part("seconds", NANOS),
        zoned_id="timestamp_to_seconds_tz",
    ),
    _part(
        "getMilliseconds",
        "timestamp_to_milliseconds",
        lambda _, moment: moment.nanos % NANOS // _MILLI,
        _duration_part("milliseconds", _MILLI),
    ),
)

FUNCTIONS: Final = (*_OPERATORS, *_CONVERSIONS, *_SIZES_AND_TEXTS, *_TIMES)
