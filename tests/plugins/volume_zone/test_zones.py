# SPDX-License-Identifier: Apache-2.0
"""Zone and region labels of volumes against those of nodes."""

from __future__ import annotations

import pytest
from tests.plugins.handles import FakeHandle

from steersman import api
from steersman.framework.cycle_state import CycleState
from steersman.framework.status import SKIP, Status, unresolvable
from steersman.scheduler.plugins.volume_zone import (
    ERR_CLAIM_WITHOUT_NAME,
    ERR_NEITHER_VOLUME_NOR_CLASS,
    ERR_REASON_CONFLICT,
    ERR_VOLUME_WITHOUT_NAME,
    VolumeZone,
)
from steersman.testing import make_claim, make_node, make_pod, make_storage_class, make_volume

CONFLICT = unresolvable(ERR_REASON_CONFLICT)
ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
POD = make_pod().pvc("data").info()


def outcome(of_volume: dict[str, str], of_node: dict[str, str]) -> Status | None:
    volume = make_volume("disk").labels(of_volume).obj()
    plugin, state = plugin_with(make_claim("data").bound("disk").obj(), volume), CycleState()
    status = plugin.pre_filter(state, POD, ())
    return status if status is not None else plugin.filter(state, POD, make_node("n").labels(of_node).info())


def plugin_with(*objects: api.Object) -> VolumeZone:
    return VolumeZone(None, FakeHandle(objects=objects))


@pytest.mark.parametrize("key", [ZONE, REGION, BETA_ZONE, BETA_REGION])
def test_node_and_volume_must_agree(key: str) -> None:
    assert outcome({key: "us-west1-a"}, {key: "us-west1-a", "other": "label"}) is None
    assert outcome({key: "us-west1-a"}, {key: "us-west1-b"}) == CONFLICT


@pytest.mark.parametrize("key", [ZONE, BETA_ZONE])
def test_a_volume_may_name_several_zones(key: str) -> None:
    assert outcome({key: "us-west1-c__us-west1-a"}, {key: "us-west1-a"}) is None
    assert outcome({key: "us-west1-c__us-west1-a"}, {key: "us-west1-b"}) == CONFLICT


def test_blanks_around_the_zones_do_not_count() -> None:
    assert outcome({ZONE: " a __ b "}, {ZONE: "b"}) is None


def test_a_label_with_an_empty_zone_is_ignored() -> None:
    assert outcome({ZONE: "a____b"}, {ZONE: "c"}) == SKIP


def test_a_node_without_any_zone_label_takes_every_volume() -> None:
    assert outcome({ZONE: "a"}, {"other": "label"}) is None


def test_a_node_must_have_every_label_of_the_volume() -> None:
    assert outcome({ZONE: "a", REGION: "r"}, {ZONE: "a"}) == CONFLICT


def test_the_early_label_of_a_volume_is_compared_with_the_present_one_of_a_node() -> None:
    assert outcome({BETA_ZONE: "a"}, {ZONE: "a"}) is None
    assert outcome({BETA_ZONE: "a"}, {ZONE: "b"}) == CONFLICT


def test_the_present_label_of_a_volume_is_not_compared_with_the_early_one_of_a_node() -> None:
    assert outcome({ZONE: "a"}, {BETA_ZONE: "a"}) == CONFLICT


def test_volumes_without_such_labels_need_no_further_look() -> None:
    assert outcome({"other": "label"}, {ZONE: "a"}) == SKIP


def test_filter_works_without_prefilter() -> None:
    volume = make_volume("disk").label(ZONE, "a").obj()
    plugin = plugin_with(make_claim("data").bound("disk").obj(), volume)
    assert plugin.filter(CycleState(), POD, make_node("n").label(ZONE, "b").info()) == CONFLICT
    assert plugin_with().filter(CycleState(), make_pod().info(), make_node("n").info()) is None
    missing = plugin_with().filter(CycleState(), POD, make_node("n").info())
    assert missing == unresolvable('persistentvolumeclaim "data" not found')


def pre_filter(*objects: api.Object) -> Status | None:
    return plugin_with(*objects).pre_filter(CycleState(), POD, ())


def test_a_claim_that_waits_for_its_consumer_has_no_zone_yet() -> None:
    claim = make_claim("data").storage_class("fast").obj()
    assert pre_filter(claim, make_storage_class("fast").waits().obj()) == SKIP


def test_other_claims_must_have_a_volume() -> None:
    claim = make_claim("data").storage_class("fast").obj()
    assert pre_filter(make_claim("data").obj()) == unresolvable(ERR_NEITHER_VOLUME_NOR_CLASS)
    assert pre_filter(claim) == unresolvable('storageclass.storage.k8s.io "fast" not found')
    assert pre_filter(claim, make_storage_class("fast").obj()) == unresolvable(ERR_VOLUME_WITHOUT_NAME)
    unset = make_storage_class("fast").binding_mode(None).obj()
    assert pre_filter(claim, unset) == unresolvable('VolumeBindingMode not set for StorageClass "fast"')


def test_missing_claims_and_volumes_are_reported() -> None:
    assert pre_filter() == unresolvable('persistentvolumeclaim "data" not found')
    assert pre_filter(make_claim("data").bound("disk").obj()) == unresolvable('persistentvolume "disk" not found')


def test_a_claim_must_have_a_name() -> None:
    status = plugin_with().pre_filter(CycleState(), make_pod().pvc("").info(), ())
    assert status == unresolvable(ERR_CLAIM_WITHOUT_NAME)


def test_only_pods_with_claims_are_its_concern() -> None:
    assert plugin_with().concerns(POD)
    assert not plugin_with().concerns(make_pod().info())
    assert plugin_with().pre_filter(CycleState(), make_pod().info(), ()) == SKIP
