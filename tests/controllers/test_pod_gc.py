# SPDX-License-Identifier: Apache-2.0
"""Pods that no kubelet will ever remove."""

from __future__ import annotations

from tests.controllers.batch_cluster import TestCluster, owner_reference
from tests.embedded.stores import START_TEXT, raw, with_meta

from steersman import api
from steersman.cluster.controllers.pod_gc import PodGarbageCollector
from steersman.cluster.store import DELETED, EventType, delete
from steersman.testing import make_node, make_pod, make_replica_set


def _cluster(threshold: int = 0) -> TestCluster:
    cluster = TestCluster()
    PodGarbageCollector(cluster.cluster, threshold=threshold)
    return cluster


def test_pods_of_a_deleted_node_fail_and_go_after_forty_seconds() -> None:
    cluster = _cluster()
    cluster.create(raw(make_node("n1")))
    cluster.create(raw(make_pod("web").node("n1").phase("Running")))
    last = list[api.Object | None]()

    def note(what: EventType, old: api.Object | None, _: api.Object | None) -> None:
        if what is DELETED:
            last.append(old)

    cluster.store.subscribe(note, (api.Pod,))
    cluster.store.delete(api.Node, "n1")
    cluster.run(39)
    assert cluster.names(api.Pod) == ["web"]
    cluster.run(40)
    assert cluster.names(api.Pod) == []
    (pod,) = last
    assert isinstance(pod, api.Pod)
    assert pod.status.phase == "Failed"
    assert [c.reason for c in pod.status.conditions if c.type == "DisruptionTarget"] == ["DeletionByPodGC"]


def test_a_node_that_comes_back_keeps_its_pods() -> None:
    cluster = _cluster()
    cluster.create(raw(make_node("n1")))
    cluster.create(raw(make_pod("web").node("n1").phase("Running")))
    cluster.store.delete(api.Node, "n1")
    cluster.run(20)
    cluster.create(raw(make_node("n1")))
    cluster.run(100)
    assert cluster.names(api.Pod) == ["web"]


def test_pods_on_a_node_that_never_was_go_too() -> None:
    cluster = _cluster()
    cluster.create(raw(make_pod("web").node("n1").phase("Running")))
    cluster.run(40)
    assert cluster.names(api.Pod) == []


def test_a_terminating_pod_that_runs_nowhere_goes() -> None:
    cluster = _cluster()
    cluster.create(with_meta(raw(make_pod("web")), deletion_timestamp=START_TEXT))
    cluster.run()
    assert cluster.names(api.Pod) == []


def test_terminating_pods_on_a_node_that_is_out_of_service_go() -> None:
    cluster = _cluster()
    cluster.create(raw(make_node("n1").taint("node.kubernetes.io/out-of-service", "NoExecute")))
    cluster.create(raw(make_pod("staying").node("n1").phase("Running")))
    cluster.create(raw(make_pod("going").node("n1").phase("Running")))
    delete(cluster.store, api.Pod, "default/going")
    cluster.run()
    assert cluster.names(api.Pod) == ["staying"]


def test_the_oldest_finished_pods_go_when_there_are_too_many() -> None:
    cluster = _cluster(threshold=2)
    for name, year in (("young", 2029), ("old", 2027), ("middle", 2028)):
        pod = raw(make_pod(name).node("n1").phase("Succeeded"))
        cluster.create(with_meta(pod, creation_timestamp=f"{year}-01-01T00:00:00Z"))
    cluster.run()
    assert cluster.names(api.Pod) == ["young", "middle"]


def test_a_cluster_that_retains_pods_loses_only_pods_that_are_replaced() -> None:
    cluster = TestCluster()
    PodGarbageCollector(cluster.cluster._replace(retains_pods=True), threshold=1)
    owner = cluster.create(raw(make_replica_set("web")))
    replaced = raw(make_pod("replaced").node("gone").phase("Running"))
    cluster.create(with_meta(replaced, owner_references=(owner_reference(owner),)))
    cluster.create(raw(make_pod("plain").node("gone").phase("Running")))
    cluster.create(with_meta(raw(make_pod("deleted")), deletion_timestamp=START_TEXT))
    for name in ("done", "also"):
        cluster.create(raw(make_pod(name).node("gone").phase("Succeeded")))
    cluster.run(100)
    assert cluster.names(api.Pod) == ["plain", "deleted", "done", "also"]
