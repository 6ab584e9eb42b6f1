# SPDX-License-Identifier: Apache-2.0
"""Explanations say what kube-scheduler's reasons leave out: how much is missing, which taint, which label, which port."""

from __future__ import annotations

import pytest

from steersman import api
from steersman.simulation import Simulation
from steersman.testing import NodeBuilder, PodBuilder, make_node, make_pod


def _objections(node: NodeBuilder, pod: PodBuilder, *others: api.Object) -> list[str]:
    """What the plugins have against a pod on the only node."""
    result = Simulation.load(node.obj(), list(others), pod.obj()).run()
    return [str(verdict) for verdict in result.explain("wanted").nodes[0].verdicts]


def a_node() -> NodeBuilder:
    return make_node("n1").capacity(cpu="4", memory="8Gi", pods=3)


def test_what_is_asked_and_what_is_free_are_numbers() -> None:
    on_the_node = make_pod("other").req(cpu="1", memory="6Gi").node("n1").obj()
    said = _objections(a_node(), make_pod("wanted").req(cpu="10", memory="2.5Gi"), on_the_node)
    assert said == [
        "NodeResourcesFit: Insufficient cpu (asks 10, 3 free of 4), Insufficient memory (asks 2.5Gi, 2Gi free of 8Gi)"
    ]


def test_a_resource_that_a_node_does_not_have_is_said_to_be_missing() -> None:
    wanted = make_pod("wanted").req(**{"example.com/gpu": "2"})
    assert _objections(a_node(), wanted) == ["NodeResourcesFit: Insufficient example.com/gpu (asks 2, there is none)"]


def test_pods_are_counted() -> None:
    others = [make_pod(f"other-{index}").node("n1").obj() for index in range(3)]
    assert _objections(a_node(), make_pod("wanted"), *others) == [
        "NodeResourcesFit: Too many pods (asks 1, 0 free of 3)"
    ]


@pytest.mark.parametrize(("value", "shown"), [("gpu", "dedicated=gpu:NoSchedule"), ("", "dedicated:NoSchedule")])
def test_the_taint_is_named(value: str, shown: str) -> None:
    node = a_node().taint("soft", "x", effect="PreferNoSchedule").taint("dedicated", value)
    assert _objections(node, make_pod("wanted")) == [f"TaintToleration: node(s) had untolerated taint(s) ({shown})"]


def test_the_label_is_named_and_what_the_node_has_instead() -> None:
    reason = "NodeAffinity: node(s) didn't match Pod's node affinity/selector"
    wanted = make_pod("wanted").node_selector("disk", "ssd")
    assert _objections(a_node().label("disk", "hdd"), wanted) == [f"{reason} (wants disk=ssd, has disk=hdd)"]
    assert _objections(a_node(), wanted) == [f"{reason} (wants disk=ssd, has no disk)"]


def test_the_port_is_named() -> None:
    other = make_pod("other").host_port(8080).node("n1").obj()
    assert _objections(a_node(), make_pod("wanted").host_port(8080), other) == [
        "NodePorts: node(s) didn't have free ports for the requested pod ports (8080/TCP is taken)"
    ]


def test_many_nodes_share_a_row_with_the_one_that_comes_nearest() -> None:
    nodes = [make_node(f"n{cores}").capacity(cpu=str(cores), memory="8Gi", pods=3).obj() for cores in range(1, 9)]
    result = Simulation.load(nodes, make_pod("wanted").req(cpu="10").obj()).run()
    lines = result.explain("wanted").table(limit=3).splitlines()
    assert "8      too little cpu  n8 lacks 2 cpu (asks 10, 8 of 8 free)" in lines


def test_the_numbers_are_in_the_data_too() -> None:
    result = Simulation.load(a_node().obj(), make_pod("wanted").req(cpu="10").obj()).run()
    (verdict,) = result.explain("wanted").to_dict()["nodes"][0]["verdicts"]
    assert verdict["reasons"] == ("Insufficient cpu",)
    (shortage,) = verdict["shortages"]
    assert (shortage["asks"], shortage["free"], shortage["allocatable"]) == (10_000, 4_000, 4_000)
