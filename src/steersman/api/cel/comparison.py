# SPDX-License-Identifier: Apache-2.0
"""Equality and order of values: `==`, `in`, `<`, and sorting.

Numbers of different types are compared by value, lists and maps by content; values of other
different types are not equal. Kubernetes' own types implement `Equatable`, because some cannot be
compared with others.
"""

from __future__ import annotations

import abc
import math
from typing import Final

from steersman.api.cel.errors import Aborted, CelError, no_such_overload
from steersman.api.cel.meter import paced, spend
from steersman.api.cel.values import (
    BoolKey,
    CelDuration,
    Optional,
    Timestamp,
    TypeValue,
    Uint,
    Value,
    from_key,
    go_name,
    is_hashable,
)

_NUMBERS: Final = frozenset({int, Uint, float})
_ORDERED: Final = frozenset({str, bytes, bool})
_MIN_INT: Final = -(2.0**63)
_MAX_INT: Final = 2.0**63
_MAX_UINT: Final = 2.0**64


class Equatable(abc.ABC):
    """Base of Kubernetes' own types, which define their equality."""

    __slots__ = ()

    @abc.abstractmethod
    def equals(self, other: Value) -> bool:
        """Return whether the values are equal. Raises `CelError` if they cannot be compared."""


def equals(left: Value, right: Value) -> bool:
    """Evaluate `left == right`. Raises for the few types that cannot be compared with others."""
    if left is None or right is None:
        return left is right
    kind = type(left)
    if kind is str or kind is bool or kind is bytes or kind is BoolKey:
        return type(right) is kind and left == right
    if kind in _NUMBERS:
        return type(right) in _NUMBERS and _numbers_equal(left, right)
    return _others_equal(left, right)


def contains(elements: list[Value], sought: Value) -> bool:
    """Return whether a list has an equal element, ignoring elements that cannot be compared."""
    return any(equal_or_false(sought, element) for element in paced(elements))


def equal_or_false(left: Value, right: Value) -> bool:
    """Return whether the values are equal; False if they cannot be compared."""
    try:
        return equals(left, right)
    except Aborted:
        raise
    except CelError:
        return False


def find(entries: dict[Value, Value], key: Value) -> tuple[Value, bool]:
    """Return the value of a map at a key (in the form of `to_key`), and whether it exists."""
    try:
        if key in entries:
            return entries[key], True
    except TypeError:  # lists and maps are never keys
        pass
    return None, False


def require_hashable(value: Value) -> None:
    """Raise an error that ends the evaluation, as upstream, for a lookup of an unhashable value."""
    if not is_hashable(value):
        raise Aborted(f"internal error: runtime error: hash of unhashable type {go_name(value)}")


def order(left: Value, right: Value) -> int:
    """Return -1, 0 or 1. Raises if the values have no order."""
    if type(left) in _NUMBERS:
        if type(right) not in _NUMBERS:
            raise no_such_overload()
        return _order_numbers(left, right)
    if type(left) is not type(right):
        raise no_such_overload()
    if isinstance(left, str) and isinstance(right, str):
        # Code points and UTF-8 bytes have the same order.
        return (left > right) - (left < right)
    if isinstance(left, bytes) and isinstance(right, bytes):
        return (left > right) - (left < right)
    if isinstance(left, bool) and isinstance(right, bool):
        return left - right
    if isinstance(left, Timestamp | CelDuration) and isinstance(right, Timestamp | CelDuration):
        return (left.nanos > right.nanos) - (left.nanos < right.nanos)
    raise no_such_overload()


def is_ordered(value: Value) -> bool:
    """Return whether values of this type are ordered."""
    kind = type(value)
    return kind in _NUMBERS or kind in _ORDERED or kind is Timestamp or kind is CelDuration


def _numbers_equal(left: Value, right: Value) -> bool:
    if type(left) is not float and type(right) is not float:
        return left == right
    if left != left or right != right:  # NaN
        return False
    return _order_numbers(left, right) == 0


def _order_numbers(left: Value, right: Value) -> int:
    assert isinstance(left, int | float)
    assert isinstance(right, int | float)
    if isinstance(left, float):
        _reject_nan(left)
        if isinstance(right, float):
            _reject_nan(right)
            return (left > right) - (left < right)
        return _order_double(left, right)
    if isinstance(right, float):
        _reject_nan(right)
        return -_order_double(right, left)
    return (left > right) - (left < right)


def _order_double(double: float, whole: int) -> int:
    """Compare a double and an integer as doubles, unless the double is out of the integer range."""
    lowest, highest = (0.0, _MAX_UINT) if type(whole) is Uint else (_MIN_INT, _MAX_INT)
    if double < lowest:
        return -1
    if double > highest:
        return 1
    other = float(whole)
    return (double > other) - (double < other)


def _reject_nan(number: float) -> None:
    if math.isnan(number):
        raise CelError("NaN values cannot be ordered")


def _others_equal(left: Value, right: Value) -> bool:
    if isinstance(left, list):
        return isinstance(right, list) and len(left) == len(right) and _items_equal(left, right)
    if isinstance(left, dict):
        return isinstance(right, dict) and len(left) == len(right) and _entries_equal(left, right)
    if isinstance(left, Optional):
        return isinstance(right, Optional) and _optionals_equal(left, right)
    if isinstance(left, Timestamp):
        return isinstance(right, Timestamp) and left.nanos == right.nanos
    if isinstance(left, CelDuration | TypeValue):
        return left == right
    assert isinstance(left, Equatable)
    return left.equals(right)


def _items_equal(left: list[Value], right: list[Value]) -> bool:
    spend(1)  # elements may be nested lists
    return all(_not_unequal(one, other) for one, other in paced(zip(left, right, strict=True)))


def _entries_equal(left: dict[Value, Value], right: dict[Value, Value]) -> bool:
    spend(1)
    return all(key in right and _not_unequal(value, right[key]) for key, value in paced(left.items()))


def _not_unequal(left: Value, right: Value) -> bool:
    """Return whether elements of lists or maps are equal; like upstream, True if incomparable."""
    try:
        return equals(left, right)
    except Aborted:
        raise
    except CelError:
        return True


def _optionals_equal(left: Optional, right: Optional) -> bool:
    if not left.has_value or not right.has_value:
        return left.has_value == right.has_value
    return left.value.equals(right.value) if isinstance(left.value, Equatable) else equals(left.value, right.value)


def keys_of(entries: dict[Value, Value]) -> list[Value]:
    """Return the keys of a map as values."""
    return [from_key(key) for key in entries]
