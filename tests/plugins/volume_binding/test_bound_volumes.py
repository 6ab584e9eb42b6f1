# SPDX-License-Identifier: Apache-2.0
"""Volumes of bound claims decide where the pod may run."""

from __future__ import annotations

from tests.plugins.volume_binding.cluster import Cycle, VolumeCluster

from steersman.api.csi_migration import MIGRATED_PLUGINS
from steersman.framework.cycle_state import CycleState
from steersman.framework.status import Code, unresolvable
from steersman.scheduler.plugins.volume_binding import ERR_REASON_NODE_CONFLICT, ERR_REASON_PV_NOT_EXIST
from steersman.testing import is_in, make_claim, make_csi_node, make_node, make_pod, make_volume, not_in

NODES = [make_node("a").label("zone", "a"), make_node("b").label("zone", "b")]
POD = make_pod("web").pvc("data")
CLAIM = make_claim("data").bound("disk")
CONFLICT = unresolvable(ERR_REASON_NODE_CONFLICT)
EBS_ZONE = "topology.ebs.csi.aws.com/zone"
ZONE = "topology.kubernetes.io/zone"


def test_a_volume_without_affinity_can_be_used_everywhere() -> None:
    assert VolumeCluster(CLAIM, make_volume("disk"), nodes=NODES).filter(POD, "a") is None


def test_the_node_must_match_the_affinity_of_the_volume() -> None:
    cluster = VolumeCluster(CLAIM, make_volume("disk").on(is_in("zone", "a")), nodes=NODES)
    assert cluster.filter(POD, "a") is None
    assert cluster.filter(POD, "b") == CONFLICT


def test_every_volume_must_match() -> None:
    volumes = make_volume("disk").on(is_in("zone", "a")), make_volume("more").on(not_in("zone", "a"))
    cluster = VolumeCluster(CLAIM, make_claim("more").bound("more"), *volumes, nodes=NODES)
    assert cluster.filter(POD.pvc("more"), "a") == CONFLICT
    assert cluster.filter(POD.pvc("more"), "b") == CONFLICT


def test_the_name_of_the_node_is_not_examined() -> None:
    elsewhere = make_volume("disk").on(is_in("zone", "a"))
    assert VolumeCluster(CLAIM, elsewhere, nodes=[make_node("x").label("zone", "a")]).filter(POD, "x") is None


def test_a_volume_that_does_not_exist_is_reported() -> None:
    assert VolumeCluster(CLAIM, nodes=NODES).filter(POD, "a") == unresolvable(ERR_REASON_PV_NOT_EXIST)


def test_filter_without_prefilter_is_a_fault() -> None:
    status = VolumeCluster(nodes=NODES).plugin.filter(CycleState(), POD.info(), NODES[0].info())
    assert status is not None
    assert status.code is Code.ERROR


def test_an_in_tree_volume_is_matched_by_the_label_of_its_driver_where_that_has_taken_over() -> None:
    volume = make_volume("disk").aws("aws://zone/vol-1").label(ZONE, "a")
    node = make_node("n").label(EBS_ZONE, "b")
    csi_node = make_csi_node("n").annotation(MIGRATED_PLUGINS, "kubernetes.io/aws-ebs,kubernetes.io/gce-pd")
    assert VolumeCluster(CLAIM, volume, csi_node, nodes=[node]).filter(POD, "n") == CONFLICT
    assert VolumeCluster(CLAIM, volume, csi_node, nodes=[node.label(EBS_ZONE, "a")]).filter(POD, "n") is None


def test_elsewhere_it_is_taken_as_it_is() -> None:
    volume = make_volume("disk").aws("aws://zone/vol-1").label(ZONE, "a")
    node = make_node("n").label(EBS_ZONE, "b")
    not_yet = make_csi_node("n").annotation(MIGRATED_PLUGINS, "kubernetes.io/cinder")
    assert VolumeCluster(CLAIM, volume, not_yet, nodes=[node]).filter(POD, "n") is None
    assert VolumeCluster(CLAIM, volume, nodes=[node]).filter(POD, "n") is None


def test_an_in_tree_volume_that_makes_no_sense_is_a_fault() -> None:
    volume = make_volume("disk").aws("aws://zone/strange")
    csi_node = make_csi_node("n").annotation(MIGRATED_PLUGINS, "kubernetes.io/aws-ebs")
    status = VolumeCluster(CLAIM, volume, csi_node, nodes=[make_node("n")]).filter(POD, "n")
    assert status is not None
    assert status.code is Code.ERROR
    assert status.message.startswith("could not translate pv: ")


def test_nothing_is_left_to_do_for_bound_volumes() -> None:
    cycle = Cycle(VolumeCluster(CLAIM, make_volume("disk"), nodes=NODES), POD)
    assert cycle.filter("a") is None
    assert (cycle.bindings("a"), cycle.provisions("a")) == ({}, [])
