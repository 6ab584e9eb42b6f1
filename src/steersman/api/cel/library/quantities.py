# SPDX-License-Identifier: Apache-2.0
"""`quantity("1Gi")`: resource quantities, with the arithmetic of `steersman.api.quantity`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from steersman.api import quantity as quantities
from steersman.api.cel.arithmetic import MAX_INT, MIN_INT
from steersman.api.cel.comparison import Equatable
from steersman.api.cel.errors import CelError, no_such_overload
from steersman.api.cel.values import Value, register
from steersman.api.quantity import Amount, Format
from steersman.base import InputError


@dataclass(frozen=True, slots=True)
class Quantity(Equatable):
    """Quantity of a resource."""

    amount: Amount
    #: Whether it is the result of `add` or `sub`: upstream rejects these on the right of `==`.
    computed: bool = False

    def equals(self, other: Value) -> bool:
        """Return whether the values are equal, regardless of units."""
        if not isinstance(other, Quantity) or other.computed:
            raise no_such_overload()
        return quantities.compare(self.amount, other.amount) == 0


register(Quantity, "kubernetes.Quantity", "cel.Quantity")


def parse(text: str | float) -> Quantity:
    """Parse a quantity."""
    try:
        return Quantity(quantities.parse(text))
    except InputError as error:
        raise CelError(error.message) from None


def _is_quantity(text: str) -> bool:
    try:
        quantities.parse(text)
    except InputError:
        return False
    return True


def _sign(quantity: Quantity) -> int:
    return quantities.sign(quantity.amount)


def _compare(left: Quantity, right: Quantity) -> int:
    return quantities.compare(left.amount, right.amount)


def _is_greater(left: Quantity, right: Quantity) -> bool:
    return _compare(left, right) > 0


def _is_less(left: Quantity, right: Quantity) -> bool:
    return _compare(left, right) < 0


def _whole(quantity: Quantity) -> int | None:
    """Return the value if upstream stores it as an integer that fits; never for big decimals."""
    amount = quantity.amount
    if not amount.is_int64:
        return None
    if amount.scale >= 0:
        value: int = amount.unscaled * 10**amount.scale
    else:
        value, rest = divmod(amount.unscaled, 10**-amount.scale)
        if rest:
            return None
    return value if MIN_INT <= value <= MAX_INT else None


def _is_integer(quantity: Quantity) -> bool:
    return _whole(quantity) is not None


def _as_integer(quantity: Quantity) -> int:
    value = _whole(quantity)
    if value is None:
        raise CelError("cannot convert value to integer")
    return value


def _as_float(quantity: Quantity) -> float:
    amount = quantity.amount
    base = _double(amount.unscaled)
    return base * float(f"1e{amount.scale}") if amount.scale else base


def _double(number: int) -> float:
    """Convert to a double, infinite if out of range."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _add(left: Quantity, right: Quantity) -> Quantity:
    return Quantity(quantities.add(left.amount, right.amount), computed=True)


def _sub(left: Quantity, right: Quantity) -> Quantity:
    return Quantity(quantities.sub(left.amount, right.amount), computed=True)


def _from_int(number: int) -> Quantity:
    return Quantity(Amount(number, 0, Format.DECIMAL_EXPONENT, is_int64=True))


def _add_int(left: Quantity, right: int) -> Quantity:
    return _add(left, _from_int(right))


def _sub_int(left: Quantity, right: int) -> Quantity:
    if right == MIN_INT:
        # Like upstream's integers, the smallest int is its own negative.
        sum_ = _add(left, _from_int(right))
        if sum_.amount.is_int64:
            return sum_
    return _sub(left, _from_int(right))
