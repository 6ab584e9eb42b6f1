# SPDX-License-Identifier: Apache-2.0
"""Claims that find no volume are provisioned, where their class allows it and has the room."""

from __future__ import annotations

import pytest
from tests.plugins.volume_binding.cluster import Cycle, VolumeCluster

from steersman import api
from steersman.api.persistent_volumes import NO_PROVISIONER
from steersman.framework.status import Status, unresolvable
from steersman.scheduler.plugins.volume_binding import ERR_REASON_BIND_CONFLICT, ERR_REASON_NOT_ENOUGH_SPACE
from steersman.testing import (
    ClaimBuilder,
    StorageCapacityBuilder,
    StorageClassBuilder,
    make_claim,
    make_node,
    make_pod,
    make_storage_capacity,
    make_storage_class,
    make_volume,
)

DRIVER = "disk.example.com"
NODES = [make_node("a").label("zone", "a"), make_node("b").label("zone", "b")]
FAST = make_storage_class("fast").waits().provisioner(DRIVER)
CLAIM = make_claim("data").storage_class("fast").asks("10Gi")
POD = make_pod("web").pvc("data")
CONFLICT = unresolvable(ERR_REASON_BIND_CONFLICT)
NO_SPACE = unresolvable(ERR_REASON_NOT_ENOUGH_SPACE)


def test_a_claim_without_a_volume_is_provisioned() -> None:
    cycle = Cycle(VolumeCluster(CLAIM, FAST, nodes=NODES), POD)
    assert cycle.filter("a") is None
    assert (cycle.bindings("a"), cycle.provisions("a")) == ({}, ["data"])


def test_volumes_that_are_there_come_first() -> None:
    more = make_claim("more").storage_class("fast").asks("20Gi")
    volume = make_volume("v").storage_class("fast").offers("10Gi")
    cycle = Cycle(VolumeCluster(CLAIM, more, FAST, volume, nodes=NODES), POD.pvc("more"))
    assert cycle.filter("a") is None
    assert (cycle.bindings("a"), cycle.provisions("a")) == ({"data": "v"}, ["more"])


@pytest.mark.parametrize("provisioner", ["", NO_PROVISIONER])
def test_some_classes_provision_nothing(provisioner: str) -> None:
    assert VolumeCluster(CLAIM, FAST.provisioner(provisioner), nodes=NODES).filter(POD, "a") == CONFLICT


def test_a_claim_that_has_been_given_to_a_node_stays_there() -> None:
    cluster = VolumeCluster(CLAIM.selected_node("a"), FAST, nodes=NODES)
    assert cluster.filter(POD, "b") == CONFLICT
    cycle = Cycle(cluster, POD)
    assert cycle.filter("a") is None
    assert cycle.provisions("a") == ["data"]


def test_volumes_are_not_looked_for_once_the_claim_is_given_to_a_node() -> None:
    volume = make_volume("v").storage_class("fast").offers("10Gi")
    cycle = Cycle(VolumeCluster(CLAIM.selected_node("a"), FAST, volume, nodes=NODES), POD)
    cycle.filter("a")
    assert (cycle.bindings("a"), cycle.provisions("a")) == ({}, ["data"])


def allowed(storage_class: StorageClassBuilder) -> list[str]:
    cluster = VolumeCluster(CLAIM, storage_class, nodes=NODES)
    return [node for node in ("a", "b") if cluster.filter(POD, node) is None]


def test_the_class_may_restrict_where() -> None:
    assert allowed(FAST) == ["a", "b"]
    assert allowed(FAST.allows("zone", "b")) == ["b"]
    assert allowed(FAST.allows("zone", "b", "c").allows("zone", "a")) == ["a", "b"]
    assert allowed(FAST.allows("region", "r")) == []


def test_topologies_that_are_empty_or_make_no_sense_allow_nothing() -> None:
    empty = FAST.obj()
    assert allowed(StorageClassBuilder(empty).allows("zone")) == []
    assert allowed(FAST.allows("not a key", "a")) == []


# -- capacity ------------------------------------------------------------------------------------------------------------


def driver(storage_capacity: bool | None = True) -> api.CSIDriver:
    return api.CSIDriver(
        metadata=api.ObjectMeta(name=DRIVER), spec=api.CSIDriverSpec(storage_capacity=storage_capacity)
    )


POOL = make_storage_capacity("pool").storage_class("fast").on({"zone": "a"})


def with_capacity(*pools: StorageCapacityBuilder, claim: ClaimBuilder = CLAIM, node: str = "a") -> Status | None:
    return VolumeCluster(claim, FAST, driver(), *pools, nodes=NODES).filter(POD, node)


def test_without_published_capacity_there_is_no_room() -> None:
    assert with_capacity() == NO_SPACE


def test_a_large_enough_pool_near_the_node_will_do() -> None:
    assert with_capacity(POOL.capacity("10Gi")) is None
    assert with_capacity(POOL.capacity("10Gi"), node="b") == NO_SPACE
    assert with_capacity(POOL.capacity("9Gi")) == NO_SPACE
    assert with_capacity(POOL.name("small").capacity("1Gi"), POOL.capacity("10Gi")) is None


def test_the_largest_volume_says_more_than_the_capacity() -> None:
    assert with_capacity(POOL.capacity("100Gi").largest_volume("9Gi")) == NO_SPACE
    assert with_capacity(POOL.capacity("1Gi").largest_volume("10Gi")) is None


def test_pools_of_other_classes_or_without_size_or_topology_do_not_count() -> None:
    assert with_capacity(POOL.capacity("10Gi").storage_class("other")) == NO_SPACE
    assert with_capacity(POOL) == NO_SPACE
    assert with_capacity(make_storage_capacity("pool").storage_class("fast").capacity("10Gi")) == NO_SPACE


def test_an_empty_topology_is_every_node() -> None:
    assert with_capacity(POOL.on({}).capacity("10Gi"), node="b") is None


def test_a_claim_without_a_size_needs_no_room() -> None:
    assert with_capacity(claim=make_claim("data").storage_class("fast")) is None


@pytest.mark.parametrize("wish", [None, False])
def test_drivers_that_do_not_ask_for_it_are_not_checked(wish: bool | None) -> None:
    assert VolumeCluster(CLAIM, FAST, driver(wish), nodes=NODES).filter(POD, "a") is None
