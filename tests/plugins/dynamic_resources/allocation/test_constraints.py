# SPDX-License-Identifier: Apache-2.0
"""Constraints across the devices of a claim."""

from __future__ import annotations

import pytest
from tests.plugins.dynamic_resources.allocation.supply import devices

from steersman import api
from steersman.scheduler.plugins.dynamic_resources.allocation import AllocationFault
from steersman.testing import make_resource_claim, make_slice

SOCKETS = (
    make_slice("n").on_node("n").device("a", numa=0).device("b", numa=1).device("c", numa=1).device("plain", kind="x")
)
PAIR = make_resource_claim("c").asks("r", "any").asks("s", "any")


def test_devices_share_the_value_of_an_attribute() -> None:
    assert devices([PAIR.matching("gpu.example.com/numa")], [SOCKETS]) == ["n/b", "n/c"]


def test_devices_differ_in_the_value_of_an_attribute() -> None:
    assert devices([PAIR.distinct("gpu.example.com/numa")], [SOCKETS]) == ["n/a", "n/b"]


def test_a_constraint_may_be_for_some_requests_only() -> None:
    third = PAIR.asks("t", "any").matching("gpu.example.com/numa", "r", "t")
    assert devices([third], [SOCKETS]) == ["n/b", "n/a", "n/c"]


def test_a_device_without_the_attribute_does_not_go_with_any() -> None:
    assert devices([make_resource_claim("c").asks("r", "any").matching("gpu.example.com/gone")], [SOCKETS]) is None


def test_only_the_drivers_own_attributes_have_short_names() -> None:
    assert devices([PAIR.matching("nic.example.com/numa")], [SOCKETS]) is None


def test_a_qualified_name_is_found_as_it_is() -> None:
    attribute = {"dra.example.com/bus": api.DeviceAttribute(string_value="b1")}
    pair = make_slice("n").on_node("n").devices(*(api.Device(name=name, attributes=attribute) for name in "ab"))
    assert devices([PAIR.matching("dra.example.com/bus")], [pair]) == ["n/a", "n/b"]


def test_values_of_different_types_are_different() -> None:
    mixed = make_slice("n").on_node("n").device("a", x=1).device("b", x="1").device("c", x=1)
    assert devices([PAIR.matching("gpu.example.com/x")], [mixed]) == ["n/a", "n/c"]
    assert devices([PAIR.distinct("gpu.example.com/x")], [mixed]) == ["n/a", "n/b"]


def test_within_one_request_only_the_last_value_is_remembered_as_taken() -> None:
    """As upstream has it: of three devices of one request, the first and the third may be alike."""
    three = make_resource_claim("c").asks("r", "any", count=3).distinct("gpu.example.com/x")
    mixed = make_slice("n").on_node("n").device("a", x=1).device("b", x=2).device("c", x=1)
    assert devices([three], [mixed]) == ["n/a", "n/b", "n/c"]


def test_a_device_without_room_does_not_make_a_constraint_forget() -> None:
    """A device that is dropped takes the value of the request with it; one that was never taken does not."""
    small = api.Device(
        name="small",
        attributes={"x": api.DeviceAttribute(int_value=2)},
        capacity={"memory": api.DeviceCapacity(value="1", request_policy=api.CapacityRequestPolicy(default="2"))},
    )
    mixed = make_slice("n").on_node("n").device("a", x=1).devices(small).device("b", x=1).device("c", x=3)
    two = make_resource_claim("c").asks("r", "any", count=2).distinct("gpu.example.com/x")
    assert devices([two], [mixed]) == ["n/a", "n/c"]


def test_all_devices_that_a_constraint_excludes_are_a_fault() -> None:
    everything = make_resource_claim("c").asks_for_all("r", "any").matching("gpu.example.com/numa")
    why = "cannot add device gpu.example.com/n/b because a claim constraint would not be satisfied"
    with pytest.raises(AllocationFault, match=why):
        devices([everything], [SOCKETS])


def test_a_constraint_of_an_unknown_kind_is_a_fault() -> None:
    with pytest.raises(AllocationFault, match="constraint #0: empty constraint"):
        devices([PAIR._constraint(api.DeviceConstraint())], [SOCKETS])
