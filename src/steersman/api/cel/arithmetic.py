# SPDX-License-Identifier: Apache-2.0
"""Arithmetic operators: 64-bit integers with overflow errors, doubles, strings, lists, times.

Operations are looked up by the class of the left operand. A class without the operator is an error
`no such overload`, with the operator's name except for strings and times (`_RECEIVERS`), as
upstream.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from steersman.api.cel.errors import CelError, no_such_overload
from steersman.api.cel.meter import MAX_VALUE, require_room, spend
from steersman.api.cel.values import NANOS, CelDuration, GrowingList, Timestamp, Uint, Value

MIN_INT: Final = -(2**63)
MAX_INT: Final = 2**63 - 1
MAX_UINT: Final = 2**64 - 1
MIN_SECONDS: Final = -62135596800
"""First second of the year 1, the minimum timestamp."""
MAX_SECONDS: Final = 253402300799
"""Last second of the year 9999."""

INT_OVERFLOW: Final = "integer overflow"
UINT_OVERFLOW: Final = "unsigned integer overflow"
TIMESTAMP_OVERFLOW: Final = "timestamp overflow"

_RECEIVERS: Final = frozenset({str, Timestamp, CelDuration})

Operation = Callable[[Value, Value], Value]


def checked_int(number: int) -> int:
    """Return the number if it is in the range of int, else raise."""
    if MIN_INT <= number <= MAX_INT:
        return number
    raise CelError(INT_OVERFLOW)


def checked_uint(number: int) -> Uint:
    """Return the number if it is in the range of uint, else raise."""
    if 0 <= number <= MAX_UINT:
        return Uint(number)
    raise CelError(UINT_OVERFLOW)


def add(left: Value, right: Value) -> Value:
    """Evaluate `left + right`."""
    return _operate(_ADD, "_+_", left, right)


def subtract(left: Value, right: Value) -> Value:
    """Evaluate `left - right`."""
    return _operate(_SUBTRACT, "_-_", left, right)


def multiply(left: Value, right: Value) -> Value:
    """Evaluate `left * right`."""
    return _operate(_MULTIPLY, "_*_", left, right)


def divide(left: Value, right: Value) -> Value:
    """Evaluate `left / right`."""
    return _operate(_DIVIDE, "_/_", left, right)


def modulo(left: Value, right: Value) -> Value:
    """Evaluate `left % right`, with the sign of the left operand."""
    return _operate(_MODULO, "_%_", left, right)


def negate(operand: Value) -> Value:
    """Evaluate `-operand`."""
    if type(operand) is int:
        return checked_int(-operand)
    if isinstance(operand, float):
        return -operand
    if isinstance(operand, CelDuration):
        return CelDuration(checked_int(-operand.nanos))
    if type(operand) is bool:
        raise no_such_overload()
    raise missing_operator("-_", operand)


def missing_operator(operator: str, left: Value) -> CelError:
    """Return the error for an operator that the left operand does not support."""
    return no_such_overload() if type(left) in _RECEIVERS else CelError(f"no such overload: {operator}")


def _operate(operations: dict[type, Operation], operator: str, left: Value, right: Value) -> Value:
    operation = operations.get(type(left))
    if operation is None:
        raise missing_operator(operator, left)
    return operation(left, right)


def _for_ints(calculate: Callable[[int, int], int]) -> Operation:
    def operation(left: Value, right: Value) -> int:
        if type(left) is not int or type(right) is not int:
            raise no_such_overload()
        return checked_int(calculate(left, right))

    return operation


def _for_uints(calculate: Callable[[int, int], int]) -> Operation:
    def operation(left: Value, right: Value) -> Uint:
        if not isinstance(left, Uint) or not isinstance(right, Uint):
            raise no_such_overload()
        return checked_uint(calculate(int(left), int(right)))

    return operation


def _for_doubles(calculate: Callable[[float, float], float]) -> Operation:
    def operation(left: Value, right: Value) -> float:
        if not isinstance(left, float) or not isinstance(right, float):
            raise no_such_overload()
        return calculate(left, right)

    return operation


def _quotient(left: int, right: int) -> int:
    if right == 0:
        raise CelError("division by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _remainder(left: int, right: int) -> int:
    if right == 0:
        raise CelError("modulus by zero")
    if left == MIN_INT and right == -1:
        raise CelError(INT_OVERFLOW)
    remainder = abs(left) % abs(right)
    return -remainder if left < 0 else remainder


def _double_quotient(left: float, right: float) -> float:
    if right:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1, right)


def _add_texts(left: Value, right: Value) -> str:
    if not isinstance(left, str) or not isinstance(right, str):
        raise no_such_overload()
    require_room("text", len(left) + len(right), "characters")
    return left + right


def _add_bytes(left: Value, right: Value) -> bytes:
    if not isinstance(left, bytes) or not isinstance(right, bytes):
        raise no_such_overload()
    require_room("sequence", len(left) + len(right), "bytes")
    return left + right


def _add_lists(left: Value, right: Value) -> list[Value]:
    if not isinstance(left, list) or not isinstance(right, list):
        raise no_such_overload()
    require_room("list", len(left) + len(right), "elements")
    return [*left, *right]


def _grow_list(left: Value, right: Value) -> list[Value]:
    if not isinstance(left, GrowingList) or not isinstance(right, list):
        raise no_such_overload()
    if len(left) + len(right) > MAX_VALUE:
        require_room("list", len(left) + len(right), "elements")
    spend(len(right))
    left.extend(list(right))
    return left


def _add_duration(left: Value, right: Value) -> Value:
    assert isinstance(left, CelDuration)
    if isinstance(right, Timestamp):
        return _shifted(right, left.nanos)
    if isinstance(right, CelDuration):
        return CelDuration(checked_int(left.nanos + right.nanos))
    raise no_such_overload()


def _add_to_timestamp(left: Value, right: Value) -> Value:
    assert isinstance(left, Timestamp)
    if isinstance(right, CelDuration):
        return _shifted(left, right.nanos)
    raise no_such_overload()


def _subtract_from_timestamp(left: Value, right: Value) -> Value:
    assert isinstance(left, Timestamp)
    if isinstance(right, CelDuration):
        return _shifted(left, -checked_int(right.nanos))
    if isinstance(right, Timestamp):
        # The seconds are checked before nanoseconds are added.
        checked_int((left.seconds - right.seconds) * NANOS)
        return CelDuration(checked_int(left.nanos - right.nanos))
    raise no_such_overload()


def _subtract_durations(left: Value, right: Value) -> Value:
    if not isinstance(left, CelDuration) or not isinstance(right, CelDuration):
        raise no_such_overload()
    return CelDuration(checked_int(left.nanos - right.nanos))


def _shifted(moment: Timestamp, nanos: int) -> Timestamp:
    shifted = Timestamp(moment.nanos + nanos, moment.offset)
    if MIN_SECONDS <= shifted.seconds <= MAX_SECONDS:
        return shifted
    raise CelError(TIMESTAMP_OVERFLOW)


_ADD: Final[dict[type, Operation]] = {
    int: _for_ints(lambda left, right: left + right),
    Uint: _for_uints(lambda left, right: left + right),
    float: _for_doubles(lambda left, right: left + right),
    str: _add_texts,
    bytes: _add_bytes,
    list: _add_lists,
    GrowingList: _grow_list,
    CelDuration: _add_duration,
    Timestamp: _add_to_timestamp,
}
_SUBTRACT: Final[dict[type, Operation]] = {
    int: _for_ints(lambda left, right: left - right),
    Uint: _for_uints(lambda left, right: left - right),
    float: _for_doubles(lambda left, right: left - right),
    CelDuration: _subtract_durations,
    Timestamp: _subtract_from_timestamp,
}
_MULTIPLY: Final[dict[type, Operation]] = {
    int: _for_ints(lambda left, right: left * right),
    Uint: _for_uints(lambda left, right: left * right),
    float: _for_doubles(lambda left, right: left * right),
}
_DIVIDE: Final[dict[type, Operation]] = {
    int: _for_ints(_quotient),
    Uint: _for_uints(_quotient),
    float: _for_doubles(_double_quotient),
}
_MODULO: Final[dict[type, Operation]] = {
    int: _for_ints(_remainder),
    Uint: _for_uints(_remainder),
}
