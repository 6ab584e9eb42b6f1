# SPDX-License-Identifier: Apache-2.0
"""Functions of lists and sets: `sum`, `min`, `sort`, `slice`, `flatten`, `distinct`,
`sets.contains` and others.

Includes `cel.@mapInsert`, to which `transformMap` and `transformMapEntry` expand.
"""

from __future__ import annotations

import functools
import itertools
from typing import Final

from steersman.api.cel.arithmetic import add, missing_operator
from steersman.api.cel.comparison import contains, equal_or_false, find, is_ordered, order
from steersman.api.cel.declarations import Implementation
from steersman.api.cel.errors import Aborted, CelError, no_such_overload
from steersman.api.cel.macros import SORT_BY_KEYS
from steersman.api.cel.meter import paced, require_room, spend
from steersman.api.cel.value_text import shown
from steersman.api.cel.values import CelDuration, GrowingMap, Uint, Value, from_key, go_name, to_key, type_name


def _require_ordered(elements: list[Value]) -> None:
    if not all(map(is_ordered, elements)):
        raise no_such_overload()


def _is_sorted(elements: list[Value]) -> bool:
    _require_ordered(elements)
    return all(_order_or_zero(one, other) <= 0 for one, other in itertools.pairwise(paced(elements)))


def _order_or_zero(left: Value, right: Value) -> int:
    try:
        return order(left, right)
    except CelError:
        return 0


def _extreme(name: str, sign: int) -> Implementation:
    def extreme(elements: list[Value]) -> Value:
        if not elements:
            raise CelError(f"{name} called on empty list")
        _require_ordered(elements)
        return functools.reduce(lambda best, one: one if _order_or_zero(one, best) == sign else best, paced(elements))

    return extreme


def _sum(zero: Value) -> Implementation:
    return lambda elements: functools.reduce(add, paced(elements), zero)


def _index_of(elements: list[Value], sought: Value) -> int:
    return next((at for at, element in enumerate(paced(elements)) if equal_or_false(element, sought)), -1)


def _last_index_of(elements: list[Value], sought: Value) -> int:
    reverse = range(len(elements) - 1, -1, -1)
    return next((at for at in paced(reverse) if equal_or_false(elements[at], sought)), -1)


def _slice(elements: list[Value], start: int, end: int) -> list[Value]:
    if start < 0 or end < 0:
        raise CelError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise CelError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if len(elements) < end:
        raise CelError(f"cannot slice({start}, {end}), list is length {len(elements)}")
    spend(end - start)
    return elements[start:end]


def _flatten_once(elements: Value) -> list[Value]:
    if not isinstance(elements, list):
        raise CelError(f"no such overload: {type_name(elements)}.flatten()")
    return _flatten(elements, 1)


def _flatten_some(elements: Value, depth: Value) -> list[Value]:
    if type(depth) is not int:
        raise Aborted(f"internal error: interface conversion: ref.Val is {go_name(depth)}, not types.Int")
    if not isinstance(elements, list):
        raise CelError(f"no such overload: {type_name(elements)}.flatten(int)")
    if depth < 0:
        raise CelError("level must be non-negative")
    return _flatten(elements, depth)


def _flatten(elements: list[Value], depth: int) -> list[Value]:
    flat: list[Value] = []
    for element in paced(elements):
        if isinstance(element, list) and depth:
            part = _flatten(element, depth - 1)
            require_room("list", len(flat) + len(part), "elements")
            flat.extend(part)
        else:
            flat.append(element)
    return flat


def _sort(elements: Value) -> list[Value]:
    if not isinstance(elements, list):
        raise missing_operator("sort", elements)
    return _sort_by_keys(elements, elements)


def _sort_by_keys(elements: Value, keys: Value) -> list[Value]:
    if not isinstance(elements, list) or not isinstance(keys, list):
        raise missing_operator(SORT_BY_KEYS, elements)
    if len(elements) != len(keys):
        raise CelError(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got "
            f"{len(elements)} and {len(keys)} elements respectively"
        )
    if not elements:
        return elements
    if not is_ordered(keys[0]):
        raise CelError("list elements must be comparable")
    if len(keys) > 1 and any(type(key) is not type(keys[0]) for key in keys):
        raise CelError("list elements must have the same type")
    by_key = functools.cmp_to_key(_order_or_zero)
    return [elements[at] for at in sorted(range(len(elements)), key=lambda at: by_key(keys[at]))]


def _range(count: int) -> list[Value]:
    require_room("list", count, "elements")
    return list(range(count))


def _reverse(elements: list[Value]) -> list[Value]:
    spend(len(elements))
    return elements[::-1]


def _distinct(elements: list[Value]) -> list[Value]:
    found: list[Value] = []
    for element in elements:
        if not contains(found, element):
            found.append(element)
    return found


def _contains_all(elements: list[Value], sought: list[Value]) -> bool:
    return all(contains(elements, one) for one in sought)


def _equivalent(left: list[Value], right: list[Value]) -> bool:
    return _contains_all(left, right) and _contains_all(right, left)


def _intersects(left: list[Value], right: list[Value]) -> bool:
    return any(contains(right, one) for one in left)


def _insert(entries: dict[Value, Value], key: Value, value: Value) -> dict[Value, Value]:
    found = to_key(key)
    if find(entries, found)[1]:
        raise CelError(f"insert failed: key {shown(key)} already exists")
    grown = entries if isinstance(entries, GrowingMap) else GrowingMap(entries)
    grown[found] = value
    return grown


def _insert_all(entries: dict[Value, Value], added: dict[Value, Value]) -> dict[Value, Value]:
    for key, value in added.items():
        entries = _insert(entries, from_key(key), value)
    return entries


_min: Final = _extreme("min", -1)
_max: Final = _extreme("max", 1)
_sum_ints: Final = _sum(0)
_sum_uints: Final = _sum(Uint(0))
_sum_doubles: Final = _sum(0.0)
_sum_durations: Final = _sum(CelDuration(0))
