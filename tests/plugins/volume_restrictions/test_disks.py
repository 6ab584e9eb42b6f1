# SPDX-License-Identifier: Apache-2.0
"""Old in-tree disks that pods name directly: which of them may be on one node."""

from __future__ import annotations

import pytest
from tests.plugins.handles import FakeHandle

from steersman import api
from steersman.framework.cycle_state import CycleState
from steersman.framework.status import SKIP, Status, unschedulable
from steersman.scheduler.plugins.volume_restrictions import ERR_REASON_DISK_CONFLICT, VolumeRestrictions
from steersman.testing import PodBuilder, make_node, make_pod

CONFLICT = unschedulable(ERR_REASON_DISK_CONFLICT)


def gce(name: str = "foo", *, read_only: bool = False) -> api.Volume:
    return api.Volume(gce_persistent_disk=api.GCEPersistentDisk(pd_name=name, read_only=read_only))


def aws(volume_id: str = "foo", *, read_only: bool = False) -> api.Volume:
    return api.Volume(aws_elastic_block_store=api.AWSElasticBlockStore(volume_id=volume_id, read_only=read_only))


def iscsi(
    iqn: str = "iqn.2016-12.server:storage.target01", *, portal: str = "a", read_only: bool = False
) -> api.Volume:
    return api.Volume(iscsi=api.ISCSI(target_portal=portal, iqn=iqn, read_only=read_only))


def rbd(*monitors: str, pool: str = "foo", image: str = "bar", read_only: bool = False) -> api.Volume:
    return api.Volume(rbd=api.RBD(monitors=monitors or ("a", "b"), pool=pool, image=image, read_only=read_only))


def outcome(mine: api.Volume | None, theirs: api.Volume | None) -> Status | None:
    """What the plugin says of a pod with one volume, on a node where a pod has the other."""
    pod = make_pod("new") if mine is None else make_pod("new").volume(mine)
    other = make_pod("old") if theirs is None else make_pod("old").volume(theirs)
    return _verdict(pod, other)


def _verdict(pod: PodBuilder, other: PodBuilder) -> Status | None:
    node = make_node("n").info(other)
    plugin, state = VolumeRestrictions(None, FakeHandle(nodes=[node])), CycleState()
    status = plugin.pre_filter(state, pod.info(), [node])
    return status if status is not None else plugin.filter(state, pod.info(), node)


@pytest.mark.parametrize("volume", [gce(), aws(), iscsi(), rbd()])
def test_a_disk_is_not_attached_twice(volume: api.Volume) -> None:
    assert outcome(volume, volume) == CONFLICT


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (gce("foo"), gce("bar")),
        (aws("foo"), aws("bar")),
        (iscsi("iqn.a"), iscsi("iqn.b")),
        (rbd("a"), rbd("b")),
        (rbd(pool="foo"), rbd(pool="other")),
        (rbd(image="foo"), rbd(image="other")),
        (gce("foo"), aws("foo")),
    ],
)
def test_different_disks_go_together(mine: api.Volume, theirs: api.Volume) -> None:
    assert outcome(mine, theirs) is None


@pytest.mark.parametrize(
    ("volume", "read"),
    [(gce(), gce(read_only=True)), (iscsi(), iscsi(read_only=True)), (rbd(), rbd(read_only=True))],
)
def test_a_disk_that_all_pods_only_read_is_shared(volume: api.Volume, read: api.Volume) -> None:
    assert outcome(read, read) is None
    assert outcome(read, volume) == CONFLICT
    assert outcome(volume, read) == CONFLICT


def test_a_disk_of_aws_is_never_shared() -> None:
    assert outcome(aws(read_only=True), aws(read_only=True)) == CONFLICT


def test_images_are_the_same_if_any_monitor_is() -> None:
    assert outcome(rbd("a", "b"), rbd("c", "b")) == CONFLICT


def test_targets_are_the_same_whatever_the_portal() -> None:
    assert outcome(iscsi(portal="a"), iscsi(portal="b")) == CONFLICT


def test_pods_without_such_disks_are_not_examined() -> None:
    assert outcome(None, gce()) == SKIP
    assert outcome(api.Volume(name="tmp", empty_dir=api.EmptyDir()), gce()) == SKIP


def test_filter_without_prefilter_is_a_fault() -> None:
    node = make_node("n").info()
    status = VolumeRestrictions(None, FakeHandle()).filter(CycleState(), make_pod().volume(gce()).info(), node)
    assert status is not None
    assert status.message == 'cannot read "PreFilterVolumeRestrictions" from cycleState'
