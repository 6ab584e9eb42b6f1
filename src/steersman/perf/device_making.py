"""Devices of the operations: what a driver publishes on its nodes, and claims that have devices without a pod.

In come operations and the objects of the cluster, out come slices and claims that `running` writes.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

import msgspec

from steersman import api
from steersman.errors import InputError
from steersman.perf.operations import CreateResourceDriver
from steersman.perf.templates import Draft
from steersman.plugins.dynamic_resources.allocation import (
    DevicesInUse,
    Features,
    NodeDevices,
    PublishedDevices,
    allocation_of,
    find_devices,
    prepare,
)
from steersman.plugins.dynamic_resources.allocation import Supply as Choice
from steersman.state.objects import ObjectStore


def slices(operation: CreateResourceDriver, nodes: Iterable[str]) -> Iterator[tuple[Draft]]:
    """One for each node of the driver, with upstream's devices."""
    devices = tuple(_device(number) for number in range(operation.max_claims_per_node))
    for name in nodes:
        if fnmatchcase(name, operation.nodes):
            pool = api.ResourcePool(name=name, resource_slice_count=1)
            spec = api.ResourceSliceSpec(driver=operation.driver_name, node_name=name, pool=pool, devices=devices)
            yield (Draft(api.ResourceSlice(metadata=api.ObjectMeta(name=name), spec=spec)),)


def _device(number: int) -> api.Device:
    return api.Device(
        name=f"instance-{number}",
        attributes={
            "model": api.DeviceAttribute(string_value="A100"),
            "family": api.DeviceAttribute(string_value="GPU"),
            "driverVersion": api.DeviceAttribute(version_value="1.2.3"),
            "dra.example.com/numa": api.DeviceAttribute(int_value=number),
        },
        capacity={"memory": api.DeviceCapacity(value="1Gi")},
    )


class Supply:
    """The devices of a cluster, for claims that nobody uses yet. Nodes are chosen at random, the same in every run."""

    def __init__(
        self, nodes: Sequence[api.Node], published: Iterable[api.ResourceSlice], classes: Iterable[api.DeviceClass]
    ) -> None:
        self._random = random.Random(0)
        self._nodes = list(nodes)
        self._classes = {one.metadata.name: one for one in classes}
        store = ObjectStore()
        for one in published:
            store.put(one)
        self._published = PublishedDevices(store, partitionable=True)

    def allocated(self, claims: Sequence[api.ResourceClaim], namespace: str) -> Iterator[api.ResourceClaim]:
        """The claims of the namespace, or of all of them, that had no devices, with devices."""
        in_use = DevicesInUse()
        for claim in claims:
            if claim.status.allocation is not None:
                in_use.add(claim.status.allocation)
        for claim in claims:
            if claim.status.allocation is None and namespace in ("", claim.metadata.namespace):
                allocation = self._allocation(claim, in_use)
                in_use.add(allocation)
                yield msgspec.structs.replace(claim, status=api.ResourceClaimStatus(allocation=allocation))

    def _allocation(self, claim: api.ResourceClaim, in_use: DevicesInUse) -> api.AllocationResult:
        features = Features()
        (prepared,) = prepare([claim], self._classes.get, features)
        choice = Choice(in_use, features)
        for node in self._in_any_order():
            found = find_devices([prepared], node, choice)
            if found is not None:
                return allocation_of(prepared, found[0], node.node.metadata.name, features, self._new_share_id)
        raise InputError("cannot be allocated: no node has devices for it", object=f"ResourceClaim {api.key(claim)}")

    def _in_any_order(self) -> Iterator[NodeDevices]:
        """From a random node on, so that not all of them have to be shuffled for each claim."""
        start = self._random.randrange(len(self._nodes)) if self._nodes else 0
        for node in (*self._nodes[start:], *self._nodes[:start]):
            yield self._published.of(node)

    def _new_share_id(self) -> str:
        return f"{self._random.getrandbits(128):032x}"
