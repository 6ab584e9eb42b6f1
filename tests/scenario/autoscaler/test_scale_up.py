# SPDX-License-Identifier: Apache-2.0
"""Pools that grow for pods that wait: how many nodes, of which pool, and when."""

from __future__ import annotations

from typing import Any

import pytest
from tests.scenario.autoscaler.pools import a_pool, actions, autoscaled
from tests.scenario.scenarios import a_deployment, a_pod, pod_spec

from steersman import api
from steersman.simulation.node_pools import pool_of
from steersman.simulation.scenario import run_scenario


def applied(*objects: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"at": 5, "apply": list(objects)}]


def test_a_pool_grows_by_as_many_nodes_as_the_pods_need() -> None:
    result = run_scenario(autoscaled(a_pool(), timeline=applied(a_deployment(replicas=9))))
    assert actions(result) == [
        "pool general grows from 0 to 3 nodes for 9 pods",
        "3 nodes general-0 … general-2 arrived",
    ]
    assert result.summary.pending == 0


def test_nodes_arrive_when_they_have_booted() -> None:
    result = run_scenario(autoscaled(a_pool(bootSeconds=90), timeline=applied(a_pod("p"))))
    assert [m.at for m in result.milestones if m.source == "autoscaler"] == [10, 100]
    assert result.placements["default/p"].at is not None
    assert result.placements["default/p"].at >= 100


def test_nodes_that_boot_are_not_requested_again() -> None:
    timeline = [*applied(a_deployment(replicas=4)), {"at": 30, "scale": {"target": "deploy/web", "replicas": 6}}]
    result = run_scenario(autoscaled(a_pool(cpu="2", bootSeconds=300), timeline=timeline))
    grown = [text for text in actions(result) if "grows" in text]
    assert grown == [
        "pool general grows from 0 to 2 nodes for 4 pods",
        "pool general grows from 2 to 3 nodes for 2 pods",
    ]


def test_a_pool_does_not_grow_beyond_its_limit() -> None:
    result = run_scenario(autoscaled(a_pool(max=2), timeline=applied(a_deployment(replicas=12))))
    assert result.numbers["maxNodes"] == 2
    assert result.summary.pending == 4


def test_a_pool_begins_with_its_least() -> None:
    result = run_scenario(autoscaled(a_pool(min=2), timeline=applied(a_pod("p"))))
    assert actions(result) == ["pool general begins with 2 more nodes: it has at least 2"]
    assert result.placements["default/p"].at == 5


def test_nothing_grows_for_pods_that_no_pool_can_help() -> None:
    result = run_scenario(autoscaled(a_pool(), timeline=applied(a_pod("huge", cpu="64"))))
    assert actions(result) == []
    assert result.summary.pending == 1


def test_nothing_grows_for_expendable_or_gated_pods() -> None:
    expendable = {**a_pod("cheap"), "spec": {**pod_spec(), "priority": -11}}
    gated = {**a_pod("gated"), "spec": {**pod_spec(), "schedulingGates": [{"name": "example.com/wait"}]}}
    assert actions(run_scenario(autoscaled(a_pool(), timeline=applied(expendable, gated)))) == []


def test_daemons_have_their_room_on_new_nodes() -> None:
    daemon = a_deployment("agent")
    daemon["kind"] = "DaemonSet"
    del daemon["spec"]["replicas"]
    result = run_scenario(autoscaled(a_pool(), timeline=applied(daemon, a_deployment(replicas=6))))
    assert actions(result)[0] == "pool general grows from 0 to 2 nodes for 6 pods"
    assert result.summary.pending == 0


def test_a_volume_in_one_zone_gets_a_node_there() -> None:
    zonal = {**a_pod("zonal"), "spec": {**pod_spec(), "nodeSelector": {"topology.kubernetes.io/zone": "c"}}}
    result = run_scenario(autoscaled(a_pool(zones=["a", "b", "c"], max=1), timeline=applied(zonal)))
    assert result.summary.pending == 0
    (node,) = result.simulation.cluster.objects(api.Node).values()
    assert node.metadata.labels["topology.kubernetes.io/zone"] == "c"


@pytest.mark.parametrize(
    ("settings", "pool"),
    [
        ({}, "small"),
        ({"expander": "leastWaste"}, "small"),
        ({"expander": "cheapest"}, "big"),
        ({"expander": "mostPods"}, "medium"),
        ({"expander": "priority", "priorities": ["medium"]}, "medium"),
        ({"expander": "priority", "priorities": ["big", "medium"]}, "big"),
    ],
)
def test_the_expander_picks_the_pool(settings: dict[str, Any], pool: str) -> None:
    """Four pods of 2 cores: two small nodes, which may not be more, are used to the full by two; the others are not."""
    document = autoscaled(
        a_pool("small", cpu="2", price=1.0, max=2),
        a_pool("medium", cpu="5", price=2.0),
        a_pool("big", cpu="10", price=1.5),
        settings={**settings, "scaleDown": False},
        timeline=applied(*(a_pod(f"p{index}", cpu="2") for index in range(4))),
    )
    assert actions(run_scenario(document))[0].startswith(f"pool {pool} grows")


def test_existing_nodes_belong_to_the_pool_of_their_label() -> None:
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "old", "labels": {"steersman.dev/pool": "general"}},
        "status": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "5"}},
    }
    result = run_scenario(autoscaled(a_pool(max=2), cluster=[node], timeline=applied(a_deployment(replicas=6))))
    assert (
        actions(result)[0] == "pool general grows from 1 to 2 nodes for 5 pods" or "from 1 to 2" in actions(result)[0]
    )
    assert {pool_of(each) for each in result.simulation.cluster.objects(api.Node).values()} == {"general"}


def test_without_pools_or_when_it_is_off_nothing_grows() -> None:
    document = autoscaled(a_pool(), settings={"enabled": False}, timeline=applied(a_pod("p")))
    assert actions(run_scenario(document)) == []
