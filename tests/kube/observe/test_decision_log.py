# SPDX-License-Identifier: Apache-2.0
"""The last decisions, and explanations made when somebody asks."""

from __future__ import annotations

from tests.kube.observe.measured_cluster import START, MeasuredCluster

from steersman.kube.observe import DecisionLog
from steersman.scheduler.diagnosis import Outcome
from steersman.testing import make_node, make_pod


def recorded(cluster: MeasuredCluster, capacity: int = 10) -> DecisionLog:
    log = DecisionLog(cluster.scheduler, capacity)
    for decision in cluster.run():
        log.carried_out(decision)
    return log


def test_a_placement_is_recorded_with_what_it_was_chosen_from(cluster: MeasuredCluster) -> None:
    cluster.add_pod("web")
    (record,) = recorded(cluster).decisions_on("default/web")
    assert (record.outcome, record.node, record.feasible_nodes, record.at) == (Outcome.SCHEDULED, "n1", 1, START)


def test_a_rejection_is_recorded_with_its_message_and_the_plugins(cluster: MeasuredCluster) -> None:
    cluster.add_pod("big", cpu="9")
    (record,) = recorded(cluster).decisions_on("default/big")
    assert record.outcome is Outcome.UNSCHEDULABLE
    assert record.message.startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert record.to_dict()["rejectedBy"] == ["NodeResourcesFit"]


def test_old_decisions_make_room_for_new_ones(cluster: MeasuredCluster) -> None:
    for number in range(4):
        cluster.add_pod(f"web-{number}")
    log = recorded(cluster, capacity=2)
    assert [record.pod for record in log.recent(10)] == ["default/web-3", "default/web-2"]
    assert len(log) == 2
    assert log.decisions_on("default/web-0") == []


def test_a_pending_pod_is_explained_as_things_are_now(cluster: MeasuredCluster) -> None:
    cluster.add_pod("big", cpu="9")
    log = recorded(cluster)
    before = log.explain("default/big")
    assert before is not None
    verdict = before.node_explanation("n1").verdicts[0]
    assert (verdict.plugin, verdict.reasons) == ("NodeResourcesFit", ("Insufficient cpu",))
    cluster.store.create(make_node("n2").capacity(cpu="16", memory="8Gi", pods=5).obj())
    after = log.explain("default/big")
    assert after is not None
    assert after.node_explanation("n2").fits


def test_a_pending_pod_that_fits_nowhere_is_called_unschedulable(cluster: MeasuredCluster) -> None:
    cluster.add_pod("big", cpu="9")
    explanation = recorded(cluster).explain("default/big")
    assert explanation is not None
    assert explanation.outcome is Outcome.UNSCHEDULABLE
    assert "unschedulable: 0/1 nodes are available: 1 Insufficient cpu." in explanation.table()


def test_a_pending_pod_that_fits_by_now_is_shown_with_the_node_where_it_would_go(cluster: MeasuredCluster) -> None:
    cluster.add_pod("big", cpu="9")
    log = recorded(cluster)
    cluster.store.create(make_node("n2").capacity(cpu="16", memory="8Gi", pods=5).obj())
    explanation = log.explain("default/big")
    assert explanation is not None
    assert "would go to n2, the only node that fits" in explanation.table()


def test_a_pod_with_a_scheduling_gate_is_said_to_be_held_back(cluster: MeasuredCluster) -> None:
    cluster.store.create(make_pod("gated").gate("wait").obj())
    explanation = recorded(cluster).explain("default/gated")
    assert explanation is not None
    assert explanation.outcome is Outcome.NOT_TRIED
    assert "held back by SchedulingGates: " in explanation.message


def test_a_placed_pod_is_explained_without_itself(cluster: MeasuredCluster) -> None:
    cluster.add_pod("web", cpu="4")
    explanation = recorded(cluster).explain("default/web")
    assert explanation is not None
    assert explanation.node == "n1"
    assert explanation.node_explanation("n1").fits


def test_nothing_is_said_of_unknown_pods(cluster: MeasuredCluster) -> None:
    assert recorded(cluster).explain("default/nobody") is None
