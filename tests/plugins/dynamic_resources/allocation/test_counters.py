# SPDX-License-Identifier: Apache-2.0
"""Partitions of one device exclude each other by the counters that they share."""

from __future__ import annotations

import pytest
from tests.plugins.dynamic_resources.allocation.supply import devices

from steersman import api
from steersman.scheduler.plugins.dynamic_resources.allocation import Features, NodeFault
from steersman.testing import SliceBuilder, make_resource_claim, make_slice

ONE = make_resource_claim("c").asks("r", "any")
COUNTERS = make_slice("counters").pool("p", slices=2).on_node("n").counters("card", memory="40Gi")


def partition(name: str, memory: str, counter_set: str = "card") -> api.Device:
    taken = api.DeviceCounterConsumption(counter_set=counter_set, counters={"memory": api.Counter(value=memory)})
    return api.Device(name=name, consumes_counters=(taken,))


def partitions(*parts: api.Device) -> SliceBuilder:
    return make_slice("parts").pool("p", slices=2).on_node("n").devices(*parts)


HALVES = partitions(partition("whole", "40Gi"), partition("left", "20Gi"), partition("right", "20Gi"))


def test_the_whole_leaves_nothing_for_its_parts() -> None:
    assert devices([ONE], [COUNTERS, HALVES]) == ["p/whole"]
    assert devices([make_resource_claim("c").asks("r", "any", count=2)], [COUNTERS, HALVES]) == ["p/left", "p/right"]
    assert devices([make_resource_claim("c").asks("r", "any", count=3)], [COUNTERS, HALVES]) is None


def test_what_others_have_counts() -> None:
    other = make_resource_claim("other").allocated(("r", "gpu.example.com", "p", "left"))
    assert devices([ONE], [COUNTERS, HALVES], taken=[other]) == ["p/right"]


def test_more_than_there_is_in_use_stops_everything() -> None:
    big = partitions(partition("big", "50Gi"), partition("small", "1Gi"))
    other = make_resource_claim("other").allocated(("r", "gpu.example.com", "p", "big"))
    assert devices([ONE], [COUNTERS, big], taken=[other]) is None


def test_devices_on_other_nodes_take_from_the_same_counters() -> None:
    here = make_slice("here").pool("p", slices=3).on_node("n").devices(partition("h", "30Gi"))
    there = make_slice("there").pool("p", slices=3).on_node("m").devices(partition("t", "30Gi"))
    counters = make_slice("counters").pool("p", slices=3).everywhere().counters("card", memory="40Gi")
    assert devices([ONE], [counters, here, there]) == ["p/h"]
    other = make_resource_claim("other").allocated(("r", "gpu.example.com", "p", "t"))
    assert devices([ONE], [counters, here, there], taken=[other]) is None


@pytest.mark.parametrize("counter_set", ["card", "gone"])
def test_counters_that_do_not_exist_make_the_pool_invalid(counter_set: str) -> None:
    odd = api.DeviceCounterConsumption(counter_set=counter_set, counters={"lanes": api.Counter(value="1")})
    with pytest.raises(NodeFault):
        devices([ONE], [COUNTERS, partitions(api.Device(name="d", consumes_counters=(odd,)))])


def test_a_set_that_comes_twice_makes_the_pool_invalid() -> None:
    twice = COUNTERS.counters("card", memory="40Gi")
    with pytest.raises(NodeFault):
        devices([ONE], [twice, HALVES])


def test_without_the_gate_counters_are_not_there() -> None:
    features = Features(partitionable_devices=False)
    assert devices([ONE], [COUNTERS, HALVES], features=features) is None
    alone = make_slice("s").on_node("n").devices(partition("p", "1Gi"))
    assert devices([ONE], [alone], features=features) is None
