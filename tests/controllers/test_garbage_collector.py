# SPDX-License-Identifier: Apache-2.0
"""What goes with its owner, and which owners wait."""

from __future__ import annotations

import pytest
from tests.controllers.batch_cluster import TestCluster, owner_reference
from tests.embedded.stores import bare_pod, raw, with_meta

from steersman import api
from steersman.cluster.controllers.garbage_collector import GarbageCollector
from steersman.cluster.store import delete
from steersman.cluster.store.deletion import Propagation
from steersman.testing import make_pod, make_replica_set

Widget = api.custom_kind("example.com/v1", "Widget", "widgets")
Fleet = api.custom_kind("example.com/v1", "Fleet", "fleets", namespaced=False)


def _cluster(*, retains_pods: bool = False) -> TestCluster:
    cluster = TestCluster()
    GarbageCollector(cluster.cluster._replace(retains_pods=retains_pods))
    return cluster


def _set_with_pods(cluster: TestCluster, *pods: str, blocks: bool = True) -> api.ReplicaSet:
    owner = cluster.create(raw(make_replica_set("web")))
    for name in pods:
        cluster.create(with_meta(bare_pod(name), owner_references=(owner_reference(owner, blocks=blocks),)))
    cluster.run()
    return owner


def test_dependents_go_after_their_owner() -> None:
    cluster = _cluster()
    _set_with_pods(cluster, "web-0", "web-1")
    cluster.create(bare_pod("other"))
    delete(cluster.store, api.ReplicaSet, "default/web", propagation="Background")
    cluster.run()
    assert cluster.names(api.Pod) == ["other"]


def test_dependents_of_dependents_go_too() -> None:
    cluster = _cluster()
    deployment = cluster.create(api.Deployment(metadata=api.ObjectMeta(name="web")))
    replicas = cluster.create(
        with_meta(raw(make_replica_set("web")), owner_references=(owner_reference(deployment),)),
    )
    cluster.create(with_meta(bare_pod(), owner_references=(owner_reference(replicas),)))
    delete(cluster.store, api.Deployment, "default/web")
    cluster.run()
    assert (cluster.names(api.ReplicaSet), cluster.names(api.Pod)) == ([], [])


def test_running_pods_get_their_grace_period() -> None:
    cluster = _cluster()
    owner = _set_with_pods(cluster)
    pod = with_meta(raw(make_pod("web-0").node("n1")), owner_references=(owner_reference(owner),))
    cluster.create(pod)
    delete(cluster.store, api.ReplicaSet, "default/web")
    cluster.run()
    assert cluster.store.get(api.Pod, "default/web-0").metadata.deletion_grace_period_seconds == 30


def test_orphans_stay_and_forget_their_owner() -> None:
    cluster = _cluster()
    _set_with_pods(cluster, "web-0")
    delete(cluster.store, api.ReplicaSet, "default/web", propagation="Orphan")
    cluster.run()
    assert cluster.names(api.ReplicaSet) == []
    assert cluster.store.get(api.Pod, "default/web-0").metadata.owner_references == ()


def test_in_the_foreground_the_owner_goes_last() -> None:
    cluster = _cluster()
    owner = _set_with_pods(cluster)
    pod = raw(make_pod("web-0").node("n1"))
    cluster.create(with_meta(pod, owner_references=(owner_reference(owner),)))
    delete(cluster.store, api.ReplicaSet, "default/web", propagation="Foreground")
    cluster.run(10)
    assert cluster.names(api.ReplicaSet) == ["web"]
    assert cluster.store.get(api.Pod, "default/web-0").metadata.deletion_timestamp is not None
    cluster.store.delete(api.Pod, "default/web-0")  # as the kubelet does
    cluster.run(10)
    assert cluster.names(api.ReplicaSet) == []


def test_an_owner_waits_only_for_dependents_that_block() -> None:
    cluster = _cluster()
    owner = _set_with_pods(cluster)
    pod = raw(make_pod("web-0").node("n1"))
    cluster.create(with_meta(pod, owner_references=(owner_reference(owner, blocks=False),)))
    delete(cluster.store, api.ReplicaSet, "default/web", propagation="Foreground")
    cluster.run()
    assert cluster.names(api.ReplicaSet) == []
    assert cluster.store.get(api.Pod, "default/web-0").metadata.deletion_timestamp is not None


