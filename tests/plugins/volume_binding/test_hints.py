# SPDX-License-Identifier: Apache-2.0
"""Which events bring a pod back that VolumeBinding rejected."""

from __future__ import annotations

import pytest

from steersman import api
from steersman.api.csi_migration import MIGRATED_PLUGINS
from steersman.framework.events import QueueingHint
from steersman.scheduler.plugins.volume_binding import hints
from steersman.testing import make_claim, make_csi_node, make_pod, make_storage_capacity, make_storage_class

QUEUE, SKIP = QueueingHint.QUEUE, QueueingHint.SKIP
WAITING = make_pod("web").pvc("data").obj()


def test_a_new_class_helps_and_a_change_of_its_topologies() -> None:
    known = make_storage_class("fast")
    assert hints.after_storage_class_changed(WAITING, None, known.obj()) is QUEUE
    assert hints.after_storage_class_changed(WAITING, known.obj(), known.allows("zone", "a").obj()) is QUEUE
    assert hints.after_storage_class_changed(WAITING, known.obj(), known.label("x", "y").obj()) is SKIP


def test_any_change_of_the_pods_own_claims_helps() -> None:
    claim = make_claim("data")
    assert hints.after_claim_changed(WAITING, None, claim.obj()) is QUEUE
    assert hints.after_claim_changed(WAITING, claim.obj(), claim.bound("v").obj()) is QUEUE
    assert hints.after_claim_changed(WAITING, None, claim.namespace("other").obj()) is SKIP
    assert hints.after_claim_changed(WAITING, None, make_claim("other").obj()) is SKIP
    assert hints.after_claim_changed(make_pod().obj(), None, claim.obj()) is SKIP


def test_so_does_the_claim_of_an_ephemeral_volume() -> None:
    waiting = make_pod("web").volume(api.Volume(name="tmp", ephemeral=api.EphemeralVolumeSource())).obj()
    assert hints.after_claim_changed(waiting, None, make_claim("web-tmp").obj()) is QUEUE
    assert hints.after_claim_changed(waiting, None, make_claim("tmp").obj()) is SKIP


def test_a_new_csi_node_helps_and_one_that_takes_a_plugin_over() -> None:
    node = make_csi_node("n")
    migrated = node.annotation(MIGRATED_PLUGINS, "kubernetes.io/aws-ebs")
    assert hints.after_csi_node_changed(WAITING, None, node.obj()) is QUEUE
    assert hints.after_csi_node_changed(WAITING, node.obj(), migrated.obj()) is QUEUE
    assert hints.after_csi_node_changed(WAITING, migrated.obj(), migrated.driver("d", limit=3).obj()) is SKIP


def driver(storage_capacity: bool | None, name: str = "disk.example.com") -> api.CSIDriver:
    return api.CSIDriver(metadata=api.ObjectMeta(name=name), spec=api.CSIDriverSpec(storage_capacity=storage_capacity))


@pytest.mark.parametrize(
    ("before", "after", "hint"),
    [(True, False, QUEUE), (True, None, QUEUE), (True, True, SKIP), (None, False, SKIP), (False, None, SKIP)],
)
def test_a_driver_helps_its_inline_volumes_when_it_no_longer_tracks_capacity(
    before: bool | None, after: bool | None, hint: QueueingHint
) -> None:
    waiting = make_pod().volume(api.Volume(name="v", csi=api.CSIVolumeSource(driver="disk.example.com"))).obj()
    assert hints.after_driver_updated(waiting, driver(before), driver(after)) is hint
    assert hints.after_driver_updated(waiting, driver(before, "other"), driver(after, "other")) is SKIP
    assert hints.after_driver_updated(WAITING, driver(before), driver(after)) is SKIP


def test_capacity_helps_when_it_is_new_or_larger_volumes_fit() -> None:
    pool = make_storage_capacity("pool")
    small, large = pool.capacity("1Gi"), pool.capacity("2Gi")
    assert hints.after_capacity_changed(WAITING, None, pool.obj()) is QUEUE
    assert hints.after_capacity_changed(WAITING, pool.obj(), small.obj()) is QUEUE
    assert hints.after_capacity_changed(WAITING, small.obj(), large.obj()) is QUEUE
    assert hints.after_capacity_changed(WAITING, large.obj(), small.obj()) is SKIP
    assert hints.after_capacity_changed(WAITING, small.obj(), small.obj()) is SKIP
    assert hints.after_capacity_changed(WAITING, small.obj(), pool.obj()) is SKIP
    assert hints.after_capacity_changed(WAITING, large.largest_volume("1Gi").obj(), large.obj()) is QUEUE
    assert hints.after_capacity_changed(WAITING, small.obj(), small.largest_volume("512Mi").obj()) is SKIP


def test_objects_of_another_kind_are_a_fault() -> None:
    with pytest.raises(TypeError):
        hints.after_claim_changed(WAITING, None, make_csi_node("n").obj())
