# SPDX-License-Identifier: Apache-2.0
"""Type conversions: `int()`, `string()`, `timestamp()` and others."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from typing import Final

from steersman.api.cel.arithmetic import (
    INT_OVERFLOW,
    MAX_INT,
    MAX_SECONDS,
    MAX_UINT,
    MIN_INT,
    MIN_SECONDS,
    TIMESTAMP_OVERFLOW,
    UINT_OVERFLOW,
    checked_int,
    checked_uint,
)
from steersman.api.cel.errors import CelError
from steersman.api.cel.literals import parse_integer
from steersman.api.cel.times import parse_timestamp, written_timestamp
from steersman.api.cel.value_text import plain, shortest
from steersman.api.cel.values import NANOS, CelDuration, Timestamp, TypeValue, Uint, Value, type_name
from steersman.api.go_durations import Duration, DurationError

_SIGNED: Final = re.compile(r"[+-]?[0-9]+")
_UNSIGNED: Final = re.compile(r"[0-9]+")
_DIGITS: Final = "[0-9](?:_?[0-9])*+"
_HEX_DIGITS: Final = "[0-9a-fA-F](?:_?[0-9a-fA-F])*+"
_DECIMAL: Final = re.compile(rf"[+-]?(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?")
_HEXADECIMAL: Final = re.compile(
    rf"[+-]?0[xX]_?(?:{_HEX_DIGITS}(?:\.(?:{_HEX_DIGITS})?)?|\.{_HEX_DIGITS})[pP][+-]?{_DIGITS}"
)
_SPECIAL: Final = re.compile(r"[+-]?(?:inf|infinity)|nan", re.IGNORECASE)
_BOOLS: Final = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}
_TWO_TO_63: Final = 2.0**63
_TWO_TO_64: Final = 2.0**64


def to_type(value: Value) -> TypeValue:
    """Evaluate `type(value)`."""
    return TypeValue(type_name(value))


def to_int(value: Value) -> int:
    """Evaluate `int(value)`."""
    if isinstance(value, Uint):
        return checked_int(int(value))
    if isinstance(value, float):
        if not -_TWO_TO_63 < value < _TWO_TO_63:
            raise CelError(INT_OVERFLOW)
        return int(value)
    if isinstance(value, str):
        number = parse_integer(value) if _SIGNED.fullmatch(value) else None
        if number is not None and MIN_INT <= number <= MAX_INT:
            return number
    elif isinstance(value, CelDuration):
        return value.nanos
    elif isinstance(value, Timestamp):
        return value.seconds
    elif type(value) is int:
        return value
    raise _impossible(value, "int")


def to_uint(value: Value) -> Uint:
    """Evaluate `uint(value)`."""
    if isinstance(value, Uint):
        return value
    if type(value) is int:
        return checked_uint(value)
    if isinstance(value, float):
        if not 0 <= value < _TWO_TO_64:
            raise CelError(UINT_OVERFLOW)
        return Uint(int(value))
    if isinstance(value, str) and _UNSIGNED.fullmatch(value):
        number = parse_integer(value)
        if number is not None and number <= MAX_UINT:
            return Uint(number)
    raise _impossible(value, "uint")


def to_double(value: Value) -> float:
    """Evaluate `double(value)`."""
    if isinstance(value, float):
        return value
    if isinstance(value, int) and type(value) is not bool:
        return float(value)
    if isinstance(value, str):
        number = parse_double(value)
        if number is not None:
            return number
    raise _impossible(value, "double")


def to_string(value: Value) -> str:
    """Evaluate `string(value)`."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return shortest(value)
    if isinstance(value, bytes):
        return _decoded(value)
    if isinstance(value, CelDuration):
        return written_duration(value)
    if isinstance(value, Timestamp):
        return written_timestamp(value)
    if isinstance(value, TypeValue):
        return value.name
    if value is None:
        return "null"
    raise _impossible(value, "string")


def to_bytes(value: Value) -> bytes:
    """Evaluate `bytes(value)`."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    raise _impossible(value, "bytes")


def to_bool(value: Value) -> bool:
    """Evaluate `bool(value)`."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value in _BOOLS:
        return _BOOLS[value]
    raise _impossible(value, "bool")


def to_duration(value: Value) -> CelDuration:
    """Evaluate `duration(value)`."""
    if isinstance(value, CelDuration):
        return value
    if isinstance(value, str):
        with suppress(DurationError):
            return CelDuration(Duration.parse(value).nanoseconds)
    raise _impossible(value, "google.protobuf.Duration")


def to_timestamp(value: Value) -> Timestamp:
    """Evaluate `timestamp(value)`."""
    if isinstance(value, Timestamp):
        return value
    if isinstance(value, str):
        moment = parse_timestamp(value)
        if moment is not None:
            return _in_range(moment)
    elif type(value) is int:
        return _in_range(Timestamp(value * NANOS))
    raise _impossible(value, "google.protobuf.Timestamp")


def written_duration(value: CelDuration) -> str:
    """Format a duration in seconds."""
    whole, nanos = divmod(abs(value.nanos), NANOS)
    seconds = whole + nanos / 1e9
    return plain(-seconds if value.nanos < 0 else seconds) + "s"


def parse_double(text: str) -> float | None:
    """Parse a number as Go does; None if it is invalid or too large."""
    if _SPECIAL.fullmatch(text):
        return float(text)
    try:
        if _DECIMAL.fullmatch(text):
            number = float(text)
        elif _HEXADECIMAL.fullmatch(text):
            number = float.fromhex(text.replace("_", ""))
        else:
            return None
    except OverflowError:
        return None
    return None if math.isinf(number) else number


def _in_range(moment: Timestamp) -> Timestamp:
    if MIN_SECONDS <= moment.seconds <= MAX_SECONDS:
        return moment
    raise CelError(TIMESTAMP_OVERFLOW)


def _decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise CelError("invalid UTF-8 in bytes, cannot convert to string") from None


def _impossible(value: Value, target: str) -> CelError:
    return CelError(f"type conversion error from '{type_name(value)}' to '{target}'")
