# SPDX-License-Identifier: Apache-2.0
"""Optional values: `optional.of(1)`, `map[?key].orValue(0)`.

The planner implements `or` and `orValue`, which evaluate their argument only if needed.
"""

from __future__ import annotations

from typing import Final

from steersman.api.cel.comparison import Equatable
from steersman.api.cel.errors import CelError
from steersman.api.cel.values import NONE, CelDuration, Optional, Timestamp, TypeValue, Value

OR: Final = "or"
OR_VALUE: Final = "orValue"

_ZERO_TIME: Final = -62135596800 * 1_000_000_000


def value_of(optional: Optional) -> Value:
    """Return the value of the optional. Raises if it is empty."""
    if not optional.has_value:
        raise CelError("optional.none() dereference")
    return optional.value


def _none() -> Optional:
    return NONE


def _of(value: Value) -> Optional:
    return Optional(value)


def _of_non_zero(value: Value) -> Optional:
    return NONE if _is_zero(value) else Optional(value)


def _is_zero(value: Value) -> bool:
    if isinstance(value, CelDuration):
        return value.nanos == 0
    if isinstance(value, Timestamp):
        return value.nanos == _ZERO_TIME
    return not isinstance(value, Optional | TypeValue | Equatable) and not value


def _has_value(optional: Optional) -> bool:
    return optional.has_value


def _first(elements: list[Value]) -> Optional:
    return Optional(elements[0]) if elements else NONE


def _last(elements: list[Value]) -> Optional:
    return Optional(elements[-1]) if elements else NONE


def _unwrap(elements: list[Value]) -> list[Value]:
    found = []
    for element in elements:
        if not isinstance(element, Optional):
            raise CelError(f"value {element} is not optional")
        if element.has_value:
            found.append(element.value)
    return found
