# SPDX-License-Identifier: Apache-2.0
"""Groups say what dicts of dicts would say, and so do their copies, whatever is done to any of them."""

from __future__ import annotations

from typing import TypeAlias

from hypothesis import given, strategies as st

from steersman.base.graph_copy import GraphCopy
from steersman.base.grouped_dict import GroupedDict

Groups: TypeAlias = GroupedDict[str, int, int]
Pair: TypeAlias = tuple[Groups, dict[str, dict[int, int]]]
Step: TypeAlias = tuple[str, str, int, int]

_NAMES = ("a", "b", "c")
_STEPS = st.tuples(
    st.sampled_from(("put", "put", "remove", "copy")), st.sampled_from(_NAMES), st.integers(0, 4), st.integers(0, 3)
)


def _copy(groups: Groups) -> Groups:
    return GraphCopy().copied(groups)


def _filled(count: int) -> Groups:
    groups: Groups = GroupedDict()
    for number in range(count):
        for name in _NAMES:
            groups.put(name, number, number)
    return groups


def _take(step: Step, pairs: list[Pair]) -> None:
    """Does the same to some groups and to the dicts that they are compared with."""
    action, name, key, number = step
    groups, expected = pairs[number % len(pairs)]
    if action == "put":
        groups.put(name, key, number)
        expected.setdefault(name, {})[key] = number
    elif action == "remove":
        groups.remove(name, key)
        expected.get(name, {}).pop(key, None)
    else:
        pairs.append((_copy(groups), {name: group.copy() for name, group in expected.items()}))


@given(st.lists(_STEPS, max_size=60))
def test_groups_and_their_copies_equal_dicts_of_dicts(steps: list[Step]) -> None:
    pairs: list[Pair] = [(GroupedDict(), {})]
    for step in steps:
        _take(step, pairs)
        for groups, expected in pairs:
            for name in _NAMES:
                assert list(groups.entries_of(name).items()) == list(expected.get(name, {}).items())
                assert (name in groups) == bool(expected.get(name))


def test_a_change_copies_the_group_that_changes_and_no_other() -> None:
    origin = _filled(3)
    fork = _copy(origin)
    fork.put("a", 7, 7)
    origin.remove("b", 0)
    assert fork.entries_of("a") is not origin.entries_of("a")
    assert fork.entries_of("b") is not origin.entries_of("b")
    assert fork.entries_of("c") is origin.entries_of("c")


def test_a_group_is_copied_once() -> None:
    fork = _copy(_filled(3))
    fork.put("a", 7, 7)
    entries = fork.entries_of("a")
    fork.put("a", 8, 8)
    fork.remove("a", 0)
    assert fork.entries_of("a") is entries


def test_what_is_not_there_is_removed_without_a_copy() -> None:
    origin = _filled(3)
    fork = _copy(origin)
    fork.remove("a", 99)
    fork.remove("nobody", 0)
    assert fork.entries_of("a") is origin.entries_of("a")
