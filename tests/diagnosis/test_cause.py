# SPDX-License-Identifier: Apache-2.0
"""The cause of a pending pod is one sentence: what decides at the nodes that come nearest, and what the others say."""

from __future__ import annotations

from collections.abc import Sequence

from steersman import api
from steersman.scheduler.diagnosis import Cause, CauseCode
from steersman.simulation import Simulation
from steersman.testing import NodeBuilder, PodBuilder, is_in, make_node, make_pod

GPU = "example.com/gpu"


def _cause(nodes: Sequence[NodeBuilder], wanted: PodBuilder, *others: api.Object) -> Cause:
    result = Simulation.load([node.obj() for node in nodes], list(others), wanted.obj()).run()
    return result.explain(wanted.obj().metadata.name).cause


def node(name: str, cpu: str = "4", **amounts: str) -> NodeBuilder:
    return make_node(name).capacity(cpu=cpu, memory="8Gi", pods=110, **amounts)


def test_nodes_that_are_full_are_told_from_nodes_that_are_too_small_and_nodes_that_have_none() -> None:
    nodes = [node("full", **{GPU: "8"}), node("small", **{GPU: "4"}), node("plain"), node("other")]
    on_full = make_pod("running").req(**{GPU: "2"}).node("full").obj()
    found = _cause(nodes, make_pod("wanted").req(**{GPU: "8"}), on_full)
    assert found.code is CauseCode.RESOURCES
    assert found.sentence == (
        "The pod needs 8 example.com/gpu on one node; 1 node has 8 or more, with 6 free; 1 node is too small, with at most 4; "
        "2 nodes have none."
    )
    assert found.groups[0].nearest == "full lacks 2 example.com/gpu (asks 8, 6 of 8 free)"


def test_a_full_node_with_the_resource_is_nearer_than_a_node_without_it() -> None:
    nodes = [node("plain"), node("full", **{GPU: "2"}), node("larger", **{GPU: "4"})]
    running = [
        make_pod(f"on-{name}").req(**{GPU: count}).node(name).obj() for name, count in (("full", "2"), ("larger", "4"))
    ]
    found = _cause(nodes, make_pod("wanted").req(**{GPU: "1"}), *running)
    assert found.groups[0].nearest == "larger lacks 1 example.com/gpu (asks 1, 0 of 4 free)"


def test_an_overcommitted_node_with_the_resource_is_nearer_than_a_node_without_it() -> None:
    running = make_pod("running").req(**{GPU: "3"}).node("over").obj()
    found = _cause([node("plain"), node("over", **{GPU: "2"})], make_pod("wanted").req(**{GPU: "1"}), running)
    assert found.groups[0].nearest.startswith("over lacks 2 example.com/gpu")


def test_room_that_is_there_in_pieces_is_called_fragmented() -> None:
    nodes = [node("n1"), node("n2")]
    running = [make_pod(f"on-{name}").req(cpu="2").node(name).obj() for name in ("n1", "n2")]
    found = _cause(nodes, make_pod("wanted").req(cpu="3"), *running)
    assert found.code is CauseCode.FRAGMENTATION
    assert found.sentence == (
        "The pod needs 3 cpu on one node; 2 nodes have 3 or more, none has more than 2 free; "
        "4 are free in total, but fragmented."
    )


def test_nodes_with_fewer_objections_tell_the_cause() -> None:
    both = [node(f"both-{index}").taint("dedicated", "x").unschedulable() for index in range(3)]
    found = _cause([*both, node("tainted").taint("dedicated", "x")], make_pod("wanted").req(cpu="1"))
    assert found.code is CauseCode.TAINT
    assert found.sentence.startswith(
        "1 node would fit but for the taint dedicated=x:NoSchedule, which the pod does not tolerate; 3 other nodes"
    )


def test_two_resources_that_are_short_are_named_together_with_the_nearest_node() -> None:
    found = _cause([node("n1", cpu="4"), node("n2", cpu="8")], make_pod("wanted").req(cpu="10", memory="9Gi"))
    assert found.sentence == (
        "2 nodes have too little cpu and too little memory; nearest: n2 lacks 2 cpu (asks 10, 8 of 8 free) and 1Gi memory "
        "(asks 9Gi, 8Gi of 8Gi free)."
    )


