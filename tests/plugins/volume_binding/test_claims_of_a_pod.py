# SPDX-License-Identifier: Apache-2.0
"""What PreFilter says of a pod's claims, whatever the nodes."""

from __future__ import annotations

import pytest
from tests.plugins.volume_binding.cluster import VolumeCluster

from steersman import api
from steersman.framework.status import SKIP, Code, unresolvable
from steersman.scheduler.plugins.volume_binding import ERR_UNBOUND_IMMEDIATE_CLAIMS
from steersman.testing import ClaimBuilder, make_claim, make_pod, make_storage_class, make_volume

UNREADY = unresolvable(ERR_UNBOUND_IMMEDIATE_CLAIMS)
IMMEDIATE = make_storage_class("fast")
WAITING = make_storage_class("lazy").waits()
POD = make_pod("web").pvc("data")
WITH_EPHEMERAL = make_pod("web").volume(api.Volume(name="tmp", ephemeral=api.EphemeralVolumeSource()))


def test_pods_without_claims_are_left_out() -> None:
    assert VolumeCluster().pre_filter(make_pod()) == SKIP
    assert VolumeCluster().pre_filter(make_pod().volume(api.Volume(name="tmp", empty_dir=api.EmptyDir()))) == SKIP


def test_bound_claims_are_fine() -> None:
    assert VolumeCluster(make_claim("data").bound("disk"), make_volume("disk")).pre_filter(POD) is None


def test_claims_that_wait_for_their_consumer_are_fine() -> None:
    assert VolumeCluster(make_claim("data").storage_class("lazy"), WAITING).pre_filter(POD) is None


@pytest.mark.parametrize(
    "claim",
    [
        make_claim("data").storage_class("fast"),
        make_claim("data").storage_class("missing"),
        make_claim("data"),
        make_claim("data").storage_class("lazy").wants("disk"),
        make_claim("data").storage_class("fast").wants("disk"),
    ],
)
def test_other_claims_must_be_bound_already(claim: ClaimBuilder) -> None:
    assert VolumeCluster(claim, IMMEDIATE, WAITING).pre_filter(POD) == UNREADY


def test_one_unready_claim_is_enough() -> None:
    cluster = VolumeCluster(make_claim("data").bound("disk"), make_claim("more").storage_class("fast"), IMMEDIATE)
    assert cluster.pre_filter(POD.pvc("more")) == UNREADY


def test_a_claim_may_name_its_class_in_the_old_way() -> None:
    old = make_claim("data").storage_class("fast").annotation("volume.beta.kubernetes.io/storage-class", "lazy")
    assert VolumeCluster(old, IMMEDIATE, WAITING).pre_filter(POD) is None


def test_a_class_without_binding_mode_is_a_fault() -> None:
    status = VolumeCluster(
        make_claim("data").storage_class("odd"), make_storage_class("odd").binding_mode(None)
    ).pre_filter(POD)
    assert status is not None
    assert status.code is Code.ERROR
    assert status.message == 'VolumeBindingMode not set for StorageClass "odd"'


def test_missing_lost_and_vanishing_claims_are_reported() -> None:
    assert VolumeCluster().pre_filter(POD) == unresolvable('persistentvolumeclaim "data" not found')
    lost = make_claim("data").wants("disk").phase("Lost")
    text = 'persistentvolumeclaim "data" bound to non-existent persistentvolume "disk"'
    assert VolumeCluster(lost).pre_filter(POD) == unresolvable(text)
    going = make_claim("data").bound("disk").terminating()
    assert VolumeCluster(going).pre_filter(POD) == unresolvable('persistentvolumeclaim "data" is being deleted')


def test_the_claim_of_an_ephemeral_volume_must_be_made_first() -> None:
    text = 'waiting for ephemeral volume controller to create the persistentvolumeclaim "web-tmp"'
    assert VolumeCluster().pre_filter(WITH_EPHEMERAL) == unresolvable(text)


def test_the_claim_of_an_ephemeral_volume_must_be_the_pods_own() -> None:
    claim = make_claim("web-tmp").storage_class("lazy")
    text = "PVC default/web-tmp was not created for pod default/web (pod is not owner)"
    assert VolumeCluster(claim, WAITING).pre_filter(WITH_EPHEMERAL) == unresolvable(text)
    assert VolumeCluster(claim.owner("Pod", "web", controller=False), WAITING).pre_filter(WITH_EPHEMERAL) is not None
    assert VolumeCluster(claim.owner("Pod", "web"), WAITING).pre_filter(WITH_EPHEMERAL) is None


def test_only_pods_with_claims_are_its_concern() -> None:
    plugin = VolumeCluster().plugin
    assert plugin.concerns(POD.info())
    assert plugin.concerns(WITH_EPHEMERAL.info())
    assert not plugin.concerns(make_pod().info())
