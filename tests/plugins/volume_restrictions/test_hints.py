# SPDX-License-Identifier: Apache-2.0
"""Which events bring a pod back that VolumeRestrictions rejected."""

from __future__ import annotations

import pytest
from tests.plugins.handles import FakeHandle

from steersman import api
from steersman.framework.events import QueueingHint
from steersman.scheduler.plugins.volume_restrictions import VolumeRestrictions
from steersman.testing import make_claim, make_pod

QUEUE, SKIP = QueueingHint.QUEUE, QueueingHint.SKIP
DISK = api.Volume(name="disk", gce_persistent_disk=api.GCEPersistentDisk(pd_name="disk"))
OTHER_DISK = api.Volume(name="disk", gce_persistent_disk=api.GCEPersistentDisk(pd_name="other"))


def plugin() -> VolumeRestrictions:
    return VolumeRestrictions(None, FakeHandle())


def test_a_deleted_pod_that_used_the_same_claim_helps() -> None:
    waiting, gone = make_pod().pvc("data").obj(), make_pod("gone").pvc("data").obj()
    assert plugin().after_pod_deleted(waiting, gone, None) is QUEUE


def test_a_deleted_pod_that_had_the_disk_helps() -> None:
    waiting = make_pod().volume(DISK).obj()
    assert plugin().after_pod_deleted(waiting, make_pod("gone").volume(DISK).obj(), None) is QUEUE
    assert plugin().after_pod_deleted(waiting, make_pod("gone").volume(OTHER_DISK).obj(), None) is SKIP


def test_a_deleted_pod_of_another_namespace_does_not_help() -> None:
    gone = make_pod("gone").namespace("other").pvc("data").volume(DISK).obj()
    assert plugin().after_pod_deleted(make_pod().pvc("data").volume(DISK).obj(), gone, None) is SKIP


def test_a_deleted_pod_without_volumes_does_not_help() -> None:
    assert plugin().after_pod_deleted(make_pod().pvc("data").obj(), make_pod("gone").obj(), None) is SKIP


def test_the_missing_claim_helps_when_it_is_added() -> None:
    waiting = make_pod().pvc("data").obj()
    assert plugin().after_claim_added(waiting, None, make_claim("data").obj()) is QUEUE
    assert plugin().after_claim_added(waiting, None, make_claim("other").obj()) is SKIP
    assert plugin().after_claim_added(waiting, None, make_claim("data").namespace("other").obj()) is SKIP


def test_objects_of_another_kind_are_a_fault() -> None:
    with pytest.raises(TypeError):
        plugin().after_pod_deleted(make_pod().obj(), make_claim("data").obj(), None)
