# SPDX-License-Identifier: Apache-2.0
"""Constraints across the devices of a claim."""

from __future__ import annotations

import pytest
from tests.plugins.dynamic_resources.allocation.supply import devices

from steersman import api
from steersman.scheduler.plugins.dynamic_resources.allocation import AllocationFault, Features
from steersman.testing import Builder, make_resource_claim, make_slice

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


def test_within_one_request_only_the_last_value_is_remembered_as_taken_up_to_v1_36() -> None:
    """Up to v1.36, of three devices of one request, the first and the third may be alike."""
    three = make_resource_claim("c").asks("r", "any", count=3).distinct("gpu.example.com/x")
    mixed = make_slice("n").on_node("n").device("a", x=1).device("b", x=2).device("c", x=1)
    assert devices([three], [mixed]) == ["n/a", "n/b", "n/c"]
    since_1_37 = Features(distinct_within_requests=True)
    assert devices([three], [mixed], features=since_1_37) is None
    assert devices([three], [mixed.device("d", x=3)], features=since_1_37) == ["n/a", "n/b", "n/d"]


# -- lists of values: cases of upstream's allocator ----------------------------------------------------------------------

LISTS = Features(list_attributes=True, distinct_within_requests=True)


def chosen(claim: Builder[api.ResourceClaim], *attributes: api.DeviceAttribute, features: Features = LISTS) -> str:
    """The numbers of the chosen devices, which have these values of the attribute `x`; "" if there are not enough."""
    published = (api.Device(name=str(number), attributes={"x": one}) for number, one in enumerate(attributes, 1))
    found = devices([claim], [make_slice("n").on_node("n").devices(*published)], features=features)
    return "".join(name.removeprefix("n/") for name in found or ())


def strings(*values: str) -> api.DeviceAttribute:
    return api.DeviceAttribute(string_values=values)


ONE = api.DeviceAttribute(string_value="1")
INTS = [api.DeviceAttribute(int_values=values) for values in ((0, 1), (1, 2), (2, 3))]
BOOLS = [api.DeviceAttribute(bool_values=values) for values in ((True,), (True, False), (False,))]
VERSIONS = [api.DeviceAttribute(version_values=values) for values in (("1", "1.1"), ("1.1", "2"), ("2", "2.1"))]
MATCHING = [
    (2, [ONE, ONE], "12"),
    (2, [strings("1", "2", "3"), strings("2", "3", "4")], "12"),
    (3, [strings("1", "2"), strings("2", "3"), strings("3", "1")], ""),
    (3, [strings("1", "2"), strings("1"), strings("2"), strings("2")], "134"),
    (2, [strings("1", "2"), strings("3", "4")], ""),
    (2, [ONE, strings("1", "2")], "12"),
    (3, [ONE, strings("1", "2"), strings("2", "3")], ""),
    (2, [ONE, strings("2", "3")], ""),
    (2, [ONE, api.DeviceAttribute(version_values=("1",))], ""),
    (2, INTS, "12"),
    (2, BOOLS, "12"),
    (2, VERSIONS, "12"),
    (1, [api.DeviceAttribute()], ""),
]
DISTINCT = [
    (2, [ONE, strings("2")], "12"),
    (2, [ONE, ONE], ""),
    (3, [ONE, strings("2"), ONE], ""),
    (3, [ONE, strings("2"), strings("3")], "123"),
    (2, [strings("1", "2"), strings("2", "3"), strings("3", "4")], "13"),
    (2, [strings("1", "2", "3"), strings("2", "4", "5")], ""),
    (2, [ONE, strings("1", "2"), strings("2", "3")], "13"),
    (2, [ONE, strings("1", "2")], ""),
    (2, INTS, "13"),
    (2, BOOLS, "13"),
    (2, VERSIONS, "13"),
    (3, [strings("1", "2"), strings("2", "3"), strings("1"), strings("3"), strings("4")], "145"),
    (1, [api.DeviceAttribute()], ""),
]


@pytest.mark.parametrize(("count", "values", "expected"), MATCHING)
def test_devices_with_lists_have_one_value_in_common(
    count: int, values: list[api.DeviceAttribute], expected: str
) -> None:
    claim = make_resource_claim("c").asks("r", "any", count=count).matching("gpu.example.com/x")
    assert chosen(claim, *values) == expected


@pytest.mark.parametrize(("count", "values", "expected"), DISTINCT)
def test_distinct_lists_have_no_value_in_common(count: int, values: list[api.DeviceAttribute], expected: str) -> None:
    claim = make_resource_claim("c").asks("r", "any", count=count).distinct("gpu.example.com/x")
    assert chosen(claim, *values) == expected


def test_without_the_gate_lists_have_no_value() -> None:
    pair = make_resource_claim("c").asks("r", "any", count=2)
    for claim in (pair.matching("gpu.example.com/x"), pair.distinct("gpu.example.com/x")):
        features = Features(distinct_within_requests=True)
        assert not chosen(claim, strings("1", "2"), strings("2", "3"), features=features)


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
