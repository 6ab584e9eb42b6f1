# SPDX-License-Identifier: Apache-2.0
"""PreBind writes what was reserved, then waits until the controllers have bound the claims."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.plugins.volume_binding.cluster import Cycle, Refused, VolumeCluster

from steersman import api
from steersman.api.persistent_volumes import NO_PROVISIONER, SELECTED_NODE
from steersman.framework.status import Code
from steersman.testing import is_in, make_claim, make_node, make_pod, make_storage_class, make_volume

NODE = make_node("a").label("host", "a")
LOCAL = make_storage_class("local").waits().provisioner(NO_PROVISIONER)
FAST = make_storage_class("fast").waits().provisioner("disk.example.com")
CLAIM = make_claim("data").storage_class("local").asks("1Gi").resource_version(1)
DISK = make_volume("disk").storage_class("local").offers("1Gi").resource_version(1)
LAZY = make_claim("lazy").storage_class("fast").asks("1Gi").resource_version(1)

World = tuple[VolumeCluster, Cycle]


def static(timeout: int = 600) -> World:
    return _reserved(VolumeCluster(CLAIM, DISK, LOCAL, nodes=[NODE], timeout=timeout), "data")


def dynamic(timeout: int = 600) -> World:
    return _reserved(VolumeCluster(LAZY, FAST, nodes=[NODE], timeout=timeout), "lazy")


def _reserved(cluster: VolumeCluster, claim: str) -> World:
    cycle = Cycle(cluster, make_pod("web").pvc(claim))
    cycle.filter("a")
    assert cycle.reserve("a") is None
    return cluster, cycle


def after(cluster: VolumeCluster, seconds: float, *objects: api.Object) -> None:
    """The watch shows the objects when somebody has slept so long."""
    _when(cluster, seconds, lambda: [cluster.store.put(obj) for obj in objects])


def _when(cluster: VolumeCluster, seconds: float, happens: Callable[[], object]) -> None:
    def on_second(slept: float) -> None:
        if slept == seconds:
            happens()

    cluster.handle.on_second = on_second


def failure(world: World, expected: str) -> None:
    status = world[1].bind("a")
    assert status is not None
    assert status.code is Code.ERROR
    assert status.message == expected


BOUND = CLAIM.bound("disk").resource_version(2).obj()


def test_the_volume_is_written_and_the_claim_waited_for() -> None:
    cluster, cycle = static()
    after(cluster, 3, BOUND)
    assert cycle.pre_flight("a") is None
    assert cycle.bind("a") is None
    assert cluster.handle.written == ["disk"]
    assert cluster.handle.slept == 3


def test_the_first_look_is_after_a_second() -> None:
    cluster, cycle = static()
    cluster.store.put(BOUND)
    assert cycle.bind("a") is None
    assert cluster.handle.slept == 1


def test_the_claim_to_be_provisioned_is_written_with_its_node() -> None:
    cluster, cycle = dynamic()
    made = make_volume("pvc-1").claimed(LAZY).obj()
    after(cluster, 2, LAZY.selected_node("a").bound("pvc-1").resource_version(3).obj(), made)
    assert cycle.bind("a") is None
    assert cluster.handle.written == ["lazy"]
    assert cluster.claim("lazy").metadata.annotations[SELECTED_NODE] == "a"


def test_a_volume_that_the_watch_does_not_show_yet_is_waited_for() -> None:
    cluster, cycle = dynamic()
    after(cluster, 2, LAZY.selected_node("a").bound("pvc-1").resource_version(3).obj())
    made = make_volume("pvc-1").claimed(LAZY).obj()
    first = cluster.handle.on_second

    def then(slept: float) -> None:
        first(slept)
        if slept == 5:
            cluster.store.put(made)

    cluster.handle.on_second = then
    assert cycle.bind("a") is None
    assert cluster.handle.slept == 5


def test_time_runs_out() -> None:
    cluster, cycle = static(timeout=5)
    failure((cluster, cycle), "binding volumes: context deadline exceeded")
    assert cluster.handle.slept == 5


def test_what_was_written_stays_taken_after_a_failure() -> None:
    cluster, cycle = static(timeout=1)
    cycle.bind("a")
    cycle.unreserve("a")
    reference = cluster.volume("disk").spec.claim_ref
    assert reference is not None
    assert reference.name == "data"


def test_a_refused_write_fails_and_the_volume_is_free_again() -> None:
    cluster, cycle = static()
    cluster.handle.refused.add("disk")
    with pytest.raises(Refused):
        cycle.bind("a")
    cycle.unreserve("a")
    other = make_claim("other").storage_class("local").asks("1Gi")
    cluster.store.put(other.obj())
    assert cluster.filter(make_pod("later").pvc("other"), "a") is None


def test_the_pod_may_be_deleted_meanwhile() -> None:
    cluster, cycle = static()
    _when(cluster, 2, lambda: cluster.handle.pods.pods.clear())
    failure((cluster, cycle), 'binding volumes: pod does not exist any more: pod "web" not found')


def test_the_node_may_go_meanwhile() -> None:
    cluster, cycle = static()
    _when(cluster, 2, lambda: cluster.remove_node("a"))
    failure((cluster, cycle), 'binding volumes: failed to get node "a": node "a" not found')


def test_the_claim_or_the_volume_may_go_meanwhile() -> None:
    cluster, cycle = static()
    _when(cluster, 1, lambda: cluster.store.remove(CLAIM.obj()))
    failure(
        (cluster, cycle), 'binding volumes: failed to check binding: persistentvolumeclaims "default/data" not found'
    )
    cluster, cycle = static()
    _when(cluster, 1, lambda: cluster.store.remove(DISK.obj()))
    failure((cluster, cycle), 'binding volumes: failed to check binding: persistentvolumes "disk" not found')


def test_the_binding_may_be_undone_by_another_client() -> None:
    cluster, cycle = static()
    after(cluster, 1, DISK.resource_version(3).obj())
    failure((cluster, cycle), 'binding volumes: ClaimRef got reset for pv "disk"')


def test_older_versions_are_no_news() -> None:
    cluster, cycle = static(timeout=2)
    after(cluster, 1, DISK.resource_version(1).obj())
    failure((cluster, cycle), "binding volumes: context deadline exceeded")


def test_the_volume_may_turn_out_to_be_elsewhere() -> None:
    cluster, cycle = static()
    after(cluster, 1, DISK.claimed(CLAIM).on(is_in("host", "b")).resource_version(3).obj())
    text = 'pv "disk" node affinity doesn\'t match node "a": no matching NodeSelectorTerms'
    failure((cluster, cycle), f"binding volumes: {text}")


def test_the_provisioner_may_give_up() -> None:
    cluster, cycle = dynamic()
    after(cluster, 1, LAZY.annotation("other", "x").resource_version(3).obj())
    failure((cluster, cycle), 'binding volumes: provisioning failed for PVC "lazy"')
    cluster, cycle = dynamic()
    after(cluster, 1, LAZY.resource_version(3).obj())
    failure((cluster, cycle), 'binding volumes: selectedNode annotation reset for PVC "lazy"')


def test_the_claim_to_be_provisioned_may_go() -> None:
    cluster, cycle = dynamic()
    _when(cluster, 1, lambda: cluster.store.remove(LAZY.obj()))
    text = 'failed to check provisioning pvc: persistentvolumeclaims "default/lazy" not found'
    failure((cluster, cycle), f"binding volumes: {text}")


def test_the_provisioned_volume_may_turn_out_to_be_elsewhere() -> None:
    cluster, cycle = dynamic()
    made = make_volume("pvc-1").claimed(LAZY).on(is_in("host", "b")).obj()
    after(cluster, 1, LAZY.selected_node("a").bound("pvc-1").resource_version(3).obj(), made)
    text = 'pv "pvc-1" node affinity doesn\'t match node "a": no matching NodeSelectorTerms'
    failure((cluster, cycle), f"binding volumes: {text}")
