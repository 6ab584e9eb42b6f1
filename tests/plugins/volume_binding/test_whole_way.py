# SPDX-License-Identifier: Apache-2.0
"""Pods with claims from the queue to their node, in a simulation: the scheduler and the controllers of volumes together."""

from __future__ import annotations

from typing import Any

from steersman import Simulation, api
from steersman.testing import (
    Builder,
    is_in,
    make_claim,
    make_node,
    make_pod,
    make_storage_class,
    make_volume,
)

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
NODES = [
    make_node(name).capacity(cpu="8", memory="8Gi", pods="10").label(HOST, name).label(ZONE, zone)
    for name, zone in (("n1", "a"), ("n2", "b"))
]
LAZY = make_storage_class("lazy").provisioner("disk.example.com").waits()
FAST = make_storage_class("fast").provisioner("disk.example.com")
LOCAL = make_storage_class("local").provisioner("kubernetes.io/no-provisioner").waits()


def simulation(*builders: Builder[Any]) -> Simulation:
    return Simulation.load(*(builder.obj() for builder in (*NODES, *builders)))


def volume_of(sim: Simulation, claim: str) -> api.PersistentVolume:
    name = sim.cluster.get(api.PersistentVolumeClaim, f"default/{claim}").spec.volume_name
    return sim.cluster.get(api.PersistentVolume, name)


def test_a_claim_that_does_not_wait_is_bound_before_its_pod() -> None:
    sim = simulation(FAST, make_claim("data").storage_class("fast").asks("1Gi"), make_pod("web").pvc("data"))
    assert sim.run().placements["default/web"].node in ("n1", "n2")
    assert volume_of(sim, "data").status.phase == "Bound"


def test_a_disk_made_for_a_pod_keeps_later_pods_in_its_zone() -> None:
    first = make_pod("first").pvc("data").node_selector(ZONE, "b")
    sim = simulation(LAZY, make_claim("data").storage_class("lazy").asks("1Gi"), first)
    assert sim.run().placements["default/first"].node == "n2"
    later = sim.add(make_pod("later").pvc("data").obj()).run()
    assert later.placements["default/later"].node == "n2"


def test_two_pods_never_get_one_local_disk() -> None:
    disk = make_volume("disk").storage_class("local").offers("5Gi").on(is_in(HOST, "n1"))
    claims = [make_claim(name).storage_class("local").asks("1Gi") for name in ("one", "two")]
    sim = simulation(LOCAL, disk, *claims, make_pod("a").pvc("one"), make_pod("b").pvc("two"))
    placed = sim.run().placements
    assert sorted(p.node for p in placed.values()) == ["", "n1"]


def test_a_disk_that_is_given_up_serves_the_next() -> None:
    disk = make_volume("disk").storage_class("local").offers("5Gi").on(is_in(HOST, "n1"))
    claims = [make_claim(name).storage_class("local").asks("1Gi") for name in ("one", "two")]
    sim = simulation(LOCAL, disk, *claims, make_pod("a").pvc("one"))
    sim.run()
    sim.delete("pod/default/a", "persistentvolumeclaim/default/one", "persistentvolume/disk")
    sim.add(disk.uid("again").obj(), make_pod("b").pvc("two").obj())
    assert sim.run().placements["default/b"].node == "n1"


def test_ephemeral_volumes_are_made_with_the_pod() -> None:
    template = api.PersistentVolumeClaimTemplate(spec=make_claim("").storage_class("lazy").asks("1Gi").obj().spec)
    source = api.EphemeralVolumeSource(volume_claim_template=template)
    sim = simulation(LAZY, make_pod("web").volume(api.Volume(name="tmp", ephemeral=source)))
    assert sim.run().placements["default/web"].node in ("n1", "n2")
    assert volume_of(sim, "web-tmp").status.phase == "Bound"
    sim.delete("pod/default/web")
    assert not sim.cluster.objects(api.PersistentVolumeClaim)
    assert not sim.cluster.objects(api.PersistentVolume)


def test_a_pod_whose_claim_comes_later_is_placed_then() -> None:
    sim = simulation(LAZY, make_pod("web").pvc("data"))
    message = sim.run().placements["default/web"].message
    assert message.startswith('0/2 nodes are available: persistentvolumeclaim "data" not found.')
    sim.add(make_claim("data").storage_class("lazy").asks("1Gi").obj())
    assert sim.run().placements["default/web"].node


def test_a_pod_that_is_deleted_while_its_volume_is_bound_leaves_nothing_reserved() -> None:
    disk = make_volume("disk").storage_class("local").offers("5Gi").on(is_in(HOST, "n1"))
    sim = simulation(LOCAL, disk, make_claim("one").storage_class("local").asks("1Gi"), make_pod("a").pvc("one"))
    sim.step()
    sim.delete("pod/default/a")
    sim.add(make_pod("b").pvc("one").obj())
    assert sim.run().placements["default/b"].node == "n1"
