# SPDX-License-Identifier: Apache-2.0
"""Sizes and counts that are read off the scheduler when somebody scrapes."""

from __future__ import annotations

from tests.kube.observe.measured_cluster import MeasuredCluster

from steersman import api
from steersman.kube.observe import TimedIngest
from steersman.testing import make_node, make_pod
from steersman.testing.pods import PodBuilder

PROFILE = "default-scheduler"


def test_pending_pods_are_counted_by_sub_queue(cluster: MeasuredCluster) -> None:
    cluster.add_pod("big", cpu="9")
    cluster.store.create(make_pod("held").gate("wait").obj())
    cluster.run()
    cluster.add_pod("new")
    sizes = {
        queue: cluster.value("pending_pods", queue=queue) for queue in ("active", "backoff", "unschedulable", "gated")
    }
    assert sizes == {"active": 1, "backoff": 0, "unschedulable": 1, "gated": 1}


def test_a_standby_shows_no_waiting_pods_so_that_sums_are_those_of_the_leader(cluster: MeasuredCluster) -> None:
    cluster.is_leading = False
    cluster.add_pod("new")
    cluster.store.create(make_pod("held").gate("wait").obj())
    shown = [cluster.value("pending_pods", queue=queue) for queue in ("active", "backoff", "unschedulable", "gated")]
    assert shown == [0, 0, 0, 0]
    assert "steersman_pending_pods{" not in cluster.text()
    assert cluster.value("queue_incoming_pods_total", queue="active", event="UnscheduledPodAdd") is None
    cluster.is_leading = True
    assert cluster.value("pending_pods", queue="active") == 1
    cluster.add_pod("later")
    assert cluster.value("queue_incoming_pods_total", queue="active", event="UnscheduledPodAdd") == 1


def test_incoming_pods_are_counted_by_event_and_only_once(cluster: MeasuredCluster) -> None:
    cluster.add_pod("web")
    for _ in range(3):
        incoming = cluster.value("queue_incoming_pods_total", queue="active", event="UnscheduledPodAdd")
    assert incoming == 1


def test_the_plugin_that_stands_in_the_way_is_named_as_long_as_it_does(cluster: MeasuredCluster) -> None:
    cluster.add_pod("big", cpu="9")
    cluster.run()
    assert cluster.value("unschedulable_pods", plugin="NodeResourcesFit", profile=PROFILE) == 1
    cluster.store.delete(api.Pod, "default/big")
    assert cluster.value("unschedulable_pods", plugin="NodeResourcesFit", profile=PROFILE) == 0


def test_the_cache_has_a_size(cluster: MeasuredCluster) -> None:
    cluster.add_pod("web")
    cluster.run()
    sizes = [cluster.value("cache_size", type=kind) for kind in ("nodes", "pods", "assumed_pods")]
    assert sizes == [1, 1, 0]


def test_what_is_kept_for_users_words_is_counted_by_table(cluster: MeasuredCluster) -> None:
    cluster.store.create(make_pod("apart").anti_affinity("zone", {"app": "web"}).req(cpu="1").obj())
    cluster.run()
    lines = cluster.text().splitlines()
    for line in ("affinity_terms 1.0", "signatures 1.0", "label_keys 1.0"):
        table, number = line.split()
        assert f'steersman_kept_entries{{table="{table}"}} {number}' in lines


def test_preemption_counts_attempts_and_victims(cluster: MeasuredCluster) -> None:
    for number in range(2):
        cluster.add_pod(f"low-{number}", cpu="2")
    cluster.run()
    cluster.add_pod("high", cpu="4", priority=10)
    cluster.run()
    assert cluster.value("preemption_attempts_total") == 1
    assert cluster.value("preemption_victims_sum") == 2


def preempted_victims(cluster: MeasuredCluster, *victims: PodBuilder) -> float | None:
    """How many are counted when these make room on the only node."""
    for victim in victims:
        cluster.scheduler.ingest.changed(victim.req(cpu="2").node("n1").obj())
    cluster.add_pod("high", cpu="4", priority=10)
    cluster.run()
    assert cluster.value("preemption_attempts_total") == 1
    return cluster.value("preemption_victims_sum")


def test_a_preemption_whose_victims_all_terminate_already_counts_none(cluster: MeasuredCluster) -> None:
    assert preempted_victims(cluster, make_pod("a").terminating(), make_pod("b").terminating()) == 0


def test_a_preemption_with_one_victim_that_does_not_terminate_yet_counts_all(cluster: MeasuredCluster) -> None:
    assert preempted_victims(cluster, make_pod("a").terminating(), make_pod("b")) == 2


def test_a_failed_preemption_attempt_counts_as_well(cluster: MeasuredCluster) -> None:
    cluster.add_pod("high", cpu="9", priority=10)
    cluster.run()
    assert cluster.value("preemption_attempts_total") == 1
    assert cluster.value("preemption_victims_count") == 0


def test_taking_in_events_is_timed_by_kind_and_action(cluster: MeasuredCluster) -> None:
    ingest = TimedIngest(cluster.scheduler, cluster.metrics)
    node = make_node("n2").capacity(cpu="1").obj()
    placed = make_pod("placed").node("n2").obj()
    labelled = make_node("n2").capacity(cpu="1").label("disk", "ssd").obj()
    for obj in (node, labelled, placed, make_pod("pending").obj()):
        ingest.changed(obj)
    ingest.deleted(placed)
    seconds = "event_handling_duration_seconds_count"
    events = ("NodeAdd", "NodeUpdateNodeLabel", "AssignedPodAdd", "AssignedPodDelete", "UnscheduledPodAdd")
    assert [cluster.value(seconds, event=event) for event in events] == [1, 1, 1, 1, 1]
