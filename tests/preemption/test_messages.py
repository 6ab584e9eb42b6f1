# SPDX-License-Identifier: Apache-2.0
"""What users read when preemption does not help."""

from __future__ import annotations

import pytest
from tests.preemption.clusters import PreemptionCluster

from steersman.framework.status import Code
from steersman.scheduler.cycle.decision import Unschedulable
from steersman.testing import PodBuilder, make_node, make_pod

NODES = [make_node(name).capacity(cpu="4", pods=10) for name in ("n1", "n2", "n3")]

both_ways = pytest.mark.parametrize("scalar", [True, False], ids=["plain", "columns"])


def preemptor(cpu: str = "2") -> PodBuilder:
    return make_pod("preemptor").req(cpu=cpu).priority(100)


def running(name: str, node: str, cpu: str, priority: int = 0) -> PodBuilder:
    return make_pod(name).req(cpu=cpu).priority(priority).node(node).started("2030-01-01T00:00:00Z")


@both_ways
def test_each_node_says_why(scalar: bool) -> None:
    pods = [
        running("important", "n1", "4", 100),
        running("important-too", "n2", "3", 100),
        running("little", "n2", "1"),
    ]
    nodes = [*NODES[:2], make_node("n3").capacity(cpu="1", pods=10)]
    message = PreemptionCluster(nodes, pods, scalar=scalar).schedule(preemptor()).message
    assert message.endswith(
        "preemption: 0/3 nodes are available: 1 Insufficient cpu, 1 No preemption victims found for incoming pod, "
        "1 Preemption is not helpful for scheduling."
    )


@both_ways
def test_a_node_that_is_too_small_is_distinguished_from_one_that_is_too_full(scalar: bool) -> None:
    nodes = [make_node("small").capacity(cpu="1", pods=10), make_node("full").capacity(cpu="4", pods=10)]
    pods = [
        make_pod("on-small").host_port(80).node("small"),
        make_pod("on-full").host_port(80).node("full"),
        running("important", "full", "4", 100),
    ]
    statuses = PreemptionCluster(nodes, pods, scalar=scalar).report(preemptor().host_port(80)).statuses
    codes = {name: status.code for status, names in statuses.groups.items() for name in names}
    assert codes == {"small": Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "full": Code.UNSCHEDULABLE}


@both_ways
def test_where_no_rejection_can_be_resolved_nothing_is_tried(scalar: bool) -> None:
    message = PreemptionCluster(NODES, scalar=scalar).schedule(preemptor("5")).message
    assert message.endswith("preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.")


@both_ways
def test_a_pod_that_may_not_preempt_says_so(scalar: bool) -> None:
    cluster = PreemptionCluster(NODES[:1], [running("a", "n1", "4")], scalar=scalar)
    decision = cluster.schedule(preemptor().preemption_policy("Never"))
    assert decision.message.endswith("preemption: not eligible due to preemptionPolicy=Never.")
    assert decision.nomination is None


@both_ways
def test_a_success_names_node_and_victims(scalar: bool) -> None:
    cluster = PreemptionCluster(NODES[:1], [running("a", "n1", "4")], scalar=scalar)
    decision = cluster.schedule(preemptor())
    found = "preemption: found a potential placement for pod on node n1, preempting 1 victims"
    assert decision.message == f"0/1 nodes are available: 1 Insufficient cpu. {found}"
    assert decision.nomination is not None
    assert decision.nomination.node == "n1"


@both_ways
def test_a_pod_that_cannot_be_helped_loses_its_nomination(scalar: bool) -> None:
    decision = PreemptionCluster(NODES, scalar=scalar).schedule(preemptor("5").nominated("n1"))
    assert decision.nomination is not None
    assert decision.nomination.node == ""


def test_a_pod_that_is_gone_meanwhile_is_an_error() -> None:
    cluster = PreemptionCluster(NODES[:1], [running("a", "n1", "4")])
    info = cluster.pending(preemptor())
    cluster.setting.scheduler.pods.clear()
    decision = cluster.setting.decide(info)
    assert isinstance(decision, Unschedulable)
    assert decision.post_filter is not None
    assert decision.post_filter.status.code is Code.ERROR
    assert decision.message.endswith('preemption: pod "preemptor" not found')
