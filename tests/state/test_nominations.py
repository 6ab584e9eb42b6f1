# SPDX-License-Identifier: Apache-2.0
"""Pods nominated to nodes, and for whom of them a pod must leave room."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.equivalence.examples import examples
from tests.state.tables import Tables

from steersman.framework.pod_info import PodInfo
from steersman.scheduler.state.nominations import NominatedAhead, Nominations, nominated_ahead_of
from steersman.testing import PodBuilder, make_pod

POD = make_pod("p").priority(5)
RESOURCES = ("cpu", "memory", "example.com/gpu")


class Nominated:
    """A table with nodes, and nominations on it."""

    def __init__(self, *nodes: str) -> None:
        self.tables = Tables()
        for node in nodes:
            self.tables.add_node(node)
        self.nominations = Nominations(self.tables.table)

    def put(self, node: str, *pods: PodBuilder) -> None:
        self.nominations.put(node, [self.tables.info(pod) for pod in pods])

    def ahead(self, pod: PodBuilder = POD) -> NominatedAhead:
        return self.nominations.ahead_of(self.tables.info(pod))

    def names(self, pod: PodBuilder = POD) -> dict[str, list[str]]:
        names = self.tables.table.names
        return {names[row]: [rival.name for rival in pods] for row, pods in self.ahead(pod).items()}

    def cpu(self, pod: PodBuilder = POD) -> dict[str, int]:
        found = self.ahead(pod)
        names = [self.tables.table.names[row] for row in found.rows.tolist()]
        return dict(zip(names, found.amounts("cpu").tolist(), strict=True))


def rival(name: str, priority: int = 5, cpu: str = "1") -> PodBuilder:
    return make_pod(name).priority(priority).req(cpu=cpu)


def test_nominated_pods_ahead_are_at_least_as_important_and_other_pods() -> None:
    nominated = [rival("equal").info(), rival("greater", 6).info(), rival("lesser", 4).info(), POD.info()]
    assert [pod.name for pod in nominated_ahead_of(POD.info(), nominated)] == ["equal", "greater"]


def test_a_node_without_rivals_does_not_occur() -> None:
    test = Nominated("n1", "n2", "n3")
    test.put("n1", rival("a"), rival("b", 7), rival("c", 1))
    test.put("n2", rival("d", 1))
    assert test.names() == {"n1": ["a", "b"]}
    assert test.ahead().counts.tolist() == [2]
    assert len(test.ahead()) == 1


def test_a_pod_is_not_its_own_rival() -> None:
    test = Nominated("n1", "n2")
    test.put("n1", POD.req(cpu="3"), rival("a"))
    assert test.names() == {"n1": ["a"]}
    assert test.cpu() == {"n1": 1000}
    test.put("n1", POD.req(cpu="3"))
    test.put("n2", rival("b"))
    assert test.names() == {"n2": ["b"]}
    assert test.cpu(rival("other")) == {"n1": 3000, "n2": 1000}


def test_what_changes_is_seen_by_sums_that_were_made_before() -> None:
    test = Nominated("n1", "n2")
    test.put("n1", rival("a"))
    assert test.cpu() == {"n1": 1000}
    test.put("n2", rival("b", cpu="2"))
    assert test.cpu() == {"n1": 1000, "n2": 2000}
    test.put("n1")
    assert test.cpu() == {"n2": 2000}
    test.put("n1", rival("c", cpu="4"))
    assert test.cpu() == {"n1": 4000, "n2": 2000}


def test_a_pod_whose_nomination_moves_is_known_at_its_new_node() -> None:
    """Which of the two nodes is heard of first does not matter."""
    test = Nominated("n1", "n2")
    test.put("n1", POD)
    test.put("n2", POD)
    test.put("n1")
    assert test.names() == {}
    assert test.names(rival("other")) == {"n2": ["p"]}


def test_a_node_that_is_not_known_has_no_rivals_until_it_comes() -> None:
    test = Nominated("n1")
    test.put("n2", rival("a"))
    assert test.names() == {}
    test.tables.add_node("n2")
    assert test.names() == {"n2": ["a"]}


def test_what_was_forgotten_may_be_forgotten_again() -> None:
    test = Nominated("n1")
    test.put("n1")
    test.put("n1", rival("a"))
    test.put("n1")
    test.put("n1")
    assert test.nominations.by_node == {}
    assert test.nominations.pods_on("n1") == ()


def test_rivals_may_be_narrowed_down_to_rows() -> None:
    test = Nominated("n1", "n2", "n3")
    test.put("n1", rival("a"))
    test.put("n2", rival("b", cpu="2"), POD)
    test.put("n3", rival("c", cpu="3"))
    rows = np.ones(test.tables.table.capacity, np.bool_)
    rows[test.tables.table.rows["n1"]] = False
    some = test.ahead().restricted_to(rows)
    assert some.amounts("cpu").tolist() == [2000, 3000]
    assert some.counts.tolist() == [1, 1]
    assert [pod.name for pod in some.pods(0)] == ["b"]


def test_positions_with_host_ports_are_known() -> None:
    test = Nominated("n1", "n2")
    test.put("n1", rival("a"), rival("humble", 1).host_port(80))
    test.put("n2", rival("b").host_port(80))
    assert test.ahead().with_ports() == [1]


def test_sums_beyond_int64_wrap_around() -> None:
    test = Nominated("n1")
    test.put("n1", make_pod("a").priority(5).req(memory="5Ei"), make_pod("b").priority(5).req(memory="5Ei"))
    assert test.ahead().amounts("memory").tolist() == [10 * 2**60 - 2**64]


@pytest.mark.parametrize("priorities", [40])
def test_any_number_of_priorities_may_be_requested(priorities: int) -> None:
    test = Nominated("n1")
    test.put("n1", *(rival(f"r{priority}", priority) for priority in range(priorities)))
    for _ in range(2):
        counts = [test.ahead(make_pod("q").priority(priority)).counts.tolist() for priority in range(priorities)]
        assert counts == [[priorities - priority] for priority in range(priorities)]


# -- all of it equals the plain rule -------------------------------------------------------------------------------------

NODES = [f"n{index}" for index in range(40)]
nodes = st.sampled_from(NODES)
uids = st.integers(0, 12)
amounts = st.sampled_from([None, "1", "2"])
pod_parts = st.tuples(uids, st.integers(-1, 2), amounts, amounts, st.booleans())
Change = Callable[[Nominated], None]


def a_pod(uid: int, priority: int, cpu: str | None, gpu: str | None, port: bool) -> PodBuilder:
    pod = make_pod(f"pod-{uid}").uid(str(uid)).priority(priority)
    pod = pod if cpu is None else pod.req(cpu=cpu)
    pod = pod if gpu is None else pod.req(**{"example.com/gpu": gpu})
    return pod.host_port(80) if port else pod


def nominate(node: str, pods: Sequence[PodBuilder]) -> Change:
    """A pod is nominated to one node at most."""

    def change(test: Nominated) -> None:
        infos = {info.uid: info for info in map(test.tables.info, pods)}
        for name, others in list(test.nominations.by_node.items()):
            test.nominations.put(name, [other for other in others if other.uid not in infos])
        test.nominations.put(node, list(infos.values()))

    return change


def toggle(node: str) -> Change:
    def change(test: Nominated) -> None:
        table = test.tables.table
        row = table.row_of(node)
        if row is None:
            test.tables.add_node(node)
        else:
            table.remove_node(node)

    return change


changes: st.SearchStrategy[Change] = st.one_of(
    st.builds(nominate, nodes, st.lists(pod_parts, max_size=4).map(lambda parts: [a_pod(*part) for part in parts])),
    st.builds(toggle, nodes),
)


@examples(100)
@given(st.lists(changes, max_size=40), st.lists(pod_parts, min_size=1, max_size=3))
def test_columns_equal_the_plain_rule(
    story: list[Change], asking: list[tuple[int, int, str | None, str | None, bool]]
) -> None:
    test = Nominated(*NODES[:20])
    pods = [test.tables.info(a_pod(*parts)) for parts in asking]
    for change in story:
        change(test)
        for pod in pods:
            assert described(test.nominations.ahead_of(pod)) == expected(test, pod)


def described(found: NominatedAhead) -> Mapping[int, object]:
    columns = [found.amounts(resource).tolist() for resource in RESOURCES]
    ported = set(found.with_ports())
    for position, (_, pods) in enumerate(found.items()):
        assert position in ported or not any(pod.shape.host_ports for pod in pods)
    return {
        row: (count, amounts, [pod.uid for pod in pods])
        for (row, pods), count, *amounts in zip(found.items(), found.counts.tolist(), *columns, strict=True)
    }


def expected(test: Nominated, pod: PodInfo) -> Mapping[int, object]:
    document = {}
    for node, nominated in test.nominations.by_node.items():
        row, others = test.tables.table.row_of(node), nominated_ahead_of(pod, nominated)
        if row is not None and others:
            sums = [sum(other.requests(resource) for other in others) for resource in RESOURCES]
            document[row] = (len(others), sums, [other.uid for other in others])
    return document
