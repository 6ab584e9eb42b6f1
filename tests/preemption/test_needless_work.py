# SPDX-License-Identifier: Apache-2.0
"""Where removing pods cannot help, nothing is searched or weighed; messages are the same."""

from __future__ import annotations

from unittest.mock import patch

from steersman.scheduler.plugins.pod_topology_spread import PodTopologySpread
from steersman.scheduler.preemption.removal import LimitedStep
from steersman.testing import Harness, PodBuilder, make_node, make_pod

NO_VICTIMS = "preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod."
NO_ROOM = "preemption: 0/2 nodes are available: 2 Insufficient cpu."


def cluster(*pods: PodBuilder) -> Harness:
    nodes = [make_node(name).capacity(cpu="4", pods=10).label("zone", name) for name in ("a", "b")]
    on_nodes = [pod.name(f"{pod.obj().metadata.name}-{node}").node(node) for pod in pods for node in ("a", "b")]
    return Harness(nodes=nodes, pods=on_nodes)


def spreading(name: str, priority: int) -> PodBuilder:
    pod = make_pod(name).label("app", "web").req(cpu="3").priority(priority)
    return pod.spread("zone", when="DoNotSchedule", selector={"app": "web"})


def failure(harness: Harness, pod: PodBuilder) -> str:
    harness.add(pod)
    harness.advance(0.001)
    return harness.message(pod)


def test_no_victims_are_searched_for_a_pod_that_outranks_no_other() -> None:
    harness = cluster(make_pod("running").req(cpu="3").priority(5))
    with patch(
        "steersman.scheduler.preemption.column_dry_run.Removal", side_effect=AssertionError("victims are searched")
    ):
        assert NO_VICTIMS in failure(harness, make_pod("waiting").req(cpu="3").priority(5))


def test_pods_are_not_weighed_where_nodes_stay_too_small_without_their_victims() -> None:
    harness = cluster(make_pod("low").req(cpu="1").priority(1), make_pod("high").req(cpu="2").priority(9))
    with patch.object(LimitedStep, "__init__", side_effect=AssertionError("pods are weighed")):
        assert NO_ROOM in failure(harness, spreading("waiting", priority=5))


def test_the_reason_of_one_plugin_needs_no_prefilter_of_others() -> None:
    # Profiles bind the methods of their plugins when they are built.
    with patch.object(PodTopologySpread, "pre_filter", side_effect=AssertionError("the cluster is counted")):
        harness = cluster(make_pod("low").req(cpu="1").priority(1), make_pod("high").req(cpu="2").priority(9))
        assert NO_ROOM in failure(harness, spreading("waiting", priority=5))
