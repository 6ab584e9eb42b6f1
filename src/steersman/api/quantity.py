# SPDX-License-Identifier: Apache-2.0
"""Resource quantities ("500m", "1.5Gi", "2e3") with Kubernetes' exact arithmetic.

Texts from API objects come in (`meta.Quantity`), integers for the scheduler go out: `milli_value_of` for CPU,
`value_of` for everything else. `parse` gives the exact `Amount` to calculate with. All three remember their answers, because
a cluster uses few distinct texts; long ones, which only somebody hostile writes, are read anew each time.

Upstream keeps a quantity either as an int64 with a decimal exponent or, where digits or precision do not allow that, as
a big decimal. The two differ visibly when a result leaves int64 and when a negative big decimal is rounded, so that an
`Amount` remembers which of the two it is.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from typing import Final, NamedTuple, NoReturn, TypeVar

from steersman.api.meta import Quantity
from steersman.errors import InputError

FORMAT_WRONG: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
NUMBER_WRONG: Final = "unable to parse numeric part of quantity"
SUFFIX_WRONG: Final = "unable to parse quantity's suffix"
HINT: Final = 'use a number with an optional suffix, such as "500m", "2" or "1.5Gi"'

NANO: Final = -9
MILLI: Final = -3
MAX_INT64: Final = 2**63 - 1
MIN_INT64: Final = -(2**63)

_GRAMMAR: Final = re.compile(r"([+-]?)0*+([0-9]*+)(?:\.([0-9]*+))?([eEinumkKMGTP]*+[-+]?[0-9]*+)")
"""Possessive, as upstream's parser takes one part after the other: nothing is tried twice, however long the text."""
_EXPONENT: Final = re.compile(r"[eE]([-+]?[0-9]+)")
_DECIMAL_SUFFIXES: Final = {
    "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip
_BINARY_SUFFIXES: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX_OF: Final = {exponent: suffix for suffix, exponent in _DECIMAL_SUFFIXES.items()}
_BINARY_SUFFIX_OF: Final = {exponent: suffix for suffix, exponent in _BINARY_SUFFIXES.items()} | {0: ""}
_INT64_DIGITS: Final = 18
"""So many decimal digits always fit an int64."""
_MAX_EXPONENT: Final = 999
"""Exponents beyond are cut: nothing that fits an int64 is near, and powers of ten stay affordable."""
_LONGEST_TEXT: Final = 1 << 14
"""Upstream reads quantities of any length. Reading one that is longer than this takes more than a millisecond."""
_LONGEST_REMEMBERED: Final = 64
_MOST_REMEMBERED: Final = 1 << 16
_DIGITS_AT_ONCE: Final = 4000
"""Python refuses to read more than 4,300 digits at once, and reads many of them slowly."""
_WRAPPING_SHIFTS: Final = frozenset({1, 2, 3, 6, 9})
"""Multiplications of an int64 by these powers of ten wrap around, those by other powers give 0."""


class Format(enum.Enum):
    """How a quantity was written, and is written again."""

    DECIMAL_SI = "DecimalSI"
    BINARY_SI = "BinarySI"
    DECIMAL_EXPONENT = "DecimalExponent"


class Amount(NamedTuple):
    """`unscaled * 10**scale`, exactly."""

    unscaled: int
    scale: int
    format: Format
    #: Upstream's representation: an int64 and an exponent, or a big decimal.
    is_int64: bool
    #: The text it was parsed from, if upstream would repeat that instead of formatting the value.
    text: str | None = None


class _Parts(NamedTuple):
    """A quantity's text taken apart: `1.50e3` is negative=False, whole="1", fraction="50", exponent=3."""

    negative: bool
    whole: str
    fraction: str
    base: int
    exponent: int
    format: Format


T = TypeVar("T")


class _Memo(dict[Quantity, T]):
    """Answers by quantity; found by `__getitem__`, which costs no call of a Python function."""

    def __init__(self, answer: Callable[[Quantity], T]) -> None:
        self._answer = answer

    def __missing__(self, quantity: Quantity) -> T:
        answer = self._answer(quantity)
        if not isinstance(quantity, str) or len(quantity) <= _LONGEST_REMEMBERED:
            if len(self) >= _MOST_REMEMBERED:
                self.clear()
            self[quantity] = answer
        return answer


def memoised(function: Callable[[Quantity], T]) -> Callable[[Quantity], T]:
    """The function of a quantity with its results kept, but for long texts, of which there might be any number."""
    return _Memo(function).__getitem__


def _parse(quantity: Quantity) -> Amount:
    text = str(quantity).strip()
    if text == "0":
        return Amount(0, 0, Format.DECIMAL_SI, is_int64=True, text=text)
    match = _GRAMMAR.fullmatch(text) if len(text) <= _LONGEST_TEXT else None
    if not text or match is None:
        _reject(FORMAT_WRONG, quantity)
    sign, digits, fraction, suffix = match.groups(default="")
    base, exponent, written = _suffix(suffix, quantity)
    parts = _Parts(sign == "-", digits or "0", fraction, base, exponent, written)
    amount = _as_int64(parts, text)
    if amount is not None:
        return amount
    if not any(char.isdigit() for char in text.removesuffix(suffix)):
        _reject(NUMBER_WRONG, quantity)
    return _as_decimal(parts)


parse: Final[Callable[[Quantity], Amount]] = memoised(_parse)
"""The exact value; raises `InputError` with upstream's message."""

value_of: Final[Callable[[Quantity], int]] = memoised(lambda quantity: value(parse(quantity)))
"""The value in whole units, rounded up: bytes, devices, pods."""

milli_value_of: Final[Callable[[Quantity], int]] = memoised(lambda quantity: milli_value(parse(quantity)))
"""The value in thousandths, rounded up: CPU."""


def value(amount: Amount) -> int:
    """The amount in whole units, rounded away from zero."""
    return scaled_value(amount, 0)


def milli_value(amount: Amount) -> int:
    """The amount in thousandths, rounded away from zero."""
    return scaled_value(amount, MILLI)


def scaled_value(amount: Amount, scale: int) -> int:
    """The amount in units of `10**scale` as an int64.

    Rounded away from zero, except that a negative big decimal is truncated and then raised by one. What does not fit an
    int64 wraps around or becomes 0. All of it as upstream does.
    """
    shift = amount.scale - scale
    if amount.is_int64:
        return _scaled_int64(amount.unscaled, shift)
    return _scaled_decimal(amount.unscaled, shift)


def compare(left: Amount, right: Amount) -> int:
    """-1, 0 or 1 as `left` is less than, equal to or greater than `right`."""
    scale = min(left.scale, right.scale)
    difference = _unscaled_at(left, scale) - _unscaled_at(right, scale)
    return (difference > 0) - (difference < 0)


def add(left: Amount, right: Amount) -> Amount:
    """The exact sum, in the format of `left`, or of `right` if `left` is zero."""
    written = left.format if left.unscaled else right.format
    if left.is_int64 and right.is_int64:
        if not right.unscaled:
            return left._replace(format=written, text=None)
        if not left.unscaled:
            return right._replace(format=written, text=None)
    scale = min(left.scale, right.scale)
    total = _unscaled_at(left, scale) + _unscaled_at(right, scale)
    fits = left.is_int64 and right.is_int64 and _fit_int64(_unscaled_at(left, scale), _unscaled_at(right, scale), total)
    return Amount(total, scale, written, is_int64=fits)


def sub(left: Amount, right: Amount) -> Amount:
    """The exact difference, in the format of `left`, or of `right` if `left` is zero."""
    return add(left, right._replace(unscaled=-right.unscaled))


def sign(amount: Amount) -> int:
    """-1, 0 or 1."""
    return (amount.unscaled > 0) - (amount.unscaled < 0)


def canonical(amount: Amount) -> str:
    """The text that the API server would write: no fraction, the largest suffix that loses nothing."""
    if amount.text is not None:
        return amount.text
    if amount.unscaled == 0:
        return "0"
    whole = _whole(amount)
    if amount.format is Format.BINARY_SI and whole is not None and abs(whole) >= 1024:
        mantissa, factors = _strip_factors(whole, 1024)
        return f"{_digits(mantissa)}{_BINARY_SUFFIX_OF.get(10 * factors, '')}"
    mantissa, factors = _strip_factors(amount.unscaled, 10)
    padding = (amount.scale + factors) % 3
    exponent = amount.scale + factors - padding
    return f"{_digits(mantissa * 10**padding)}{_decimal_suffix(exponent, amount.format)}"


def _decimal_suffix(exponent: int, written: Format) -> str:
    if written is Format.DECIMAL_EXPONENT:
        return f"e{exponent}" if exponent else ""
    return _DECIMAL_SUFFIX_OF.get(exponent, "")  # upstream, too, drops what no suffix expresses


def _suffix(suffix: str, quantity: Quantity) -> tuple[int, int, Format]:
    """Base, exponent and format that a suffix stands for."""
    if suffix in _DECIMAL_SUFFIXES:
        return 10, _DECIMAL_SUFFIXES[suffix], Format.DECIMAL_SI
    if suffix in _BINARY_SUFFIXES:
        return 2, _BINARY_SUFFIXES[suffix], Format.BINARY_SI
    match = _EXPONENT.fullmatch(suffix)
    written = _integer(match[1]) if match is not None else None
    if written is None or not _fit_int64(written):
        _reject(SUFFIX_WRONG, quantity)
    exponent = _wrap(written, bits=32)
    return 10, max(-_MAX_EXPONENT, min(_MAX_EXPONENT, exponent)), Format.DECIMAL_EXPONENT


def _as_int64(parts: _Parts, text: str) -> Amount | None:
    """The amount in upstream's int64 representation, None if upstream needs a big decimal."""
    digits = parts.whole + parts.fraction
    if parts.base == 2:
        # 2**10 takes three decimal digits; upstream leaves one more as reserve and takes no fractions here.
        if parts.fraction or len(digits) + parts.exponent * 3 // 10 > _INT64_DIGITS - 4:
            return None
        number, scale = int(digits) << parts.exponent, 0
        repeat = int(digits) & 7 != 0
    else:
        scale = parts.exponent - len(parts.fraction)
        if len(digits) > _INT64_DIGITS or scale < NANO:
            return None
        number = int(digits)
        repeat = scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
    number = -number if parts.negative else number
    return Amount(number, scale, parts.format, is_int64=True, text=text if repeat else None)


def _as_decimal(parts: _Parts) -> Amount:
    """The amount as a big decimal of whole nano-units, rounded up; binary ones are capped at the largest int64."""
    number, scale = _integer(parts.whole + parts.fraction), -len(parts.fraction)
    if parts.base == 2:
        number <<= parts.exponent
    else:
        scale += parts.exponent
    if number == 0:
        return Amount(0, scale, parts.format, is_int64=False)
    shift = scale - NANO
    nanos = number * _power(shift) if shift >= 0 else -(-number // _power(-shift))
    scale, written = NANO, parts.format
    if written is Format.BINARY_SI:
        if nanos > MAX_INT64 * 10**-NANO:
            nanos, scale = MAX_INT64, 0
        elif 0 < nanos < 10**-NANO:
            written = Format.DECIMAL_SI
    return Amount(-nanos if parts.negative else nanos, scale, written, is_int64=False)


def _scaled_int64(unscaled: int, shift: int) -> int:
    if shift < 0:
        quotient = -(-abs(unscaled) // _power(-shift))
        return quotient if unscaled >= 0 else -quotient
    result = unscaled * _power(shift)
    if _fit_int64(result):
        return result
    return _wrap(result, bits=64) if shift in _WRAPPING_SHIFTS and unscaled != MIN_INT64 else 0


def _scaled_decimal(unscaled: int, shift: int) -> int:
    if shift == 0:
        return _wrap(unscaled, bits=64)
    if shift > 0:
        # The factor is converted from a float, and one beyond int64 becomes the smallest int64.
        factor = _power(shift) if shift <= _INT64_DIGITS else MIN_INT64
        return _wrap(_wrap(unscaled, bits=64) * factor, bits=64)
    divisor = _power(-shift)
    if unscaled < MAX_INT64 and -shift <= _INT64_DIGITS:
        number = _wrap(unscaled, bits=64)
        quotient = abs(number) // divisor * (1 if number > 0 else -1)
        return quotient + (number % divisor != 0)
    return _wrap(-(-unscaled // divisor), bits=64)


def _power(exponent: int) -> int:
    """`10**exponent` for an exponent that is not negative."""
    return int(10**exponent)


def _unscaled_at(amount: Amount, scale: int) -> int:
    return amount.unscaled * _power(amount.scale - scale)


def _fit_int64(*numbers: int) -> bool:
    return all(MIN_INT64 <= number <= MAX_INT64 for number in numbers)


def _whole(amount: Amount) -> int | None:
    """The amount as an integer, None if it has a fraction."""
    if amount.scale >= 0:
        return amount.unscaled * _power(amount.scale)
    quotient, remainder = divmod(amount.unscaled, _power(-amount.scale))
    return None if remainder else quotient


def _strip_factors(number: int, factor: int) -> tuple[int, int]:
    """`number` without its factors, and how many there were; `number` is not zero."""
    count = 0
    while number % factor == 0:
        number //= factor
        count += 1
    return number, count


def _wrap(number: int, bits: int) -> int:
    """Two's complement, as Go converts integers."""
    half = 1 << (bits - 1)
    return (number + half) % (2 * half) - half


def _integer(digits: str) -> int:
    """The number that `int` gives, of as many digits as there are, with an optional sign."""
    if len(digits) <= _DIGITS_AT_ONCE:
        return int(digits)
    middle = len(digits) // 2
    upper, lower = _integer(digits[:middle]), _integer(digits[middle:])
    shifted = upper * _power(len(digits) - middle)
    return shifted - lower if digits[0] == "-" else shifted + lower


def _digits(number: int) -> str:
    """The text that `str` gives, of as many digits as there are."""
    upper, lower = divmod(abs(number), _power(_DIGITS_AT_ONCE))
    text = f"{_digits(upper)}{lower:0{_DIGITS_AT_ONCE}d}" if upper else str(lower)
    return f"-{text}" if number < 0 else text


def _reject(message: str, quantity: Quantity) -> NoReturn:
    raise InputError(message, value=quantity, hint=HINT)
