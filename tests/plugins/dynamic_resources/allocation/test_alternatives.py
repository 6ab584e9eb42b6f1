# SPDX-License-Identifier: Apache-2.0
"""Requests with alternatives take the first that can be had."""

from __future__ import annotations

import pytest
from tests.plugins.dynamic_resources.allocation.supply import allocations, devices

from steersman.scheduler.plugins.dynamic_resources.allocation import AllocationFault, Features
from steersman.testing import SliceBuilder, make_resource_claim, make_slice

TWO = make_slice("n").on_node("n").device("a").device("b")
CHOICE = make_resource_claim("c").asks_for_first("r", best=("any", 3), next=("any", 2), last=("any", 1))


def of(count: int) -> SliceBuilder:
    slices = make_slice("n").on_node("n")
    for number in range(count):
        slices = slices.device(f"d{number}")
    return slices


def test_the_first_alternative_that_fits_is_taken() -> None:
    assert devices([CHOICE], [TWO]) == ["n/a", "n/b"]
    (allocation,) = allocations([CHOICE], [TWO])
    assert [result.request for result in allocation.devices.results] == ["r/next", "r/next"]


def test_an_earlier_claim_makes_do_with_less_so_that_a_later_one_gets_any() -> None:
    assert devices([CHOICE, make_resource_claim("d").asks("r", "any")], [TWO]) == ["n/a", "n/b"]


def test_constraints_may_name_an_alternative() -> None:
    pair = make_slice("n").on_node("n").device("a", x=1).device("b", x=2)
    choice = make_resource_claim("c").asks_for_first("r", both=("any", 2), one=("any", 1))
    assert devices([choice.matching("gpu.example.com/x", "r/both")], [pair]) == ["n/a"]
    assert devices([choice.matching("gpu.example.com/x", "r/one")], [pair]) == ["n/a", "n/b"]


def test_an_alternative_that_would_be_too_much_is_passed_over() -> None:
    choice = (
        make_resource_claim("c").asks("first", "any", count=30).asks_for_first("r", much=("any", 3), few=("any", 2))
    )
    found = devices([choice], [of(40)])
    assert found is not None
    assert len(found) == 32


def test_too_much_in_every_way_is_a_fault() -> None:
    choice = make_resource_claim("c").asks("first", "any", count=30).asks_for_first("r", much=("any", 3))
    with pytest.raises(AllocationFault, match="exceeds the claim limit"):
        devices([choice], [of(40)])


def test_without_the_gate_alternatives_are_a_fault() -> None:
    with pytest.raises(AllocationFault, match="the DRAPrioritizedList feature is disabled"):
        devices([CHOICE], [TWO], features=Features(prioritized_list=False))
