# SPDX-License-Identifier: Apache-2.0
"""ResourceSlices, prepared once: their devices, and which nodes they reach."""

from __future__ import annotations

from steersman.api import Node, ResourceSlice
from steersman.plugins.dynamic_resources.allocation.devices import PoolId, PublishedDevice
from steersman.plugins.dynamic_resources.allocation.reach import Reach


class PublishedSlice:
    """A slice with its devices. Lives as long as the slice stays as it is."""

    __slots__ = ("counter_sets", "devices", "generation", "name", "pool", "reach", "slice", "slice_count")

    def __init__(self, published: ResourceSlice) -> None:
        spec = published.spec
        self.slice = published
        self.name = published.metadata.name
        self.pool: PoolId = (spec.driver, spec.pool.name)
        self.generation = spec.pool.generation
        self.slice_count = spec.pool.resource_slice_count
        self.counter_sets = spec.shared_counters
        self.reach = Reach(spec.node_name, spec.all_nodes, spec.node_selector)
        self.devices = tuple(PublishedDevice(device, published) for device in spec.devices)

    @property
    def has_counters(self) -> bool:
        return bool(self.counter_sets)

    @property
    def is_local(self) -> bool:
        """Only the node that it names can have anything to do with it."""
        return bool(self.reach.node_name) and not self.has_counters

    @property
    def needs_partitions(self) -> bool:
        """Without the gate DRAPartitionableDevices it is as if it were not there."""
        return self.has_counters or self.slice.spec.per_device_node_selection is not None

    def reaches(self, node: Node) -> bool:
        """Shared counters are needed wherever the pool is used."""
        if self.has_counters:
            return True
        if self.reach:
            return self.reach.includes(node)
        return any(device.reach is not None and device.reach.includes(node) for device in self.devices)