def test_dependents_with_dependents_are_deleted_in_the_foreground_too() -> None:
    cluster = _cluster()
    deployment = cluster.create(api.Deployment(metadata=api.ObjectMeta(name="web")))
    replicas = cluster.create(
        with_meta(raw(make_replica_set("web")), owner_references=(owner_reference(deployment),)),
    )
    cluster.create(with_meta(raw(make_pod("web-0").node("n1")), owner_references=(owner_reference(replicas),)))
    delete(cluster.store, api.Deployment, "default/web", propagation="Foreground")
    cluster.run(1)
    assert cluster.store.get(api.ReplicaSet, "default/web").metadata.finalizers == ("foregroundDeletion",)
    cluster.store.delete(api.Pod, "default/web-0")
    cluster.run(1)
    assert (cluster.names(api.Deployment), cluster.names(api.ReplicaSet)) == ([], [])


def test_a_circle_of_owners_is_deleted_in_the_foreground() -> None:
    cluster = _cluster()
    first = cluster.create(Widget(metadata=api.ObjectMeta(name="first")))
    second = cluster.create(Widget(metadata=api.ObjectMeta(name="second", owner_references=(owner_reference(first),))))
    cluster.store.update(with_meta(first, owner_references=(owner_reference(second),)))
    delete(cluster.store, Widget, "default/first", propagation="Foreground")
    cluster.run()
    assert cluster.names(Widget) == []


def test_one_of_several_owners_is_enough() -> None:
    cluster = _cluster()
    going = _set_with_pods(cluster)
    staying = cluster.create(raw(make_replica_set("other")))
    references = (owner_reference(going), owner_reference(staying, controls=None))
    cluster.create(with_meta(bare_pod("web-0"), owner_references=references))
    delete(cluster.store, api.ReplicaSet, "default/web")
    cluster.run()
    left = cluster.store.get(api.Pod, "default/web-0").metadata.owner_references
    assert [reference.name for reference in left] == ["other"]


def test_what_refers_to_an_owner_that_never_was_goes() -> None:
    cluster = _cluster()
    stray = api.OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="web", uid="unknown")
    cluster.create(with_meta(bare_pod(), owner_references=(stray,)))
    cluster.run()
    assert cluster.names(api.Pod) == []


def test_strays_of_a_partial_dump_stay() -> None:
    cluster = _cluster(retains_pods=True)
    stray = api.OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="web", uid="unknown")
    cluster.create(with_meta(bare_pod(), owner_references=(stray,)))
    _set_with_pods(cluster, "web-0")
    delete(cluster.store, api.ReplicaSet, "default/web")
    cluster.run()
    assert cluster.names(api.Pod) == ["web"]


def test_what_is_created_for_an_owner_that_has_gone_goes() -> None:
    cluster = _cluster(retains_pods=True)
    owner = _set_with_pods(cluster)
    delete(cluster.store, api.ReplicaSet, "default/web")
    cluster.create(with_meta(bare_pod("late"), owner_references=(owner_reference(owner),)))
    cluster.run()
    assert cluster.names(api.Pod) == []


def test_an_owner_in_another_namespace_does_not_count() -> None:
    cluster = _cluster()
    owner = cluster.create(with_meta(raw(make_replica_set("web")), namespace="team"))
    cluster.create(with_meta(bare_pod(), owner_references=(owner_reference(owner),)))
    cluster.run()
    assert cluster.names(api.Pod) == []
    assert cluster.reasons == ["OwnerRefInvalidNamespace"]


def test_owners_without_a_namespace_may_own_anything() -> None:
    cluster = _cluster()
    fleet = cluster.create(Fleet(metadata=api.ObjectMeta(name="fleet")))
    cluster.create(Widget(metadata=api.ObjectMeta(name="one", owner_references=(owner_reference(fleet),))))
    cluster.run()
    assert cluster.names(Widget) == ["one"]
    delete(cluster.store, Fleet, "fleet")
    cluster.run()
    assert cluster.names(Widget) == []


@pytest.mark.parametrize("propagation", ["Background", "Foreground", "Orphan"])
def test_owners_without_dependents_go(propagation: Propagation) -> None:
    cluster = _cluster()
    _set_with_pods(cluster)
    delete(cluster.store, api.ReplicaSet, "default/web", propagation=propagation)
    cluster.run()
    assert cluster.names(api.ReplicaSet) == []
