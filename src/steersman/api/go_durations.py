# SPDX-License-Identifier: Apache-2.0
"""Go durations: `10m0s` as text, integer nanoseconds inside.

Used by the scheduler configuration, `cel` and kubelet durations.
"""

from __future__ import annotations

import re
from typing import Final, Self

import msgspec

from steersman.api.go_text import quote

NANOSECOND: Final = 1
MICROSECOND: Final = 1_000
MILLISECOND: Final = 1_000_000
SECOND: Final = 1_000_000_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE

_UNITS: Final = {
    "ns": NANOSECOND,
    "us": MICROSECOND,
    "µs": MICROSECOND,  # U+00B5, the micro sign
    "μs": MICROSECOND,  # U+03BC, the Greek letter
    "ms": MILLISECOND,
    "s": SECOND,
    "m": MINUTE,
    "h": HOUR,
}
_MAX: Final = 2**63
_MAX_DIGITS: Final = 19
"""Digits of 2**63."""
_PART: Final = re.compile(r"(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?(?P<unit>[^0-9.]*)", re.DOTALL)


class DurationError(ValueError):
    """Invalid duration; the message equals that of Go's `time.ParseDuration`."""


class Duration(msgspec.Struct, frozen=True, order=True):
    """Duration, possibly zero or negative. `str()` returns Go's canonical text."""

    nanoseconds: int

    @classmethod
    def from_seconds(cls, seconds: int) -> Self:
        return cls(seconds * SECOND)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a duration such as `1h15m30.5s`, `-2ms` or `0`. Raises `DurationError`."""
        unsigned = text[1:] if text[:1] in ("-", "+") else text
        negative = text.startswith("-")
        if unsigned == "0":
            return cls(0)
        if not unsigned:
            raise _invalid(text)
        total = _sum_of_parts(unsigned, text)
        if total > (_MAX if negative else _MAX - 1):
            raise _invalid(text)
        return cls(-total if negative else total)

    @property
    def seconds(self) -> float:
        return self.nanoseconds / SECOND

    def __bool__(self) -> bool:
        return self.nanoseconds != 0

    def __str__(self) -> str:
        sign = "-" if self.nanoseconds < 0 else ""
        return sign + _canonical(abs(self.nanoseconds))


def _invalid(text: str) -> DurationError:
    return DurationError(f"time: invalid duration {quote(text)}")


def _sum_of_parts(unsigned: str, text: str) -> int:
    total = 0
    position = 0
    while position < len(unsigned):
        match = _PART.match(unsigned, position)
        assert match is not None, "every group of the pattern may be empty"
        total += _part(match, text)
        if total > _MAX:
            raise _invalid(text)
        position = match.end()
    return total


def _part(match: re.Match[str], text: str) -> int:
    whole, fraction, unit = match["whole"], match["fraction"] or "", match["unit"]
    if not whole and not fraction:
        raise _invalid(text)
    if not unit:
        raise DurationError(f"time: missing unit in duration {quote(text)}")
    if unit not in _UNITS:
        raise DurationError(f"time: unknown unit {quote(unit)} in duration {quote(text)}")
    if len(whole.lstrip("0")) > _MAX_DIGITS or int(whole.lstrip("0") or "0") > _MAX // _UNITS[unit]:
        raise _invalid(text)
    return int(whole.lstrip("0") or "0") * _UNITS[unit] + _fraction(fraction, _UNITS[unit])


def _fraction(digits: str, unit: int) -> int:
    """Return the nanoseconds of `0.digits` units; like Go, as floats of at most 18 digits."""
    used = _significant(digits)
    return int(float(int(used or "0")) * (float(unit) / float(10 ** len(used))))


def _significant(digits: str) -> str:
    """Return the leading digits that fit in 63 bits; Go ignores the rest."""
    value = 0
    for count, digit in enumerate(digits):
        if value > (_MAX - 1) // 10 or value * 10 + int(digit) > _MAX:
            return digits[:count]
        value = value * 10 + int(digit)
    return digits


def _canonical(nanoseconds: int) -> str:
    if nanoseconds == 0:
        return "0s"
    for unit, below, name in ((1, MICROSECOND, "ns"), (MICROSECOND, MILLISECOND, "µs"), (MILLISECOND, SECOND, "ms")):
        if nanoseconds < below:
            return _decimal(nanoseconds, unit) + name
    minutes, rest = divmod(nanoseconds, MINUTE)
    text = _decimal(rest, SECOND) + "s"
    if minutes:
        hours, minutes = divmod(minutes, 60)
        text = f"{minutes}m{text}"
        text = f"{hours}h{text}" if hours else text
    return text


def _decimal(amount: int, unit: int) -> str:
    whole, fraction = divmod(amount, unit)
    if not fraction:
        return str(whole)
    digits = str(fraction).rjust(len(str(unit)) - 1, "0").rstrip("0")
    return f"{whole}.{digits}"
