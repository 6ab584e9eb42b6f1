# SPDX-License-Identifier: Apache-2.0
"""A node as plain Python says the same as its row in the columns."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from tests.equivalence import vocabulary as words
from tests.equivalence.examples import examples
from tests.equivalence.vocabulary import GPU, Calls
from tests.state.tables import Tables, usual_node

from steersman.framework.node_info import NodeInfo
from steersman.scheduler.state.plain_node import PlainNodeInfo
from steersman.scheduler.state.row_info import LiveNodes
from steersman.testing import make_node, make_pod

RESOURCES = ("cpu", "memory", "ephemeral-storage", "pods", GPU, "example.com/none")


def everything(info: NodeInfo) -> dict[str, object]:
    return {
        "node": info.node,
        "name": info.name,
        "labels": info.labels,
        "annotations": info.annotations,
        "pods": list(info.pods),
        "pods with affinity": list(info.pods_with_affinity),
        "pods with required anti-affinity": list(info.pods_with_required_anti_affinity),
        "pod count": info.pod_count,
        "allowed pods": info.allowed_pods,
        "allocatable": [info.allocatable(resource) for resource in RESOURCES],
        "offers": [info.offers(resource) for resource in RESOURCES],
        "requested": [info.requested(resource) for resource in RESOURCES],
        "nonzero": [info.nonzero_requested(resource) for resource in ("cpu", "memory")],
        "ports": set(info.used_ports),
        "images": {name: (image.size, image.num_nodes) for name, image in info.image_states.items()},
        "claims": dict(info.claim_users),
    }


@examples(80)
@given(words.odd_nodes, st.lists(words.pods, max_size=5), st.lists(st.integers(0, 4), max_size=5))
def test_plain_and_columnar_nodes_agree(node: Calls, pods: list[Calls], removed: list[int]) -> None:
    tables = Tables()
    tables.table.set_node(words.node_of("n1", node))
    row = tables.table.info(tables.table.rows["n1"])
    plain = PlainNodeInfo(row.node, image_states=row.image_states)
    there = {}
    for index, calls in enumerate(pods):
        there[index] = tables.add(words.pod_of(f"p{index}", calls), "n1")
        plain.add_pod(there[index])
        assert everything(plain) == everything(row)
    for index in removed:
        if index in there:
            plain.remove_pod(there[index])
            tables.table.remove_pod(there.pop(index), "n1")
            assert everything(plain) == everything(row)
    assert everything(PlainNodeInfo.copy_of(row)) == everything(row)


def test_a_copy_may_change_without_the_original() -> None:
    tables = Tables()
    row = tables.add_node("n1")
    pod = tables.add(make_pod("p").req(cpu="1"), "n1")
    original = tables.table.info(row)
    copy = PlainNodeInfo.copy_of(original)
    copy.add_pod(tables.info(make_pod("q").req(cpu="2")))
    copy.remove_pod(pod)
    assert copy.requested("cpu") == 2000
    assert original.requested("cpu") == 1000
    tables.check()


def test_a_copy_of_a_copy_stands_on_its_own() -> None:
    first = make_node("n1").info(make_pod("p").req(cpu="1").host_port(80).pvc("data"))
    second = PlainNodeInfo.copy_of(first)
    assert everything(second) == everything(first)
    before = everything(first)
    second.remove_pod(next(iter(second.pods)))
    second.add_pod(make_pod("q").req(cpu="2").info())
    assert everything(first) == before


def test_all_nodes_of_a_table_are_listed_on_first_access() -> None:
    tables = Tables()
    tables.add_node("n1")
    nodes = LiveNodes(tables.table)
    tables.add_node("n2")
    assert len(nodes) == 2
    assert [node.name for node in nodes] == ["n1", "n2"]
    assert nodes[1].name == "n2"
    assert [node.name for node in nodes[:1]] == ["n1"]


def test_a_pod_that_is_not_there_cannot_be_removed() -> None:
    with pytest.raises(KeyError):
        make_node("n1").info().remove_pod(make_pod("p").info())


def test_a_row_always_shows_what_it_is_now() -> None:
    tables = Tables()
    row = tables.add_node("n1")
    info = tables.table.info(row)
    tables.add_node(usual_node("n1").label("disk", "ssd"))
    assert info.labels["disk"] == "ssd"
    assert tables.table.info(row) is info
    assert repr(info) == "RowNodeInfo(n1)"
