# SPDX-License-Identifier: Apache-2.0
"""Go's formatting of values in messages and results."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Final

from steersman.api.cel.meter import paced, spend
from steersman.api.cel.values import Optional, TypeValue, Value, from_key

_PLAIN_POINTS: Final = range(-3, 7)
"""Positions of the decimal point for which a number is written without exponent."""


def shown(value: Value) -> str:
    """Format a value as in messages."""
    spend(len(value) if isinstance(value, str | bytes) else 1)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return shortest(value)
    if isinstance(value, bytes):
        return "[" + " ".join(map(str, value)) + "]"
    if isinstance(value, list):
        return "[" + ", ".join(map(shown, paced(value))) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{shown(from_key(key))}: {shown(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, Optional):
        return f"optional({shown(value.value)})" if value.has_value else "optional.none()"
    if isinstance(value, TypeValue):
        return value.name
    return "NULL_VALUE" if value is None else str(value)


def shortest(number: float) -> str:
    """Return the shortest text that parses to the number, with an exponent if large or small."""
    if not math.isfinite(number):
        return _special(number)
    digits, point = _digits(number)
    if point in _PLAIN_POINTS:
        return plain(number)
    mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
    sign = "-" if math.copysign(1, number) < 0 else ""
    return f"{sign}{mantissa}e{'-' if point < 1 else '+'}{abs(point - 1):02d}"


def plain(number: float) -> str:
    """Return the shortest text that parses to the number, without exponent."""
    if not math.isfinite(number):
        return _special(number)
    text = format(Decimal(repr(number)), "f")
    return text.removesuffix(".0")


def _digits(number: float) -> tuple[str, int]:
    """Return the significant digits, and the decimal point's position relative to the first."""
    parts = Decimal(repr(number)).as_tuple()
    digits = "".join(map(str, parts.digits))
    point = len(digits) + int(parts.exponent)
    stripped = digits.rstrip("0") or "0"
    return stripped, point if stripped != "0" else 1


def _special(number: float) -> str:
    if math.isnan(number):
        return "NaN"
    return "+Inf" if number > 0 else "-Inf"
