# SPDX-License-Identifier: Apache-2.0
"""A pod whose Permit plugins ask to wait is bound when all of them allow it, and not otherwise."""

from __future__ import annotations

from tests.binding.cluster import Cluster, ClusterPlugin

from steersman.framework import Code, PermitPlugin, PermitResult, Status
from steersman.framework.pod_info import PodInfo
from steersman.framework.ports import REASON_ERROR, REASON_UNSCHEDULABLE


class Patient(ClusterPlugin, PermitPlugin):
    """Waits for the test."""

    name = "Patient"
    seconds = 90.0

    def permit(self, pod: PodInfo, node_name: str) -> PermitResult:
        return PermitResult(Status(Code.WAIT), self.seconds)


class Hasty(Patient):
    name = "Hasty"
    seconds = 0.5


def waiting_cluster(*plugins: type) -> Cluster:
    cluster = Cluster(step_seconds=0.0, plugins=plugins)
    cluster.create_pod("a")
    cluster.decide()
    return cluster


def test_it_is_listed_with_the_plugins_that_it_waits_for() -> None:
    cluster = waiting_cluster(Patient, Hasty)
    (waiting,) = cluster.scheduler.waiting_pods
    assert waiting.pod.name == "a"
    assert waiting.pending == {"Patient": 90.0, "Hasty": 0.5}


def test_the_next_cycle_does_not_wait_for_it() -> None:
    cluster = waiting_cluster(Patient)
    cluster.create_pod("b")
    cluster.decide()
    assert len(cluster.scheduler.waiting_pods) == 2


def test_allowed_by_every_plugin_it_is_bound() -> None:
    cluster = waiting_cluster(Patient, Hasty)
    (waiting,) = cluster.scheduler.waiting_pods
    waiting.allow("Hasty")
    cluster.advance(5)
    assert cluster.node_of("a") == ""
    waiting.allow("Patient")
    cluster.advance(5)
    assert cluster.node_of("a") == waiting.node_name
    assert cluster.writer.failures == []


def test_the_first_plugin_whose_time_is_over_rejects_it() -> None:
    cluster = waiting_cluster(Patient, Hasty)
    cluster.advance(2)
    failure = cluster.writer.failures[0]
    assert failure.reason == REASON_UNSCHEDULABLE
    timeout = "rejected due to timeout after waiting 500ms at plugin Hasty"
    assert failure.message == f"0/1 nodes are available: 1 {timeout}."


def test_the_time_of_a_plugin_that_allowed_it_no_longer_counts() -> None:
    cluster = waiting_cluster(Patient, Hasty)
    (waiting,) = cluster.scheduler.waiting_pods
    waiting.allow("Hasty")
    cluster.advance(89)
    assert cluster.writer.failures == []
    cluster.advance(2)
    timeout = "rejected due to timeout after waiting 1m30s at plugin Patient"
    assert cluster.writer.failures[0].message == f"0/1 nodes are available: 1 {timeout}."


def test_a_rejection_names_its_reason_and_waits_for_an_event_of_the_plugin() -> None:
    cluster = waiting_cluster(Patient)
    assert cluster.scheduler.waiting_pods.reject(next(iter(cluster.scheduler.waiting_pods)).pod.uid, "Patient", "no")
    cluster.decide()
    assert cluster.writer.failures[0].message == "0/1 nodes are available: 1 no."
    queued = cluster.scheduler.queue.get("default/a")
    assert queued is not None
    assert queued.unschedulable_plugins == {"Patient"}


def test_a_preempted_wait_is_an_error_and_tried_again() -> None:
    cluster = waiting_cluster(Patient)
    (waiting,) = cluster.scheduler.waiting_pods
    waiting.preempt("DefaultPreemption", "preempted")
    cluster.decide()
    failure = cluster.writer.failures[0]
    assert (failure.reason, failure.message) == (REASON_ERROR, "waiting on permit for pod: preempted")
    assert cluster.scheduler.cache.pod_count == 0
    cluster.advance(5)
    assert len(cluster.scheduler.waiting_pods) == 1


def test_a_deleted_pod_stops_waiting() -> None:
    cluster = waiting_cluster(Patient)
    pod = cluster.pod("a")
    assert pod is not None
    cluster.store.delete(type(pod), "default/a")
    cluster.decide()
    assert len(cluster.scheduler.waiting_pods) == 0
    assert cluster.scheduler.cache.pod_count == 0
    assert cluster.writer.failures[0].message == "0/1 nodes are available: 1 removed."


def test_the_room_of_a_rejected_pod_is_announced_to_others() -> None:
    cluster = Cluster(step_seconds=0.0, plugins=[Patient])
    for name in ("a", "b"):
        cluster.create_pod(name, cpu="8")
    cluster.create_pod("c", cpu="8")
    cluster.decide()
    assert cluster.scheduler.queue.get("default/c") is not None
    waiting = next(iter(cluster.scheduler.waiting_pods))
    waiting.reject("Patient", "no")
    cluster.advance(20)
    assert "c" in {waiting.pod.name for waiting in cluster.scheduler.waiting_pods}
