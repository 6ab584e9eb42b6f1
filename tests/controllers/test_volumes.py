# SPDX-License-Identifier: Apache-2.0
"""The controller of persistent volumes: what becomes of claims and volumes in the embedded cluster."""

from __future__ import annotations

import msgspec
from tests.embedded.stores import make_store
from tests.embedded.timers import FakeTimers

from steersman import api
from steersman.api.persistent_volumes import BIND_COMPLETED, NO_PROVISIONER, SELECTED_NODE, annotated, bound_to
from steersman.cluster.controllers.volumes import VolumeController
from steersman.cluster.store import Store
from steersman.testing import (
    ClaimBuilder,
    StorageClassBuilder,
    VolumeBuilder,
    make_claim,
    make_csi_node,
    make_node,
    make_storage_class,
    make_volume,
)

ZONE = "topology.kubernetes.io/zone"
FAST = make_storage_class("fast").provisioner("disk.example.com")
LAZY = make_storage_class("lazy").provisioner("disk.example.com").waits()
LOCAL = make_storage_class("local").provisioner(NO_PROVISIONER).waits()
NODE = make_node("n").label(ZONE, "a")


def cluster(*objects: VolumeBuilder | ClaimBuilder | StorageClassBuilder) -> Store:
    """With the controller at work."""
    return watched(*objects)[0]


def watched(
    *objects: VolumeBuilder | ClaimBuilder | StorageClassBuilder,
    provision_seconds: float = 0.0,
) -> tuple[Store, FakeTimers]:
    store = make_store()
    store.create(NODE.obj())
    for builder in objects:
        store.create(builder.obj())
    timers = FakeTimers(store)
    VolumeController(store, timers, provision_seconds=provision_seconds)
    return store, timers


def claim(store: Store, name: str = "data") -> api.PersistentVolumeClaim:
    return store.get(api.PersistentVolumeClaim, f"default/{name}")


def volume(store: Store, name: str) -> api.PersistentVolume:
    return store.get(api.PersistentVolume, name)


def is_bound(store: Store, claim_name: str, volume_name: str) -> bool:
    """Both halves say so."""
    ours, theirs = claim(store, claim_name), volume(store, volume_name)
    reference = theirs.spec.claim_ref
    return (
        ours.spec.volume_name == volume_name
        and BIND_COMPLETED in ours.metadata.annotations
        and ours.status.phase == theirs.status.phase == "Bound"
        and reference is not None
        and reference.uid == ours.metadata.uid
    )


def provisioned(store: Store, name: str = "data") -> api.PersistentVolume:
    """The volume that was made for the claim."""
    made = volume(store, f"pvc-{claim(store, name).metadata.uid}")
    assert is_bound(store, name, made.metadata.name)
    return made


# -- claims that do not wait ---------------------------------------------------------------------------------------------


def test_a_claim_is_bound_to_a_volume_that_fits() -> None:
    store = cluster(
        make_claim("data").asks("5Gi"), make_volume("large").offers("50Gi"), make_volume("fits").offers("5Gi")
    )
    assert is_bound(store, "data", "fits")
    assert volume(store, "large").status.phase == "Available"
    assert claim(store).status.capacity == {"storage": "5Gi"}


def test_it_does_not_matter_who_comes_first() -> None:
    store = cluster(make_claim("data").asks("5Gi"))
    assert claim(store).status.phase == "Pending"
    store.create(make_volume("disk").offers("5Gi").obj())
    assert is_bound(store, "data", "disk")


def test_a_volume_with_few_access_modes_is_preferred_to_a_small_one() -> None:
    many = make_volume("many").offers("5Gi").modes("ReadWriteOnce", "ReadOnlyMany")
    store = cluster(make_claim("data").asks("5Gi"), many, make_volume("one").offers("9Gi"))
    assert is_bound(store, "data", "one")


