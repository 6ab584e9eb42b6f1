# SPDX-License-Identifier: Apache-2.0
"""Selectors that may match a pod are found by its labels and its namespace."""

from __future__ import annotations

from hypothesis import given, strategies as st

from steersman.api.selectors import NOTHING, Operator, Requirement, Selector, from_labels
from steersman.scheduler.state.selector_index import SelectorIndex

keys = st.sampled_from(["app", "tier", "own"])
values = st.sampled_from(["a", "b", "c"])
requirements = st.one_of(
    st.builds(
        lambda key, some: Requirement(key, Operator.IN, tuple(sorted(some))),
        keys,
        st.sets(values, min_size=1, max_size=2),
    ),
    st.builds(lambda key: Requirement(key, Operator.EXISTS), keys),
    st.builds(lambda key, value: Requirement(key, Operator.NOT_IN, (value,)), keys, values),
)
selectors = st.one_of(
    st.just(NOTHING), st.lists(requirements, max_size=3).map(lambda some: Selector(tuple(sorted(set(some)))))
)
namespaces = st.sampled_from(["x", "y", "z"])
reaches = st.one_of(st.none(), st.frozensets(namespaces, max_size=2))
entries = st.lists(st.tuples(selectors, reaches), max_size=12)
pods = st.tuples(namespaces, st.dictionaries(keys, values))


def matches(selector: Selector, reach: frozenset[str] | None, namespace: str, labels: dict[str, str]) -> bool:
    return (reach is None or namespace in reach) and selector.matches(labels)


@given(entries, st.sets(st.integers(0, 11)), pods)
def test_every_entry_that_matches_is_a_candidate_once(
    filed: list[tuple[Selector, frozenset[str] | None]], gone: set[int], pod: tuple[str, dict[str, str]]
) -> None:
    index: SelectorIndex[int] = SelectorIndex()
    for entry, (selector, reach) in enumerate(filed):
        index.add(entry, selector, reach)
    for entry in gone & set(range(len(filed))):
        index.discard(entry, *filed[entry])
    found = list(index.candidates(*pod))
    expected = {entry for entry, each in enumerate(filed) if entry not in gone and matches(*each, *pod)}
    assert len(found) == len(set(found))
    assert expected <= set(found)
    assert gone.isdisjoint(found)


def test_nothing_is_left_of_what_was_taken_out() -> None:
    index: SelectorIndex[int] = SelectorIndex()
    for entry in range(100):
        index.add(entry, from_labels({"own": f"hash-{entry}"}), frozenset(("x",)))
    for entry in range(100):
        index.discard(entry, from_labels({"own": f"hash-{entry}"}), frozenset(("x",)))
    assert not index.entries()
    assert not index._by_label
    assert not index._by_namespace


def test_a_selector_is_filed_under_what_the_fewest_others_demand() -> None:
    index: SelectorIndex[int] = SelectorIndex()
    for entry in range(50):
        index.add(entry, from_labels({"app": "web", "own": f"hash-{entry}"}), None)
    assert len(list(index.candidates("x", {"app": "web", "own": "hash-3"}))) <= 2
