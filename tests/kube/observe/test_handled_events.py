# SPDX-License-Identifier: Apache-2.0
"""Changes of objects are labelled as kube-scheduler labels the handling of its events."""

from __future__ import annotations

import msgspec
from tests.kube.observe.measured_cluster import MeasuredCluster

from steersman import api
from steersman.kube.observe import HandledEvents
from steersman.testing import make_claim, make_namespace, make_node, make_pod


def handled(cluster: MeasuredCluster, old: api.Object | None, new: api.Object | None) -> list[str]:
    handled = HandledEvents(cluster.scheduler)
    return list(handled.labels(handled.between(old, new), old, new))


def version(pod: api.Pod, number: int) -> api.Pod:
    metadata = msgspec.structs.replace(pod.metadata, uid="u", resource_version=str(number))
    return msgspec.structs.replace(pod, metadata=metadata)


def test_a_binding_adds_a_scheduled_pod_and_deletes_an_unscheduled_one(cluster: MeasuredCluster) -> None:
    pending, bound = version(make_pod("web").obj(), 1), version(make_pod("web").node("n1").obj(), 2)
    assert handled(cluster, pending, bound) == ["AssignedPodAdd", "UnscheduledPodDelete"]


def test_the_binding_of_another_schedulers_pod_deletes_nothing(cluster: MeasuredCluster) -> None:
    pending = version(make_pod("web").scheduler("other").obj(), 1)
    bound = version(make_pod("web").scheduler("other").node("n1").obj(), 2)
    assert handled(cluster, pending, bound) == ["AssignedPodAdd"]
    assert handled(cluster, None, pending) == []


def test_an_update_of_a_scheduled_pod_counts_as_such_and_as_what_it_changes(cluster: MeasuredCluster) -> None:
    plain, labelled = make_pod("web").node("n1"), make_pod("web").node("n1").label("app", "web")
    changed = handled(cluster, version(plain.obj(), 1), version(labelled.obj(), 2))
    assert changed == ["AssignedPodUpdate", "AssignedPodUpdatePodLabel"]
    assert handled(cluster, version(plain.obj(), 1), version(plain.obj(), 2)) == ["AssignedPodUpdate"] * 2


def test_an_update_of_a_pending_pod_counts_as_one_of_the_pod_itself_too(cluster: MeasuredCluster) -> None:
    plain = make_pod("web")
    assert handled(cluster, version(plain.obj(), 1), version(plain.obj(), 2)) == [
        "UnscheduledPodUpdate",
        "TargetPodUpdate",
    ]
    assert handled(cluster, version(plain.obj(), 1), version(plain.obj(), 1)) == []


def test_a_pod_that_ends_is_deleted(cluster: MeasuredCluster) -> None:
    running = version(make_pod("web").node("n1").obj(), 1)
    ended = msgspec.structs.replace(version(running, 2), status=api.PodStatus(phase="Succeeded"))
    assert handled(cluster, running, ended) == ["AssignedPodDelete"]


def test_a_node_that_changes_in_nothing_that_matters_is_no_event(cluster: MeasuredCluster) -> None:
    node = make_node("n2").capacity(cpu="1").obj()
    assert handled(cluster, node, node) == []


def test_kinds_that_no_plugin_waits_for_have_no_handler(cluster: MeasuredCluster) -> None:
    assert handled(cluster, None, make_namespace("team").obj()) == []
    assert handled(cluster, None, make_claim("data").obj()) == ["PersistentVolumeClaimAdd"]