def test_without_a_volume_one_is_provisioned() -> None:
    store = cluster(FAST, make_claim("data").storage_class("fast").asks("5Gi"))
    made = provisioned(store)
    assert made.spec.capacity == {"storage": "5Gi"}
    assert made.spec.storage_class_name == "fast"
    assert made.spec.csi is not None
    assert made.spec.csi.driver == "disk.example.com"
    assert made.spec.node_affinity is None


def test_a_claim_waits_for_its_class() -> None:
    store = cluster(make_claim("data").storage_class("fast").asks("5Gi"))
    assert not claim(store).spec.volume_name
    store.create(FAST.obj())
    provisioned(store)


def test_a_claim_may_name_its_volume() -> None:
    store = cluster(make_claim("data").wants("disk").asks("5Gi"), make_volume("other").offers("5Gi"))
    assert claim(store).status.phase == "Pending"
    store.create(make_volume("disk").offers("5Gi").obj())
    assert is_bound(store, "data", "disk")


def test_a_volume_may_be_set_aside_for_a_claim() -> None:
    mine = make_volume("mine").offers("50Gi").claimed(make_claim("data"), uid="")
    store = cluster(mine, make_volume("small").offers("5Gi"))
    assert volume(store, "mine").status.phase == "Available"
    store.create(make_claim("data").asks("5Gi").obj())
    assert is_bound(store, "data", "mine")


def test_the_allowed_topologies_are_where_the_volume_can_be_used() -> None:
    store = cluster(FAST.allows(ZONE, "a", "b"), make_claim("data").storage_class("fast").asks("5Gi"))
    assert affinity(provisioned(store)) == [(ZONE, ("a", "b"))]


def test_provisioning_may_take_its_time() -> None:
    store, timers = watched(FAST, make_claim("data").storage_class("fast").asks("5Gi"), provision_seconds=10)
    timers.run_until(9)
    assert not claim(store).spec.volume_name
    timers.run_until(10)
    provisioned(store)
    assert len(timers) == 0


def test_a_claim_that_is_deleted_meanwhile_gets_no_volume() -> None:
    store, timers = watched(FAST, make_claim("data").storage_class("fast").asks("5Gi"), provision_seconds=10)
    store.delete(api.PersistentVolumeClaim, "default/data")
    timers.run_until(10)
    assert not store.objects(api.PersistentVolume)


# -- claims that wait for their consumer ---------------------------------------------------------------------------------


def select_node(store: Store, node: str = "n") -> None:
    store.update(annotated(claim(store), SELECTED_NODE, node))


def affinity(made: api.PersistentVolume) -> list[tuple[str, tuple[str, ...]]]:
    assert made.spec.node_affinity is not None
    assert made.spec.node_affinity.required is not None
    terms = made.spec.node_affinity.required.node_selector_terms
    return [(e.key, e.values) for term in terms for e in term.match_expressions]


def test_a_waiting_claim_is_left_to_the_scheduler() -> None:
    data = make_claim("data").storage_class("lazy").asks("5Gi")
    store = cluster(LAZY, data, make_volume("disk").storage_class("lazy").offers("5Gi"))
    assert not claim(store).spec.volume_name
    assert volume(store, "disk").status.phase == "Available"


def test_it_is_provisioned_near_the_selected_node() -> None:
    store = cluster(LAZY, make_claim("data").storage_class("lazy").asks("5Gi"))
    select_node(store)
    assert affinity(provisioned(store)) == [(ZONE, ("a",))]


def test_near_is_what_the_driver_says() -> None:
    keys = ("topology.disk.example.com/rack",)
    store = cluster(LAZY, make_claim("data").storage_class("lazy").asks("5Gi"))
    store.create(make_csi_node("n").driver("disk.example.com", topology_keys=keys).obj())
    store.update(make_node("n").label(ZONE, "a").label(keys[0], "r7").obj())
    select_node(store)
    assert affinity(provisioned(store)) == [(keys[0], ("r7",))]


