# SPDX-License-Identifier: Apache-2.0
"""Resource quantities ("500m", "1.5Gi", "2e3") with Kubernetes' exact arithmetic.

Input is text from API objects (`meta.Quantity`), output integers for the scheduler:
`milli_value_of` for CPU, `value_of` for everything else. `parse` returns the exact `Amount` for
calculations. All three cache results, because a cluster has few distinct texts; long texts, which
only hostile input has, are not cached.

Upstream stores a quantity either as an int64 with a decimal exponent or, if digits or precision
require it, as a big decimal. The two differ visibly when a result leaves int64 and when a negative
big decimal is rounded, so an `Amount` records the representation.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, NoReturn, TypeVar

from steersman.api.meta import Quantity
from steersman.base import InputError

FORMAT_WRONG: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
NUMBER_WRONG: Final = "unable to parse numeric part of quantity"
SUFFIX_WRONG: Final = "unable to parse quantity's suffix"
HINT: Final = 'use a number with an optional suffix, such as "500m", "2" or "1.5Gi"'

NANO: Final = -9
MILLI: Final = -3
MAX_INT64: Final = 2**63 - 1
MIN_INT64: Final = -(2**63)

_GRAMMAR: Final = re.compile(r"([+-]?)0*+([0-9]*+)(?:\.([0-9]*+))?([eEinumkKMGTP]*+[-+]?[0-9]*+)")
"""Possessive, like upstream's parser: no backtracking, however long the text."""
_EXPONENT: Final = re.compile(r"[eE]([-+]?[0-9]+)")
_DECIMAL_SUFFIXES: Final = {
    "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip
_BINARY_SUFFIXES: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX_OF: Final = {exponent: suffix for suffix, exponent in _DECIMAL_SUFFIXES.items()}
_BINARY_SUFFIX_OF: Final = {exponent: suffix for suffix, exponent in _BINARY_SUFFIXES.items()} | {0: ""}
_INT64_DIGITS: Final = 18
"""Maximum number of decimal digits that always fit an int64."""
_MAX_EXPONENT: Final = 999
"""Limit that exponents are clamped to: far outside int64, but cheap as a power of ten."""
_MAX_TEXT: Final = 1 << 14
"""Maximum length; upstream has none, but longer texts take more than a millisecond."""
_MAX_CACHED_LENGTH: Final = 64
_MAX_REMEMBERED: Final = 1 << 16
_CHUNK_DIGITS: Final = 4000
"""Chunk size below Python's limit of 4,300 digits, and faster for many digits."""
_WRAPPING_SHIFTS: Final = frozenset({1, 2, 3, 6, 9})
"""Powers of ten by which upstream's int64 multiplication wraps around; others yield 0."""


class Format(enum.Enum):
    """Notation of a quantity, which is kept when formatting."""

    DECIMAL_SI = "DecimalSI"
    BINARY_SI = "BinarySI"
    DECIMAL_EXPONENT = "DecimalExponent"


class Amount(NamedTuple):
    """Exact value `unscaled * 10**scale`."""

    unscaled: int
    scale: int
    format: Format
    #: Upstream's representation: an int64 and an exponent, or a big decimal.
    is_int64: bool
    #: Original text, if upstream would return it instead of formatting the value.
    text: str | None = None


class _Parts(NamedTuple):
    """Parts of a quantity: `1.50e3` has negative=False, whole="1", fraction="50", exponent=3."""

    negative: bool
    whole: str
    fraction: str
    base: int
    exponent: int
    format: Format


T = TypeVar("T")


class _Memo(dict[Quantity, T]):
    """Cache by quantity; `__getitem__` avoids a Python function call for hits."""

    def __init__(self, answer: Callable[[Quantity], T]) -> None:
        self._answer = answer

    def __missing__(self, quantity: Quantity) -> T:
        answer = self._answer(quantity)
        if not isinstance(quantity, str) or len(quantity) <= _MAX_CACHED_LENGTH:
            if len(self) >= _MAX_REMEMBERED:
                self.clear()
            self[quantity] = answer
        return answer


def memoised(function: Callable[[Quantity], T]) -> Callable[[Quantity], T]:
    """Return the function with a cache for short texts."""
    return _Memo(function).__getitem__


def _parse(quantity: Quantity) -> Amount:
    text = str(quantity).strip()
    if text == "0":
        return Amount(0, 0, Format.DECIMAL_SI, is_int64=True, text=text)
    match = _GRAMMAR.fullmatch(text) if len(text) <= _MAX_TEXT else None
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
"""Parse an exact value. Raises `InputError` with upstream's message."""

value_of: Final[Callable[[Quantity], int]] = memoised(lambda quantity: value(parse(quantity)))
"""Return the value in whole units (bytes, devices, pods), rounded up."""

milli_value_of: Final[Callable[[Quantity], int]] = memoised(lambda quantity: milli_value(parse(quantity)))
"""Return the value in thousandths (CPU), rounded up."""


def value(amount: Amount) -> int:
    """Return the amount in whole units, rounded away from zero."""
    return scaled_value(amount, 0)


def milli_value(amount: Amount) -> int:
    """Return the amount in thousandths, rounded away from zero."""
    return scaled_value(amount, MILLI)


def parse_milli(quantity: Quantity) -> int:
    """Return the thousandths of a quantity."""
    return milli_value(parse(quantity))


def scaled_value(amount: Amount, scale: int) -> int:
    """Return the amount in units of `10**scale` as an int64, exactly as upstream.

    Rounded away from zero, except that a negative big decimal is truncated and then incremented.
    Values that do not fit in int64 wrap around or become 0.
    """
    shift = amount.scale - scale
    if amount.is_int64:
        return _scaled_int64(amount.unscaled, shift)
    return _scaled_decimal(amount.unscaled, shift)


def compare(left: Amount, right: Amount) -> int:
    """Return -1, 0 or 1 if `left` is less than, equal to or greater than `right`."""
    scale = min(left.scale, right.scale)
    difference = _unscaled_at(left, scale) - _unscaled_at(right, scale)
    return (difference > 0) - (difference < 0)


def add(left: Amount, right: Amount) -> Amount:
    """Return the exact sum, in the format of `left`, or of `right` if `left` is zero."""
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


def raise_to(total: dict[str, Amount], least: Mapping[str, Amount]) -> None:
    """Raise amounts of `total` to at least those of `least`."""
    for name, amount in least.items():
        if name not in total or compare(amount, total[name]) > 0:
            total[name] = amount


def sub(left: Amount, right: Amount) -> Amount:
    """Return the exact difference, in the format of `left`, or of `right` if `left` is zero."""
    return add(left, right._replace(unscaled=-right.unscaled))


def sign(amount: Amount) -> int:
    """Return -1, 0 or 1."""
    return (amount.unscaled > 0) - (amount.unscaled < 0)


def canonical(amount: Amount) -> str:
    """Format as the API server does: no fraction, the largest lossless suffix."""
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
    return _DECIMAL_SUFFIX_OF.get(exponent, "")  # like upstream, drops exponents without a suffix


def _suffix(suffix: str, quantity: Quantity) -> tuple[int, int, Format]:
    """Return base, exponent and format of a suffix."""
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
    """Return the amount in upstream's int64 representation; None if it needs a big decimal."""
    digits = parts.whole + parts.fraction
    if parts.base == 2:
        # 2**10 takes three decimal digits; upstream reserves one more and rejects fractions here.
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
    """Return the amount as a big decimal of nano-units, rounded up; binary ones at most int64."""
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
        # Upstream converts the factor from a float; beyond int64 it becomes the minimum int64.
        factor = _power(shift) if shift <= _INT64_DIGITS else MIN_INT64
        return _wrap(_wrap(unscaled, bits=64) * factor, bits=64)
    divisor = _power(-shift)
    if unscaled < MAX_INT64 and -shift <= _INT64_DIGITS:
        number = _wrap(unscaled, bits=64)
        quotient = abs(number) // divisor * (1 if number > 0 else -1)
        return quotient + (number % divisor != 0)
    return _wrap(-(-unscaled // divisor), bits=64)


def _power(exponent: int) -> int:
    """Return `10**exponent` for a non-negative exponent."""
    return int(10**exponent)


def _unscaled_at(amount: Amount, scale: int) -> int:
    return amount.unscaled * _power(amount.scale - scale)


def _fit_int64(*numbers: int) -> bool:
    return all(MIN_INT64 <= number <= MAX_INT64 for number in numbers)


def _whole(amount: Amount) -> int | None:
    """Return the amount as an integer; None if it has a fraction."""
    if amount.scale >= 0:
        return amount.unscaled * _power(amount.scale)
    quotient, remainder = divmod(amount.unscaled, _power(-amount.scale))
    return None if remainder else quotient


def _strip_factors(number: int, factor: int) -> tuple[int, int]:
    """Divide a non-zero number by a factor as often as possible; return quotient and count."""
    count = 0
    while number % factor == 0:
        number //= factor
        count += 1
    return number, count


def _wrap(number: int, bits: int) -> int:
    """Wrap to two's complement, like Go's integer conversions."""
    half = 1 << (bits - 1)
    return (number + half) % (2 * half) - half


def _integer(digits: str) -> int:
    """Parse an integer of any number of digits with an optional sign."""
    if len(digits) <= _CHUNK_DIGITS:
        return int(digits)
    middle = len(digits) // 2
    upper, lower = _integer(digits[:middle]), _integer(digits[middle:])
    shifted = upper * _power(len(digits) - middle)
    return shifted - lower if digits[0] == "-" else shifted + lower


def _digits(number: int) -> str:
    """Format an integer of any number of digits."""
    upper, lower = divmod(abs(number), _power(_CHUNK_DIGITS))
    text = f"{_digits(upper)}{lower:0{_CHUNK_DIGITS}d}" if upper else str(lower)
    return f"-{text}" if number < 0 else text


def _reject(message: str, quantity: Quantity) -> NoReturn:
    raise InputError(message, value=quantity, hint=HINT)
