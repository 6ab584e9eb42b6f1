# SPDX-License-Identifier: Apache-2.0
"""Evaluation cost in upstream's units; expressions above the limit are aborted.

A variable or field lookup costs 1, building a list 10, a map 30; a call costs `of_call`, even if it
or an operand fails, because `&&` and `||` may absorb the error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from steersman.api.cel.comparison import Equatable
from steersman.api.cel.library.formats import NamedFormat
from steersman.api.cel.library.network import Cidr, Ip
from steersman.api.cel.meter import paced, spend
from steersman.api.cel.values import Optional, Uint, Value

LIMIT: Final = 1_000_000
"""Limit per device and expression."""

LOOKUP: Final = 1
LIST: Final = 10
MAP: Final = 30

_UNSIZED: Final = frozenset({bool, int, Uint, float})

CallCost = Callable[..., int]
"""Computes the cost from the arguments of a call; an argument may be an error."""

_TRAVERSAL: Final = 0.1
"""Cost per character of a string."""
_PATTERN: Final = 0.25
"""Cost per character of a regular expression."""
_COMPARISONS: Final = 2.0
"""Cost per pair of elements of a list being sorted or deduplicated."""


def of_call(function: str, overload: str) -> CallCost | None:
    """Return the cost function of a call; None for 1. `overload` is "" if chosen at run time."""
    return _BY_OVERLOAD.get(overload) or _BY_FUNCTION.get(function) or _DEFAULTS.get(overload)


def size(value: Value) -> int:
    """Return the number of elements, characters or bytes; 1 for values without a size."""
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    if isinstance(value, Ip | Cidr):
        return value.size
    return 1


def _unwrapped_size(value: Value) -> int:
    if isinstance(value, Optional) and value.has_value:
        return _unwrapped_size(value.value)
    return size(value)


def _per_character(factor: float = _TRAVERSAL) -> CallCost:
    """Return a cost proportional to the size of the first argument."""
    return lambda target, *_: math.ceil(_unwrapped_size(target) * factor)


def _both(left: Value, right: Value) -> int:
    return math.ceil((size(left) + size(right)) * _TRAVERSAL)


def equality(left: Value, right: Value) -> int:
    """Return the cost of `==`; constant for Kubernetes' own types."""
    if type(left) is str and type(right) is str:
        return math.ceil(min(len(left), len(right)) * _TRAVERSAL)
    if type(left) in _UNSIZED:
        return 1 if size(right) else 0
    return 1 if isinstance(left, Equatable) else inequality(left, right)


def inequality(left: Value, right: Value) -> int:
    """Return the cost of `!=` and comparisons, determined by the smaller operand."""
    return math.ceil(min(_unwrapped_size(left), _unwrapped_size(right)) * _TRAVERSAL)


def _regex(text: Value, pattern: Value, *_: Value) -> int:
    return math.ceil((1.0 + size(text)) * _TRAVERSAL) * math.ceil(size(pattern) * _PATTERN)


def _containment(text: Value, part: Value) -> int:
    return math.ceil(size(text) * _TRAVERSAL) * math.ceil(size(part) * _TRAVERSAL)


def _join(elements: Value, separator: Value = "") -> int:
    if not isinstance(elements, list):
        return 1
    length = sum(map(size, elements)) + size(separator) * max(len(elements) - 1, 0)
    return math.ceil(length * 2 * _TRAVERSAL)


def _list_membership(sought: Value, elements: Value) -> int:
    return size(elements)


def _traversal(value: Value, *_: Value) -> int:
    if isinstance(value, str):
        return int(len(value.encode()) * _TRAVERSAL)
    if isinstance(value, bytes):
        return int(len(value) * _TRAVERSAL)
    if isinstance(value, list):
        spend(1)  # elements may be nested lists
        return sum(map(_traversal, paced(value)))
    if isinstance(value, dict):
        spend(1)
        return sum(_traversal(key) + _traversal(entry) for key, entry in paced(value.items()))
    return 1


def _contains_ip(cidr: Value, other: Value) -> int:
    cost = math.ceil(2 * size(cidr) * _TRAVERSAL)
    return cost + (math.ceil(size(other) * _TRAVERSAL) if isinstance(other, str) else 0)


def _contains_cidr(cidr: Value, other: Value) -> int:
    return _contains_ip(cidr, other) + math.ceil(size(cidr) * _TRAVERSAL) + 1


def _validation(format_: Value, text: Value) -> int:
    pattern = format_.regex_size if isinstance(format_, NamedFormat) else 0
    return math.ceil((1.0 + size(text)) * _TRAVERSAL) * math.ceil(pattern * _PATTERN)


def _range(count: Value) -> int:
    return (max(count, 0) if isinstance(count, int) else 1) + 1 + LIST


def _slice(elements: Value, start: Value, end: Value) -> int:
    length = 1
    if isinstance(start, int) and isinstance(end, int) and 0 <= start <= end <= size(elements):
        length = end - start
    return length + 1 + LIST


def _reverse(elements: Value) -> int:
    return size(elements) + 1 + LIST


def _flattening(elements: Value, depth: Value = 1) -> int:
    levels = depth if isinstance(depth, int) else 1
    return (size(elements) * levels + 1 + LIST) % 2**64  # a negative depth wraps around before it is rejected


def _self_comparison(*lists: Value) -> int:
    """Return the cost of comparing all pairs of elements of the last list."""
    elements = lists[-1]
    factor = _COMPARISONS
    if isinstance(elements, list) and elements and isinstance(elements[0], str | bytes):
        factor += _TRAVERSAL
    return int(size(elements) ** 2 * factor) + 1 + LIST


def _set_comparison(factor: int) -> CallCost:
    return lambda left, right: 1 + size(left) * size(right) * factor


def _ip(source: Value) -> int:
    return math.ceil(size(source) * _TRAVERSAL) if isinstance(source, str) else 1


_LIST_ELEMENTS: Final = (
    "int", "uint", "double", "bool", "google.protobuf.Duration", "google.protobuf.Timestamp", "string", "bytes",
)  # fmt: skip
_BY_OVERLOAD: Final[dict[str, CallCost]] = {
    "list_slice": _slice,
    "list_flatten": _flattening,
    "list_flatten_int": _flattening,
    "lists_range": _range,
    "list_reverse": _reverse,
    "list_distinct": _self_comparison,
    **{f"list_{element}_sort": _self_comparison for element in _LIST_ELEMENTS},
    **{f"list_{element}_sortByAssociatedKeys": _self_comparison for element in _LIST_ELEMENTS},
    "list_sets_contains_list": _set_comparison(1),
    "list_sets_intersects_list": _set_comparison(1),
    "list_sets_equivalent_list": _set_comparison(2),
}
_BY_FUNCTION: Final[dict[str, CallCost]] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _traversal),
    **dict.fromkeys(
        ("url", "lowerAscii", "upperAscii", "substring", "trim", "cidr", "isIP", "isCIDR", "quantity", "isQuantity",
         "semver", "isSemver"),
        _per_character(),
    ),
    **dict.fromkeys(("replace", "split", "ip.isCanonical"), _per_character(2 * _TRAVERSAL)),
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
        _per_character(),
    ),
    "in_list": _list_membership,
    **{
        f"{relation}_{operands}": inequality
        for relation in ("less", "greater", "less_equals", "greater_equals")
        for operands in ("string", "bytes")
    },
    "add_string": _both,
    "add_bytes": _both,
    "matches_string": _regex,
    "contains_string": _containment,
}  # fmt: skip