def test_or_what_the_class_speaks_of() -> None:
    store = cluster(LAZY.allows("rack", "r1", "r2"), make_claim("data").storage_class("lazy").asks("5Gi"))
    store.update(make_node("n").label("rack", "r2").obj())
    select_node(store)
    assert affinity(provisioned(store)) == [("rack", ("r2",))]


def test_a_volume_that_the_scheduler_sets_aside_is_bound() -> None:
    data = make_claim("data").storage_class("local").asks("5Gi")
    store = cluster(LOCAL, data, make_volume("disk").storage_class("local").offers("5Gi"))
    store.update(bound_to(volume(store, "disk"), claim(store)))
    assert is_bound(store, "data", "disk")


def test_a_selected_node_that_has_gone_is_given_back() -> None:
    store = cluster(LAZY, make_claim("data").storage_class("lazy").asks("5Gi"))
    select_node(store, "gone")
    assert SELECTED_NODE not in claim(store).metadata.annotations
    assert not claim(store).spec.volume_name


# -- the end -------------------------------------------------------------------------------------------------------------


def test_a_released_volume_is_deleted_or_kept_as_it_says() -> None:
    keep = make_volume("keep").offers("5Gi").reclaim("Retain")
    drop = make_volume("drop").offers("9Gi").reclaim("Delete")
    store = cluster(make_claim("small").asks("5Gi"), make_claim("large").asks("9Gi"), keep, drop)
    store.delete(api.PersistentVolumeClaim, "default/small")
    store.delete(api.PersistentVolumeClaim, "default/large")
    assert volume(store, "keep").status.phase == "Released"
    assert store.find(api.PersistentVolume, "drop") is None


def test_a_kept_volume_is_not_given_to_another_claim() -> None:
    store = cluster(make_claim("data").asks("5Gi"), make_volume("keep").offers("5Gi").reclaim("Retain"))
    store.delete(api.PersistentVolumeClaim, "default/data")
    store.create(make_claim("data").uid("another").asks("5Gi").obj())
    assert not claim(store).spec.volume_name


def test_provisioned_volumes_go_with_their_claim() -> None:
    store = cluster(FAST, make_claim("data").storage_class("fast").asks("5Gi"))
    store.delete(api.PersistentVolumeClaim, "default/data")
    assert not store.objects(api.PersistentVolume)


def test_a_claim_whose_volume_is_deleted_is_lost() -> None:
    store = cluster(make_claim("data").asks("5Gi"), make_volume("disk").offers("5Gi"))
    store.delete(api.PersistentVolume, "disk")
    assert claim(store).status.phase == "Lost"


def test_a_volume_whose_claim_was_never_seen_is_left_alone() -> None:
    partial = make_volume("disk").offers("5Gi").reclaim("Delete").claimed(make_claim("elsewhere")).phase("Bound")
    store = cluster(partial)
    assert volume(store, "disk").status.phase == "Bound"


def test_a_dump_loads_in_any_order() -> None:
    store = cluster(make_claim("data").bound("disk").asks("5Gi"))
    store.create(make_volume("disk").offers("5Gi").claimed(make_claim("data")).phase("Bound").obj())
    assert is_bound(store, "data", "disk")


def test_a_volume_of_a_claim_that_got_another_one_becomes_free() -> None:
    data = make_claim("data").bound("mine")
    other = make_volume("other").claimed(data).annotation("pv.kubernetes.io/bound-by-controller", "yes")
    store = cluster(data, make_volume("mine").claimed(data), other)
    assert volume(store, "other").spec.claim_ref is None
    assert volume(store, "other").status.phase == "Available"


def test_nothing_is_written_without_need() -> None:
    store = cluster(make_claim("data").asks("5Gi"), make_volume("disk").offers("5Gi"))
    version = store.resource_version
    store.rewrite(claim(store), msgspec.structs.replace(claim(store)))
    assert int(store.resource_version) == int(version) + 1
