"""What evaluation costs, in upstream's units: an expression that becomes too expensive for a device is stopped.

Looking up a variable or a field costs 1, building a list 10, a map 30; a call costs what `of_call` says. Upstream charges
a little more after an error that `&&` or `||` absorb; here the operations that such an error skips cost nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from steersman.cel.comparison import Equatable
from steersman.cel.library.formats import Format
from steersman.cel.library.network import Cidr, Ip
from steersman.cel.values import Optional, Value

LIMIT: Final = 1_000_000
"""For one device and one expression."""

LOOKUP: Final = 1
LIST: Final = 10
MAP: Final = 30

CallCost = Callable[[Sequence[Value], Value], int]
"""From the arguments of a call and its result."""

_TRAVERSAL: Final = 0.1
"""Per character of a text."""
_PATTERN: Final = 0.25
"""Per character of a regular expression."""
_COMPARISONS: Final = 2.0
"""Per pair of elements of a list that is sorted or freed of duplicates."""


def of_call(function: str, overload: str) -> CallCost | None:
    """What a call costs; None is 1. The overload is empty if it is chosen only at run time."""
    return _BY_OVERLOAD.get(overload) or _BY_FUNCTION.get(function) or _DEFAULTS.get(overload)


def size(value: Value) -> int:
    """How many elements, characters or bytes; 1 for everything that has no size."""
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    if isinstance(value, Ip | Cidr):
        return value.size
    return 1


def _unwrapped_size(value: Value) -> int:
    if isinstance(value, Optional) and value.has_value:
        return _unwrapped_size(value.value)
    return size(value)


def _per_character(*positions: int, factor: float = _TRAVERSAL) -> CallCost:
    """Proportional to the summed sizes of some arguments."""
    return lambda args, result: math.ceil(sum(_unwrapped_size(args[at]) for at in positions) * factor)


def equality(left: Value, right: Value) -> int:
    """`==`; values of Kubernetes' own types have a fixed price."""
    return 1 if isinstance(left, Equatable) else inequality(left, right)


def inequality(left: Value, right: Value) -> int:
    """`!=`, of which the smaller operand decides."""
    return math.ceil(min(_unwrapped_size(left), _unwrapped_size(right)) * _TRAVERSAL)


def _comparison(args: Sequence[Value], result: Value) -> int:
    return math.ceil(min(_unwrapped_size(args[0]), _unwrapped_size(args[1])) * _TRAVERSAL)


def _regex(args: Sequence[Value], result: Value) -> int:
    return math.ceil((1.0 + size(args[0])) * _TRAVERSAL) * math.ceil(size(args[1]) * _PATTERN)


def _containment(args: Sequence[Value], result: Value) -> int:
    return math.ceil(size(args[0]) * _TRAVERSAL) * math.ceil(size(args[1]) * _TRAVERSAL)


def _join(args: Sequence[Value], result: Value) -> int:
    return math.ceil(size(result) * 2 * _TRAVERSAL)


def _list_membership(args: Sequence[Value], result: Value) -> int:
    return size(args[1])


def _traversal(args: Sequence[Value], result: Value) -> int:
    return _traversed(args[0])


def _traversed(value: Value) -> int:
    if isinstance(value, str):
        return int(len(value.encode()) * _TRAVERSAL)
    if isinstance(value, bytes):
        return int(len(value) * _TRAVERSAL)
    if isinstance(value, list):
        return sum(map(_traversed, value))
    if isinstance(value, dict):
        return sum(_traversed(key) + _traversed(entry) for key, entry in value.items())
    return 1


def _contains_ip(args: Sequence[Value], result: Value) -> int:
    cost = math.ceil(2 * size(args[0]) * _TRAVERSAL)
    return cost + (math.ceil(size(args[1]) * _TRAVERSAL) if isinstance(args[1], str) else 0)


def _contains_cidr(args: Sequence[Value], result: Value) -> int:
    return _contains_ip(args, result) + math.ceil(size(args[0]) * _TRAVERSAL) + 1


def _validation(args: Sequence[Value], result: Value) -> int:
    assert isinstance(args[0], Format)
    return math.ceil((1.0 + size(args[1])) * _TRAVERSAL) * math.ceil(args[0].regex_size * _PATTERN)


def _output_size(args: Sequence[Value], result: Value) -> int:
    return size(result) + 1 + LIST


def _flattening(args: Sequence[Value], result: Value) -> int:
    depth = args[1] if len(args) == 2 else 1
    assert isinstance(depth, int)
    return size(args[0]) * depth + 1 + LIST


def _self_comparison(position: int) -> CallCost:
    """Every element with every other one."""

    def cost(args: Sequence[Value], result: Value) -> int:
        elements = args[position]
        assert isinstance(elements, list)
        factor = _COMPARISONS
        if elements and isinstance(elements[0], str | bytes):
            factor += _TRAVERSAL
        return int(len(elements) ** 2 * factor) + 1 + LIST

    return cost


def _set_comparison(factor: int) -> CallCost:
    return lambda args, result: 1 + size(args[0]) * size(args[1]) * factor


def _ip(args: Sequence[Value], result: Value) -> int:
    return math.ceil(size(args[0]) * _TRAVERSAL) if isinstance(args[0], str) else 1


_LIST_ELEMENTS: Final = (
    "int", "uint", "double", "bool", "google.protobuf.Duration", "google.protobuf.Timestamp", "string", "bytes",
)  # fmt: skip
_BY_OVERLOAD: Final[dict[str, CallCost]] = {
    "list_slice": _output_size,
    "list_flatten": _flattening,
    "list_flatten_int": _flattening,
    "lists_range": _output_size,
    "list_reverse": _output_size,
    "list_distinct": _self_comparison(0),
    **{f"list_{element}_sort": _self_comparison(0) for element in _LIST_ELEMENTS},
    **{f"list_{element}_sortByAssociatedKeys": _self_comparison(1) for element in _LIST_ELEMENTS},
    "list_sets_contains_list": _set_comparison(1),
    "list_sets_intersects_list": _set_comparison(1),
    "list_sets_equivalent_list": _set_comparison(2),
}
_BY_FUNCTION: Final[dict[str, CallCost]] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _traversal),
    **dict.fromkeys(
        ("url", "lowerAscii", "upperAscii", "substring", "trim", "cidr", "isIP", "isCIDR", "quantity", "isQuantity",
         "semver", "isSemver"),
        _per_character(0),
    ),
    **dict.fromkeys(("replace", "split", "ip.isCanonical"), _per_character(0, factor=2 * _TRAVERSAL)),
    "join": _join,
    "find": _regex,
    "findAll": _regex,
    "ip": _ip,
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "validate": _validation,
}  # fmt: skip
_DEFAULTS: Final[dict[str, CallCost]] = {
    **dict.fromkeys(
        ("starts_with_string", "ends_with_string", "string_to_bytes", "bytes_to_string", "strings_quote",
         "string_format"),
        _per_character(0),
    ),
    "in_list": _list_membership,
    **{
        f"{relation}_{operands}": _comparison
        for relation in ("less", "greater", "less_equals", "greater_equals")
        for operands in ("string", "bytes")
    },
    "add_string": _per_character(0, 1),
    "add_bytes": _per_character(0, 1),
    "matches_string": _regex,
    "contains_string": _containment,
}  # fmt: skip
