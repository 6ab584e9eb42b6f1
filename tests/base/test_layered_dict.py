# SPDX-License-Identifier: Apache-2.0
"""A layered dict says what a dict would say, and so do its copies, whatever is done to any of them."""

from __future__ import annotations

from typing import TypeAlias

from hypothesis import given, strategies as st

from steersman.base.graph_copy import GraphCopy
from steersman.base.layered_dict import LayeredDict

Pair: TypeAlias = tuple[LayeredDict[int, int], dict[int, int]]
Step: TypeAlias = tuple[str, int, int]

_KEYS = st.integers(0, 12)
_STEPS = st.tuples(st.sampled_from(("put", "put", "put", "pop", "copy", "items")), _KEYS, st.integers(0, 3))


def _filled(count: int) -> LayeredDict[int, int]:
    table: LayeredDict[int, int] = LayeredDict()
    for number in range(count):
        table.put(number, number)
    return table


def _copy(table: LayeredDict[int, int]) -> LayeredDict[int, int]:
    return GraphCopy().copied(table)


def _take(step: Step, pairs: list[Pair]) -> None:
    """Does the same to one of the tables and to the dict that it is compared with."""
    action, key, number = step
    table, expected = pairs[number % len(pairs)]
    if action == "put":
        table.put(key, number)
        expected[key] = number
    elif action == "pop":
        assert table.pop(key) == expected.pop(key, None)
    elif action == "copy":
        pairs.append((_copy(table), expected.copy()))
    else:
        assert list(table.items()) == list(expected.items())


@given(st.lists(_STEPS, max_size=60))
def test_tables_and_their_copies_equal_dicts(steps: list[Step]) -> None:
    pairs: list[Pair] = [(LayeredDict(), {})]
    for step in steps:
        _take(step, pairs)
        for table, expected in pairs:
            assert len(table) == len(expected)
            assert [(table.get(key), key in table) for key in range(13)] == [
                (expected.get(key), key in expected) for key in range(13)
            ]
    for table, expected in pairs:
        assert list(table.items()) == list(expected.items())


def test_zero_is_a_value() -> None:
    table = _filled(1)
    assert table.get(0) == 0
    assert 0 in table
    assert _copy(table).pop(0) == 0


def test_what_comes_back_comes_last() -> None:
    copied = _copy(_filled(3))
    copied.pop(0)
    copied.put(0, 7)
    copied.put(1, 8)
    assert list(copied.items()) == [(1, 8), (2, 2), (0, 7)]


def test_a_copy_costs_what_has_changed_since_the_last_one() -> None:
    table = _filled(1000)
    first = _copy(table)
    table.put(1000, 1000)
    second = _copy(table)
    assert first._base is second._base
    assert (len(first._own), len(second._own)) == (0, 1)


def test_many_changes_are_laid_into_the_base_once() -> None:
    table = _copy(_filled(1000))
    for number in range(500):
        table.put(number, -number)
    first, second = _copy(table), _copy(table)
    assert first._base is second._base
    assert (len(first._own), len(second._own)) == (0, 0)
    assert dict(second.items()) == {number: -number if number < 500 else number for number in range(1000)}


def test_entries_are_those_of_the_moment_at_which_they_were_requested() -> None:
    table = _filled(3)
    entries = table.items()
    table.put(3, 3)
    table.pop(0)
    assert list(entries) == [(0, 0), (1, 1), (2, 2)]
    assert list(table.items()) == [(1, 1), (2, 2), (3, 3)]
