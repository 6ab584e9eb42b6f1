# SPDX-License-Identifier: Apache-2.0
"""The first devices that fit are taken, pool after pool, slice after slice, in the order of the slice."""

from __future__ import annotations

import pytest
from tests.plugins.dynamic_resources.allocation.supply import devices

from steersman.scheduler.plugins.dynamic_resources.allocation import AllocationFault
from steersman.testing import make_resource_claim, make_slice

LOCAL = make_slice("n").on_node("n").device("b").device("a").device("c")


def test_devices_come_in_the_order_in_which_they_are_published() -> None:
    assert devices([make_resource_claim("c").asks("r", "any", count=2)], [LOCAL]) == ["n/b", "n/a"]


def test_pools_are_tried_in_the_order_of_driver_and_name() -> None:
    second = make_slice("x").pool("b").on_node("n").device("d")
    first = make_slice("y").pool("a").on_node("n").device("d")
    another_driver = make_slice("z").pool("0").driver("zzz.example.com").on_node("n").device("d")
    assert devices([make_resource_claim("c").asks("r", "any", count=3)], [another_driver, second, first]) == [
        "a/d",
        "b/d",
        "0/d",
    ]


def test_slices_of_a_pool_are_tried_in_the_order_of_their_names() -> None:
    later = make_slice("s2").pool("p", slices=2).on_node("n").device("d2")
    earlier = make_slice("s1").pool("p", slices=2).on_node("n").device("d9")
    assert devices([make_resource_claim("c").asks("r", "any")], [later, earlier]) == ["p/d9"]


def test_what_others_have_is_left_out() -> None:
    other = make_resource_claim("other").allocated(("r", "gpu.example.com", "n", "b"))
    assert devices([make_resource_claim("c").asks("r", "any")], [LOCAL], taken=[other]) == ["n/a"]


def test_claims_and_requests_do_not_get_the_same_device() -> None:
    one = make_resource_claim("one").asks("r", "any").asks("s", "any")
    two = make_resource_claim("two").asks("r", "any")
    assert devices([one, two], [LOCAL]) == ["n/b", "n/a", "n/c"]


def test_nothing_is_found_where_there_are_too_few() -> None:
    assert devices([make_resource_claim("c").asks("r", "any", count=4)], [LOCAL]) is None


def test_all_devices_are_taken_or_none() -> None:
    everything = make_resource_claim("c").asks_for_all("r", "any")
    assert devices([everything], [LOCAL]) == ["n/b", "n/a", "n/c"]
    other = make_resource_claim("other").allocated(("r", "gpu.example.com", "n", "c"))
    assert devices([everything], [LOCAL], taken=[other]) is None
    assert devices([everything], [make_slice("m").on_node("m").device("d")]) is None


def test_a_choice_is_dropped_when_the_rest_cannot_be_found_with_it() -> None:
    """The first request takes the device that the second one needs, and has to take another one."""
    slices = [make_slice("n").on_node("n").device("x", size="big").device("y", size="small").device("z", size="small")]
    pair = make_resource_claim("c").asks("one", "any").asks("two", "any").asks("three", "any")
    assert devices([pair.matching("gpu.example.com/size", "two", "three")], slices) == ["n/x", "n/y", "n/z"]
    assert devices([pair.matching("gpu.example.com/size", "one", "two")], slices) == ["n/y", "n/z", "n/x"]


def test_a_claim_cannot_have_more_than_32_devices() -> None:
    many = make_slice("n").on_node("n")
    for number in range(40):
        many = many.device(f"d{number}")
    assert devices([make_resource_claim("c").asks("r", "any", count=32)], [many]) is not None
    with pytest.raises(AllocationFault, match="number of requested devices 33 exceeds the claim limit of 32"):
        devices([make_resource_claim("c").asks("r", "any", count=33)], [many])


def test_a_class_that_has_gone_is_a_fault() -> None:
    with pytest.raises(AllocationFault, match="claim default/c, request r: could not retrieve device class ghost"):
        devices([make_resource_claim("c").asks("r", "ghost")], [LOCAL])


def test_an_unknown_mode_is_a_fault() -> None:
    with pytest.raises(AllocationFault, match="unsupported count mode Some"):
        devices([make_resource_claim("c").asks("r", "any", allocation_mode="Some")], [LOCAL])
