# SPDX-License-Identifier: Apache-2.0
"""Only complete pools of the newest generation are used, and pools that contradict themselves are not."""

from __future__ import annotations

import pytest
from tests.plugins.dynamic_resources.allocation.supply import devices

from steersman import api
from steersman.scheduler.plugins.dynamic_resources.allocation import AllocationFault, NodeFault
from steersman.testing import SliceBuilder, make_resource_claim, make_slice

ONE = make_resource_claim("c").asks("r", "any")
ALL = make_resource_claim("c").asks_for_all("r", "any")


def of_pool(name: str, generation: int, slices: int = 1) -> SliceBuilder:
    return make_slice(name).pool("p", generation=generation, slices=slices).on_node("n")


def test_the_newest_generation_counts() -> None:
    old, new = of_pool("old", 1).device("a"), of_pool("new", 2).device("b")
    assert devices([ONE], [old, new]) == ["p/b"]


def test_a_pool_with_missing_slices_is_not_used() -> None:
    half = of_pool("half", 1, slices=2).device("a")
    other = make_slice("q").on_node("n").device("b")
    assert devices([ONE], [half]) is None
    assert devices([ONE], [half, other]) == ["q/b"]


def test_slices_that_reach_other_nodes_complete_a_pool() -> None:
    here = of_pool("here", 1, slices=2).device("a")
    there = make_slice("there").pool("p", slices=2).on_node("m").device("b")
    assert devices([ALL], [here, there]) == ["p/a"]


def test_a_generation_that_is_about_to_be_replaced_elsewhere_is_ignored() -> None:
    here = of_pool("here", 1, slices=2).device("a")
    there = make_slice("there").pool("p", generation=2, slices=2).on_node("m").device("b")
    assert devices([ONE], [here, there]) is None


def test_all_devices_of_an_incomplete_pool_cannot_be_allocated() -> None:
    with pytest.raises(
        AllocationFault, match=r"asks for all devices, but resource pool .*/p is currently being updated"
    ):
        devices([ALL], [of_pool("half", 1, slices=2).device("a")])


def test_a_name_that_comes_twice_makes_a_pool_invalid() -> None:
    twice = of_pool("x", 1).device("a").device("a")
    with pytest.raises(NodeFault, match="invalid resource pools were encountered"):
        devices([ONE], [twice])
    assert devices([ONE], [twice, make_slice("q").on_node("n").device("b")]) == ["q/b"]
    with pytest.raises(AllocationFault, match="is currently invalid"):
        devices([ALL], [twice])


def test_pools_whose_devices_take_time_come_last() -> None:
    slow = api.Device(name="a", binding_conditions=("Attached",), binding_failure_conditions=("Failed",))
    first = make_slice("a").on_node("n").devices(slow)
    second = make_slice("b").on_node("n").device("b")
    assert devices([ONE], [first, second]) == ["b/b"]
