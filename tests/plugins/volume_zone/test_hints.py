# SPDX-License-Identifier: Apache-2.0
"""Which events bring a pod back that VolumeZone rejected."""

from __future__ import annotations

from tests.plugins.handles import FakeHandle

from steersman.framework.events import QueueingHint
from steersman.scheduler.plugins.volume_zone import VolumeZone
from steersman.testing import make_claim, make_pod, make_storage_class, make_volume

QUEUE, SKIP = QueueingHint.QUEUE, QueueingHint.SKIP
ZONE = "topology.kubernetes.io/zone"
WAITING = make_pod().pvc("data").obj()


def plugin() -> VolumeZone:
    return VolumeZone(None, FakeHandle())


def test_a_new_class_helps_if_its_claims_wait_for_a_consumer() -> None:
    assert plugin().after_storage_class_added(WAITING, None, make_storage_class("fast").waits().obj()) is QUEUE
    assert plugin().after_storage_class_added(WAITING, None, make_storage_class("fast").obj()) is SKIP
    unset = make_storage_class("fast").binding_mode(None).obj()
    assert plugin().after_storage_class_added(WAITING, None, unset) is SKIP


def test_a_change_of_the_pods_claim_helps() -> None:
    claim = make_claim("data")
    assert plugin().after_claim_changed(WAITING, None, claim.obj()) is QUEUE
    assert plugin().after_claim_changed(WAITING, claim.obj(), claim.bound("disk").obj()) is QUEUE
    assert plugin().after_claim_changed(WAITING, None, make_claim("other").obj()) is SKIP
    assert plugin().after_claim_changed(WAITING, None, claim.namespace("other").obj()) is SKIP


def test_a_new_volume_helps_and_a_change_of_its_zone() -> None:
    volume = make_volume("disk")
    assert plugin().after_volume_changed(WAITING, None, volume.obj()) is QUEUE
    assert plugin().after_volume_changed(WAITING, volume.obj(), volume.label(ZONE, "a").obj()) is QUEUE
    labelled = volume.label(ZONE, "a")
    assert plugin().after_volume_changed(WAITING, labelled.obj(), labelled.label(ZONE, "b").obj()) is QUEUE
    assert plugin().after_volume_changed(WAITING, labelled.obj(), labelled.label("other", "x").obj()) is SKIP
