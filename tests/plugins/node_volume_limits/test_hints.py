# SPDX-License-Identifier: Apache-2.0
"""Which events bring a pod back that NodeVolumeLimits rejected."""

from __future__ import annotations

import pytest
from tests.plugins.handles import FakeHandle

from steersman import api
from steersman.base.errors import InputError
from steersman.framework.events import QueueingHint
from steersman.scheduler.plugins.node_volume_limits import NodeVolumeLimits
from steersman.testing import make_claim, make_csi_node, make_pod

QUEUE, SKIP = QueueingHint.QUEUE, QueueingHint.SKIP
PLUGIN = NodeVolumeLimits(None, FakeHandle())
WAITING = make_pod("web").pvc("data").obj()
EPHEMERAL = api.Volume(name="tmp", ephemeral=api.EphemeralVolumeSource())
EBS = api.Volume(name="disk", aws_elastic_block_store=api.AWSElasticBlockStore(volume_id="vol-1"))


@pytest.mark.parametrize("volume", [EPHEMERAL, EBS])
def test_a_deleted_pod_with_such_a_volume_helps(volume: api.Volume) -> None:
    assert PLUGIN.after_pod_deleted(WAITING, make_pod("x").node("n").volume(volume).obj(), None) is QUEUE
    assert PLUGIN.after_pod_deleted(WAITING, make_pod("x").nominated("n").volume(volume).obj(), None) is QUEUE
    assert PLUGIN.after_pod_deleted(WAITING, make_pod("x").volume(volume).obj(), None) is SKIP


def test_a_deleted_pod_without_does_not() -> None:
    assert PLUGIN.after_pod_deleted(WAITING, make_pod("x").node("n").obj(), None) is SKIP
    tmp = api.Volume(name="tmp", empty_dir=api.EmptyDir())
    assert PLUGIN.after_pod_deleted(WAITING, make_pod("x").node("n").volume(tmp).obj(), None) is SKIP


def test_the_pods_own_claim_helps_when_it_is_added() -> None:
    assert PLUGIN.after_claim_added(WAITING, None, make_claim("data").obj()) is QUEUE
    assert PLUGIN.after_claim_added(WAITING, None, make_claim("other").obj()) is SKIP
    assert PLUGIN.after_claim_added(WAITING, None, make_claim("data").namespace("other").obj()) is SKIP
    waiting = make_pod("web").volume(EPHEMERAL).obj()
    assert PLUGIN.after_claim_added(waiting, None, make_claim("web-tmp").obj()) is QUEUE


def detached(driver: str) -> api.VolumeAttachment:
    return api.VolumeAttachment(spec=api.VolumeAttachmentSpec(attacher=driver, node_name="n"))


def test_a_detached_volume_helps_pods_with_claims() -> None:
    assert PLUGIN.after_attachment_deleted(WAITING, detached("any"), None) is QUEUE


def test_it_helps_pods_with_disks_of_the_driver() -> None:
    waiting = make_pod().volume(EBS).obj()
    assert PLUGIN.after_attachment_deleted(waiting, detached("ebs.csi.aws.com"), None) is QUEUE
    assert PLUGIN.after_attachment_deleted(waiting, detached("other"), None) is SKIP
    assert PLUGIN.after_attachment_deleted(make_pod().obj(), detached("ebs.csi.aws.com"), None) is SKIP


def test_a_disk_that_makes_no_sense_is_a_fault() -> None:
    odd = api.Volume(name="disk", aws_elastic_block_store=api.AWSElasticBlockStore(volume_id="aws://z/odd"))
    with pytest.raises(InputError):
        PLUGIN.after_attachment_deleted(make_pod().volume(odd).obj(), detached("any"), None)


def test_a_limit_that_grows_helps() -> None:
    node = make_csi_node("n")
    two, three = node.driver("d", limit=2).obj(), node.driver("d", limit=3).obj()
    assert PLUGIN.after_csi_node_updated(WAITING, two, three) is QUEUE
    assert PLUGIN.after_csi_node_updated(WAITING, node.obj(), two) is QUEUE
    assert PLUGIN.after_csi_node_updated(WAITING, node.driver("d").obj(), two) is QUEUE
    assert PLUGIN.after_csi_node_updated(WAITING, three, two) is SKIP
    assert PLUGIN.after_csi_node_updated(WAITING, two, two) is SKIP
    assert PLUGIN.after_csi_node_updated(WAITING, two, node.driver("d").obj()) is SKIP
