# SPDX-License-Identifier: Apache-2.0
"""Optional values: `optional.of(1)`, `map[?key].orValue(0)`.

The planner implements `or` and `orValue`, which evaluate their argument only if needed.
"""

from __future__ import annotations

from typing import Final

from steersman.api.cel import ast
from steersman.api.cel.comparison import Equatable
from steersman.api.cel.declarations import function, overload
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


FUNCTIONS: Final = (
    function("optional.of", overload("optional_of", "(V) -> optional(V)", _of)),
    function("optional.ofNonZeroValue", overload("optional_ofNonZeroValue", "(V) -> optional(V)", _of_non_zero)),
    function("optional.none", overload("optional_none", "() -> optional(V)", _none)),
    function("value", overload("optional_value", "optional(V).() -> V", value_of)),
    function("hasValue", overload("optional_hasValue", "optional(V).() -> bool", _has_value)),
    function(OR, overload("optional_or_optional", "optional(V).(optional(V)) -> optional(V)")),
    function(OR_VALUE, overload("optional_orValue_value", "optional(V).(V) -> V")),
    function(ast.OPTIONAL_SELECT, overload("select_optional_field", "(dyn, string) -> optional(V)")),
    function(
        ast.OPTIONAL_INDEX,
        overload("list_optindex_optional_int", "(list(V), int) -> optional(V)"),
        overload("optional_list_optindex_optional_int", "(optional(list(V)), int) -> optional(V)"),
        overload("map_optindex_optional_value", "(map(K, V), K) -> optional(V)"),
        overload("optional_map_optindex_optional_value", "(optional(map(K, V)), K) -> optional(V)"),
    ),
    function("first", overload("list_first", "list(V).() -> optional(V)", _first)),
    function("last", overload("list_last", "list(V).() -> optional(V)", _last)),
    function("optional.unwrap", overload("optional_unwrap", "(list(optional(V))) -> list(V)", _unwrap)),
    function("unwrapOpt", overload("optional_unwrapOpt", "list(optional(V)).() -> list(V)", _unwrap)),
)
