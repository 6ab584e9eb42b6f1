# SPDX-License-Identifier: Apache-2.0
"""Claims that wait for a consumer get volumes that are there: the smallest that fit, on nodes that can use them."""

from __future__ import annotations

import pytest
from tests.plugins.volume_binding.cluster import Cycle, VolumeCluster

from steersman import api
from steersman.api.persistent_volumes import NO_PROVISIONER
from steersman.framework.status import Code, Status, unresolvable
from steersman.scheduler.plugins.volume_binding import (
    ERR_REASON_BIND_CONFLICT,
    ERR_REASON_NODE_CONFLICT,
    ERR_REASON_PV_NOT_EXIST,
)
from steersman.testing import (
    ClaimBuilder,
    VolumeBuilder,
    is_in,
    make_claim,
    make_node,
    make_pod,
    make_storage_class,
    make_volume,
)

NODES = [make_node("a").label("host", "a"), make_node("b").label("host", "b")]
LOCAL = make_storage_class("local").waits().provisioner(NO_PROVISIONER)
CONFLICT = unresolvable(ERR_REASON_BIND_CONFLICT)


def claim(name: str = "data", size: str = "10Gi") -> ClaimBuilder:
    return make_claim(name).storage_class("local").asks(size)


def volume(name: str, size: str = "10Gi") -> VolumeBuilder:
    return make_volume(name).storage_class("local").offers(size)


def cycle(*objects: ClaimBuilder | VolumeBuilder) -> Cycle:
    web = make_pod("web")
    for obj in objects:
        if isinstance(obj, ClaimBuilder):
            web = web.pvc(obj.obj().metadata.name)
    return Cycle(VolumeCluster(LOCAL, *objects, nodes=NODES), web)


def chosen(*objects: ClaimBuilder | VolumeBuilder, node: str = "a") -> dict[str, str] | Status:
    """Volumes by claim, or why there are none."""
    attempt = cycle(*objects)
    return attempt.filter(node) or attempt.bindings(node)


def test_the_smallest_volume_that_fits_is_taken() -> None:
    assert chosen(claim(), volume("large", "100Gi"), volume("fits", "10Gi"), volume("small", "5Gi")) == {"data": "fits"}


def test_sizes_are_compared_exactly_however_they_are_written() -> None:
    assert chosen(claim(size="1Gi"), volume("v", "1073741823")) == CONFLICT
    assert chosen(claim(size="1Gi"), volume("v", "1073741824")) == {"data": "v"}
    assert chosen(claim(size="1Gi"), volume("b", "2G"), volume("a", "2Gi")) == {"data": "b"}


def test_of_equally_large_ones_the_first_by_name_is_taken() -> None:
    assert chosen(claim(), volume("c"), volume("a"), volume("b")) == {"data": "a"}


def test_a_volume_must_be_usable_on_the_node() -> None:
    there = volume("there").on(is_in("host", "b"))
    assert chosen(claim(), there, node="a") == CONFLICT
    assert chosen(claim(), there, node="b") == {"data": "there"}


@pytest.mark.parametrize(
    "unfit",
    [
        volume("v").phase("Released"),
        volume("v").phase("Pending"),
        volume("v").storage_class("other"),
        volume("v").modes("ReadOnlyMany"),
        volume("v").volume_mode("Block"),
        volume("v").claimed(claim("somebody")),
        volume("v").claimed(claim().uid("another")),
        volume("v").terminating(),
        volume("v").source(volume_attributes_class_name="gold"),
    ],
)
def test_other_volumes_are_not_taken(unfit: VolumeBuilder) -> None:
    assert chosen(claim(), unfit) == CONFLICT


def test_a_volume_may_offer_more_access_modes_than_the_claim_asks_for() -> None:
    assert chosen(claim(), volume("v").modes("ReadOnlyMany", "ReadWriteOnce")) == {"data": "v"}


def test_the_selector_of_the_claim_must_match_the_labels_of_the_volume() -> None:
    picky = claim().selector({"tier": "gold"})
    assert chosen(picky, volume("v").label("tier", "silver")) == CONFLICT
    assert chosen(picky, volume("v").label("tier", "gold")) == {"data": "v"}


def test_a_selector_that_is_none_is_a_fault() -> None:
    odd = claim().selector(
        api.LabelSelector(match_expressions=(api.LabelSelectorRequirement(key="k", operator="Odd"),))
    )
    status = cycle(odd, volume("v")).filter("a")
    assert status is not None
    assert status.code is Code.ERROR
    assert status.message.startswith("error creating internal label selector for claim: default/data: ")


def test_a_volume_set_aside_for_the_claim_is_taken_before_any_other() -> None:
    mine = volume("mine", "100Gi").claimed(claim(), uid="")
    assert chosen(claim(), volume("small", "10Gi"), mine) == {"data": "mine"}


def test_if_the_node_cannot_use_what_is_set_aside_nothing_else_will_do() -> None:
    mine = volume("mine").claimed(claim(), uid="").on(is_in("host", "b"))
    assert chosen(claim(), volume("other"), mine, node="a") == CONFLICT


def test_what_is_set_aside_may_be_of_another_phase_and_lack_labels_but_must_be_large_enough() -> None:
    picky = claim().selector({"tier": "gold"})
    assert chosen(picky, volume("mine").phase("Pending").claimed(claim(), uid="")) == {"data": "mine"}
    assert chosen(claim(), volume("mine", "1Gi").claimed(claim(), uid="")) == CONFLICT


def test_two_claims_get_different_volumes_the_smaller_claim_first() -> None:
    got = chosen(claim("big", "50Gi"), claim("small", "1Gi"), volume("v60", "60Gi"), volume("v50", "50Gi"))
    assert got == {"small": "v50", "big": "v60"}


def test_all_claims_must_find_a_volume() -> None:
    assert chosen(claim("one"), claim("two"), volume("v")) == CONFLICT


def test_reasons_of_bound_and_unbound_claims_are_reported_together() -> None:
    bound = make_claim("bound").bound("far")
    far = volume("far").on(is_in("host", "b"))
    both = unresolvable(ERR_REASON_NODE_CONFLICT, ERR_REASON_BIND_CONFLICT)
    assert chosen(bound, claim(), far) == both
    missing = unresolvable(ERR_REASON_BIND_CONFLICT, ERR_REASON_PV_NOT_EXIST)
    assert chosen(bound, claim()) == missing


def test_one_bound_and_one_that_finds_a_volume() -> None:
    bound = make_claim("bound").bound("near")
    near = volume("near").claimed(bound).on(is_in("host", "a"))
    assert chosen(bound, claim(), near, volume("v")) == {"data": "v"}
