# SPDX-License-Identifier: Apache-2.0
"""The meaning of YAML 1.1 scalars, by the rules of the YAML library that Kubernetes uses.

Used by `document_tree`. Differences from PyYAML: `y` is a boolean, `1e2` and `09` are numbers,
`12:30` and dates are strings, `0o17` is octal. Each first character has its resolver.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable
from typing import Final, TypeAlias

Scalar: TypeAlias = bool | int | float | str | None

TAG: Final = "tag:yaml.org,2002:"
STR: Final = TAG + "str"
BOOL: Final = TAG + "bool"
INT: Final = TAG + "int"
FLOAT: Final = TAG + "float"
NULL: Final = TAG + "null"
TIMESTAMP: Final = TAG + "timestamp"
BINARY: Final = TAG + "binary"
MERGE: Final = TAG + "merge"

_CONVERTED: Final = frozenset((STR, BOOL, INT, FLOAT, NULL, TIMESTAMP))
"""Explicit tags with a meaning; a scalar with any other tag is its text."""

_WORDS: Final[dict[str, tuple[str, Scalar]]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), (BOOL, True)),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), (BOOL, False)),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), (NULL, None)),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), (FLOAT, math.nan)),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), (FLOAT, math.inf)),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), (FLOAT, -math.inf)),
}

_INTEGER_BASES: Final = (
    (re.compile(r"0[xX]([0-9a-fA-F]+)"), 16),
    (re.compile(r"0[bB]([01]+)"), 2),
    (re.compile(r"0[oO]([0-7]+)"), 8),
    (re.compile(r"0([0-7]+)"), 8),
    (re.compile(r"(0|[1-9][0-9]*)"), 10),
)
_MAX_DIGITS: Final = 64
"""In any base: more digits do not fit 64 bits, and Python does not parse thousands of them."""
_SMALLEST_INT: Final = -(2**63)
_MAX_UINT: Final = 2**64 - 1
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_DOT_FLOAT: Final = re.compile(r"\.[0-9]+(?:_[0-9]+)*([eE][-+]?[0-9]+(?:_[0-9]+)*)?")
_DATE: Final = re.compile(
    r"(?P<year>[0-9]{4})-(?P<month>[0-9]{1,2})-(?P<day>[0-9]{1,2})"
    r"(?:[Tt](?P<time>[0-9:.,]+)(?:Z|[-+][0-9]{2}:[0-9]{2})| +(?P<plain_time>[0-9:.,]+))?"
)


class ScalarError(ValueError):
    """A scalar does not fit its explicit tag."""


def resolve(tag: str | None, implicit: bool, text: str) -> Scalar:
    """Return the value of a scalar by its tag, or untagged, plain (`implicit`) or quoted."""
    if tag is None:
        return _untagged(text)[1] if implicit else text
    if tag == BINARY:
        return _binary(text)
    if tag == STR or tag not in _CONVERTED:
        return text
    found, value = _untagged(text) if tag != TIMESTAMP else _timestamp(text)
    if found == tag:
        return value
    if tag == FLOAT and found == INT and isinstance(value, int) and value < 2**63:
        return float(value)
    raise ScalarError(f"cannot decode {_short(found)} `{text}` as a {_short(tag)}")


def _untagged(text: str) -> tuple[str, Scalar]:
    if text in _WORDS:
        return _WORDS[text]
    resolver = _RESOLVERS.get(text[:1])
    return (resolver(text) if resolver else None) or (STR, text)


def _dot(text: str) -> tuple[str, Scalar] | None:
    return _finite(float(text)) if _DOT_FLOAT.fullmatch(text) else None


def _digit_or_sign(text: str) -> tuple[str, Scalar] | None:
    digits = text.replace("_", "")
    integer = _integer(digits)
    if integer is not None:
        return INT, integer
    return _finite(float(digits)) if _FLOAT.fullmatch(digits) else None


def _integer(digits: str) -> int | None:
    """Return the integer in Go's notation with base prefixes, or None beyond 64 bits."""
    unsigned = digits[1:] if digits[:1] in ("-", "+") else digits
    for pattern, base in _INTEGER_BASES:
        match = pattern.fullmatch(unsigned)
        if match:
            if len(match[1].lstrip("0")) > _MAX_DIGITS:
                return None
            value = int(match[1], base)
            return _in_range(-value if digits.startswith("-") else value, signed=unsigned != digits)
    return None


def _in_range(value: int, *, signed: bool) -> int | None:
    largest = 2**63 - 1 if signed else _MAX_UINT
    return value if _SMALLEST_INT <= value <= largest else None


def _finite(value: float) -> tuple[str, Scalar] | None:
    """Return the float as a scalar, or None on float64 overflow, so that it stays text."""
    return None if math.isinf(value) else (FLOAT, value)


def _timestamp(text: str) -> tuple[str, Scalar]:
    return (TIMESTAMP, text) if _DATE.fullmatch(text) else _untagged(text)


def _binary(text: str) -> str:
    try:
        return base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True).decode("utf-8", "replace")
    except binascii.Error:
        raise ScalarError("!!binary value contains invalid base64 data") from None


def _short(tag: str) -> str:
    return "!!" + tag.removeprefix(TAG)


_RESOLVERS: Final[dict[str, Callable[[str], tuple[str, Scalar] | None]]] = {
    ".": _dot,
    **dict.fromkeys("+-0123456789", _digit_or_sign),
}