def test_a_resource_that_the_nearest_node_does_not_have_is_said_to_be_missing() -> None:
    found = _cause([node("n1", cpu="4")], make_pod("wanted").req(cpu="6", **{"example.com/gpu": "1"}))
    assert found.sentence == (
        "1 node has too little cpu and too little example.com/gpu; "
        "nearest: n1 lacks 2 cpu (asks 6, 4 of 4 free) and example.com/gpu (asks 1, the node has none)."
    )


def test_what_the_pod_wants_of_nodes_is_said_once_whatever_they_have_instead() -> None:
    nodes = [node("n1").label("disk", "hdd"), node("n2").label("disk", "tape"), node("n3")]
    found = _cause(nodes, make_pod("wanted").node_selector("disk", "ssd"))
    assert found.code is CauseCode.NODE_AFFINITY
    assert found.sentence == "3 nodes would fit but for the pod's node selector or affinity, which wants disk=ssd."


def test_nodes_that_the_pod_does_not_want_do_not_hide_that_the_wanted_ones_are_full() -> None:
    wanted = make_pod("wanted").req(cpu="10", memory="9Gi").node_selector("pool", "large")
    found = _cause([*(node(f"n{index}") for index in range(3)), node("large").label("pool", "large")], wanted)
    assert found.sentence.startswith("1 node has too little cpu and too little memory; nearest: large lacks 6 cpu")


def test_of_many_reasons_the_rest_is_counted() -> None:
    nodes = [
        node("slow", cpu="500m"),
        make_node("narrow").capacity(cpu="4", memory="1Mi", pods=110),
        make_node("crowded").capacity(cpu="4", memory="8Gi", pods=0),
        node("cordoned").unschedulable(),
        node("tainted").taint("key", "x"),
    ]
    found = _cause(nodes, make_pod("wanted").req(cpu="1", memory="1Gi"))
    assert found.sentence.endswith("; 1 node for other reasons.")
    assert len(found.groups) == 5


def test_a_port_that_is_taken_is_named() -> None:
    holder = make_pod("holder").host_port(8080).node("n1").obj()
    found = _cause([node("n1")], make_pod("wanted").host_port(8080), holder)
    assert (found.code, found.sentence) == (
        CauseCode.HOST_PORT,
        "1 node would fit but for host ports: 8080/TCP is taken.",
    )


def test_a_pod_that_is_held_back_was_not_tried() -> None:
    found = _cause([node("n1")], make_pod("wanted").gate("example.com/wait"))
    assert found.code is CauseCode.HELD_BACK
    assert "example.com/wait" in found.sentence


def test_a_cluster_without_nodes_has_none_to_blame() -> None:
    assert _cause([], make_pod("wanted")).sentence == "The cluster has no nodes."


def test_a_placed_pod_fits() -> None:
    assert _cause([node("n1")], make_pod("wanted")).code is CauseCode.FITS


def test_the_cause_comes_first_in_the_text_and_is_in_the_data() -> None:
    result = Simulation.load(node("n1").obj(), make_pod("wanted").req(cpu="10").obj()).run()
    explanation = result.explain("wanted")
    lines = explanation.table().splitlines()
    assert lines[1] == f"  {explanation.cause.sentence}"
    assert explanation.to_dict()["cause"]["code"] == "InsufficientResources"


def test_nodes_that_a_pod_is_not_for_are_told_apart_from_its_own() -> None:
    own = make_pod("wanted").req(cpu="5").required_node_affinity(fields=[is_in("metadata.name", "n1")])
    found = _cause([node("n1"), node("n2", cpu="8"), node("n3", cpu="2")], own)
    assert found.sentence == (
        "The pod needs 5 cpu on one node; 1 node is too small, with at most 4; "
        "2 other nodes are not among those that the pod's node affinity names."
    )
    assert [(group.code, group.count) for group in found.groups] == [
        (CauseCode.RESOURCES, 1),
        (CauseCode.NODE_AFFINITY, 2),
    ]


def test_nodes_with_many_taints_take_one_clause() -> None:
    tainted = [node(f"t{index}").taint(f"team-{index % 3}", "x") for index in range(7)]
    found = _cause([node("small"), *tainted], make_pod("wanted").req(cpu="5"))
    assert found.sentence == (
        "The pod needs 5 cpu on one node; 1 node is too small, with at most 4; 7 other nodes are ruled out by "
        "the taint team-0=x:NoSchedule and 2 others, which the pod does not tolerate, among other things."
    )
    assert [group.count for group in found.groups] == [1, 3, 2, 2], "each taint has its group"
