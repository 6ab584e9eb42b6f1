# SPDX-License-Identifier: Apache-2.0
"""Devices that several claims share, each with a part of the capacity."""

from __future__ import annotations

import pytest
from tests.plugins.dynamic_resources.allocation.supply import allocations, devices

from steersman import api
from steersman.scheduler.plugins.dynamic_resources.allocation import AllocationFault, Features
from steersman.testing import ResourceClaimBuilder, SliceBuilder, make_resource_claim, make_slice


def shared(policy: api.CapacityRequestPolicy | None = None, value: str = "10Gi") -> SliceBuilder:
    capacity = {"memory": api.DeviceCapacity(value=value, request_policy=policy)}
    return (
        make_slice("n").on_node("n").devices(api.Device(name="d", capacity=capacity, allow_multiple_allocations=True))
    )


def asking(memory: str | None, name: str = "c") -> ResourceClaimBuilder:
    capacity = None if memory is None else api.CapacityRequirements(requests={"memory": memory})
    return make_resource_claim(name).asks("r", "any", capacity=capacity)


def consumed(claim: ResourceClaimBuilder, slices: SliceBuilder) -> str:
    (allocation,) = allocations([claim], [slices])
    (result,) = allocation.devices.results
    return str(result.consumed_capacity["memory"])


def having(memory: str) -> ResourceClaimBuilder:
    """A claim that has a share already."""
    result = api.DeviceRequestAllocationResult(
        request="r",
        driver="gpu.example.com",
        pool="n",
        device="d",
        share_id="share",
        consumed_capacity={"memory": memory},
    )
    allocation = api.AllocationResult(devices=api.DeviceAllocationResult(results=(result,)))
    return make_resource_claim("other")._status(allocation=allocation)


def test_claims_share_a_device_until_it_is_full() -> None:
    assert devices([asking("4Gi", "a"), asking("6Gi", "b")], [shared()]) == ["n/d", "n/d"]
    assert devices([asking("4Gi", "a"), asking("7Gi", "b")], [shared()]) is None


def test_shares_of_others_count() -> None:
    assert devices([asking("6Gi")], [shared()], taken=[having("4Gi")]) == ["n/d"]
    assert devices([asking("6Gi")], [shared()], taken=[having("5Gi")]) is None


def test_every_share_has_an_identity() -> None:
    one, two = allocations([asking("4Gi", "a"), asking("6Gi", "b")], [shared()])
    assert [a.devices.results[0].share_id for a in (one, two)] == ["share-0", "share-1"]


def test_without_an_amount_the_default_or_everything_is_taken() -> None:
    assert consumed(asking(None), shared()) == "10Gi"
    assert consumed(asking(None), shared(api.CapacityRequestPolicy(default="1Gi"))) == "1Gi"


def test_an_amount_is_raised_to_the_next_valid_value() -> None:
    policy = api.CapacityRequestPolicy(default="1Gi", valid_values=("1Gi", "4Gi", "8Gi"))
    assert consumed(asking("3Gi"), shared(policy)) == "4Gi"
    assert consumed(asking("4Gi"), shared(policy)) == "4Gi"
    assert devices([asking("9Gi")], [shared(policy)]) is None


def test_an_amount_is_raised_to_the_next_step_of_the_range() -> None:
    steps = api.CapacityRequestPolicyRange(min="1Gi", max="8Gi", step="2Gi")
    policy = api.CapacityRequestPolicy(default="1Gi", valid_range=steps)
    assert consumed(asking("512Mi"), shared(policy)) == "1Gi"
    assert consumed(asking("2Gi"), shared(policy)) == "3Gi"
    assert consumed(asking("7Gi"), shared(policy)) == "7Gi"
    assert devices([asking("8Gi")], [shared(policy)]) is None


def test_a_range_without_steps_takes_any_amount_within() -> None:
    policy = api.CapacityRequestPolicy(valid_range=api.CapacityRequestPolicyRange(min="1Gi", max="8Gi"))
    assert consumed(asking("1536Mi"), shared(policy)) == "1536Mi"


def test_a_capacity_that_the_device_does_not_have_is_not_found() -> None:
    other = make_resource_claim("c").asks("r", "any", capacity=api.CapacityRequirements(requests={"lanes": "1"}))
    assert devices([other], [shared()]) is None


def test_a_device_that_is_not_shared_must_have_as_much_as_is_requested() -> None:
    capacity = {"memory": api.DeviceCapacity(value="10Gi")}
    single = make_slice("n").on_node("n").devices(api.Device(name="d", capacity=capacity))
    assert devices([asking("10Gi")], [single]) == ["n/d"]
    assert devices([asking("11Gi")], [single]) is None
    (allocation,) = allocations([asking("10Gi")], [single])
    assert allocation.devices.results[0].share_id is None
    assert allocation.devices.results[0].consumed_capacity == {}


def test_without_the_gate_amounts_are_a_fault_and_devices_are_not_shared() -> None:
    features = Features(consumable_capacity=False)
    with pytest.raises(AllocationFault, match="the DRAConsumableCapacity feature is disabled"):
        devices([asking("1Gi")], [shared()], features=features)
    assert devices([asking(None, "a"), asking(None, "b")], [shared()], features=features) is None


def test_shares_of_one_device_take_its_counters_once() -> None:
    taken = api.DeviceCounterConsumption(counter_set="card", counters={"slots": api.Counter(value="1")})
    device = api.Device(
        name="d",
        capacity={"memory": api.DeviceCapacity(value="10Gi")},
        allow_multiple_allocations=True,
        consumes_counters=(taken,),
    )
    slices = [
        make_slice("a").pool("n", slices=2).on_node("n").devices(device),
        make_slice("b").pool("n", slices=2).on_node("n").counters("card", slots="1"),
    ]
    assert devices([asking("4Gi", "a"), asking("6Gi", "b")], slices) == ["n/d", "n/d"]
