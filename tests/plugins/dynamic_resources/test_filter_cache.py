# SPDX-License-Identifier: Apache-2.0
"""Answers that are kept are those that a search would give."""

from __future__ import annotations

import random

import msgspec
import pytest
from tests.plugins.dynamic_resources.handle import OnePlugin

from steersman import api
from steersman.config import DynamicResourcesArgs
from steersman.framework.cycle_state import CycleState
from steersman.framework.pod_info import PodInfo
from steersman.scheduler.plugins.dynamic_resources import CLAIMS_STATE_KEY, CycleClaims, DynamicResources
from steersman.testing import make_device_class, make_node, make_pod, make_resource_claim, make_slice


def partition(name: str, memory: int) -> api.Device:
    taken = api.DeviceCounterConsumption(counter_set="card", counters={"memory": api.Counter(value=f"{memory}Gi")})
    return api.Device(name=name, attributes={"m": api.DeviceAttribute(int_value=memory)}, consumes_counters=(taken,))


NODES = [make_node(name).info() for name in "abcd"]
SLICES = (
    *(make_slice(name).on_node(name).device("x", m=1).device("y", m=2).device("z", m=1) for name in "abc"),
    make_slice("shared").everywhere().device("s0", m=1).device("s1", m=1),
    make_slice("card-counters").pool("card", slices=2).everywhere().counters("card", memory="4Gi"),
    make_slice("card-parts").pool("card", slices=2).everywhere().devices(partition("p0", 3), partition("p1", 1)),
    make_slice("lot")
    .everywhere()
    .devices(
        api.Device(name="parted", capacity={"memory": api.DeviceCapacity(value="4Gi")}, allow_multiple_allocations=True)
    ),
)
KINDS = (
    make_resource_claim("c").asks("r", "any"),
    make_resource_claim("c").asks("r", "any", count=2).matching("gpu.example.com/m"),
    make_resource_claim("c").asks_for_first("r", two=("any", 4), one=("any", 1)),
    make_resource_claim("c").asks("r", "any", count=3).distinct("gpu.example.com/m"),
    make_resource_claim("c").asks("r", "any", capacity=api.CapacityRequirements(requests={"memory": "3Gi"})),
    make_resource_claim("c").asks("r", "any", count=5),
)

Answers = dict[str, list[str] | str]


def answers(plugin: DynamicResources, pod: PodInfo) -> Answers:
    """Devices, or the reason, by node."""
    state = CycleState()
    assert plugin.pre_filter(state, pod, ()) is None
    found: Answers = {}
    for node in NODES:
        status = plugin.filter(state, pod, node)
        cycle = state.read(CLAIMS_STATE_KEY, CycleClaims)
        assert cycle is not None
        allocation = cycle.allocation_on(node.name)
        devices = [one.device.text for each in allocation.found for one in each] if allocation is not None else []
        found[node.name] = devices if status is None else status.message
    return found


class Days:
    """Pods come and go at random; before each step, what is remembered is compared with what a new plugin finds."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.one = OnePlugin(make_device_class("any"), *SLICES, nodes=NODES)
        self.users: dict[str, PodInfo] = {}
        self.count = 0

    def step(self) -> None:
        choice = self.random.random()
        if choice < 0.6 or not self.users:
            self.come()
        elif choice < 0.9:
            self.go()
        else:
            self.change_slice()

    def come(self) -> None:
        self.count += 1
        name = f"c{self.count}"
        self.one.handle.store.put(self.random.choice(KINDS).name(name).obj())
        pod = make_pod(f"p{self.count}").resource_claim(name).info()
        expected = answers(DynamicResources(DynamicResourcesArgs(), self.one.handle), pod)
        assert answers(self.one.plugin, pod) == expected
        fitting = [node for node, found in expected.items() if isinstance(found, list)]
        if fitting:
            node = self.random.choice(fitting)
            self.one.place(pod, node)
            assert self.one.devices(name) == [text.rpartition("/")[2] for text in expected[node]]
            self.users[name] = pod

    def go(self) -> None:
        name = self.random.choice(list(self.users))
        del self.users[name]
        self.one.handle.store.remove(self.one.claim(name))

    def change_slice(self) -> None:
        builder = self.random.choice(SLICES)
        published = builder.obj()
        some = tuple(device for device in published.spec.devices if self.random.random() < 0.7)
        spec = msgspec.structs.replace(published.spec, devices=some)
        self.one.handle.store.put(msgspec.structs.replace(published, spec=spec))


@pytest.mark.parametrize("seed", range(10))
def test_what_is_remembered_is_what_would_be_found(seed: int) -> None:
    days = Days(seed)
    for _ in range(60):
        days.step()


def test_a_node_that_changes_is_examined_again() -> None:
    zonal = make_slice("s").where("zone", "a").device("d")
    one = OnePlugin(make_resource_claim("c").asks("r", "any"), make_device_class("any"), zonal)
    pod = make_pod("p").resource_claim("c").info()
    before, after = make_node("n").info(), make_node("n").label("zone", "a").info()
    for node, reason in ((before, "cannot allocate all claims"), (after, None), (before, "cannot allocate all claims")):
        assert one.pre_filter(pod) is None
        status = one.plugin.filter(one.state, pod, node)
        assert (status.message if status is not None else None) == reason


def test_a_class_that_changes_is_examined_again() -> None:
    one = OnePlugin(make_resource_claim("c").asks("r", "any"), make_device_class("any"), *SLICES[:1], nodes=NODES[:1])
    pod = make_pod("p").resource_claim("c").info()
    assert one.reasons(pod) == {"a": ""}
    one.handle.store.put(make_device_class("any").selects("false").obj())
    assert one.reasons(pod) == {"a": "cannot allocate all claims"}


def test_what_was_taken_for_a_pod_stays_what_it_was() -> None:
    """Between Reserve and PreBind others may ask the same of the node."""
    gpu = "example.com/gpu"
    one = OnePlugin(make_device_class("any").backs(gpu), *SLICES[:1], nodes=NODES[:1])
    first, second = (make_pod(name).req(**{gpu: "1"}).info() for name in ("one", "two"))
    assert one.take(first, "a") is None
    state = one.state
    assert one.take(second, "a") is None
    assert one.bind(second, "a") is None
    one.state = state
    assert one.bind(first, "a") is None
    claims = one.handle.store.list(api.ResourceClaim)
    assert sorted(r.device for c in claims if c.status.allocation for r in c.status.allocation.devices.results) == [
        "x",
        "y",
    ]
