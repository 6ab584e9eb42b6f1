# SPDX-License-Identifier: Apache-2.0
"""How many devices of a class a node has, and how many of them are allocated: what scores of extended resources count.

Rougher than the search, as upstream has it: generations, completeness and taints of pools do not matter.
"""

from __future__ import annotations

from collections.abc import Iterator

from steersman.api import DeviceClass, Node, ResourceSlice
from steersman.framework.handle import Objects
from steersman.plugins.dynamic_resources.allocation.devices import PublishedDevice
from steersman.plugins.dynamic_resources.allocation.faults import AllocationFault
from steersman.plugins.dynamic_resources.allocation.requests import expressions_of
from steersman.plugins.dynamic_resources.allocation.selectors import Selectors
from steersman.plugins.dynamic_resources.allocation.slices import PublishedSlice
from steersman.plugins.dynamic_resources.allocation.usage import DevicesInUse


class DeviceTotals:
    """Slices are prepared when they change."""

    def __init__(self, objects: Objects, selectors: Selectors) -> None:
        self._objects = objects
        self._selectors = selectors
        self._version = -1
        self._local: dict[str, list[PublishedSlice]] = {}
        self._shared: list[PublishedSlice] = []

    def of(self, node: Node, device_class: DeviceClass, in_use: DevicesInUse) -> tuple[int, int]:
        """All devices, and those that are allocated. Nothing where an expression of the class cannot be evaluated."""
        expressions = expressions_of(device_class.spec.selectors)
        total = allocated = 0
        try:
            for device in self._devices(node):
                if self._selectors.match(device, expressions):
                    total += 1
                    allocated += in_use.is_allocated(device.id)
        except AllocationFault:
            return 0, 0
        return total, allocated

    def _devices(self, node: Node) -> Iterator[PublishedDevice]:
        if self._objects.version(ResourceSlice) != self._version:
            self._read()
        for one in (*self._local.get(node.metadata.name, ()), *self._shared):
            for device in one.devices if not one.reach or one.reach.includes(node) else ():
                if device.reach is None or device.reach.includes(node):
                    yield device

    def _read(self) -> None:
        self._version = self._objects.version(ResourceSlice)
        self._local, self._shared = {}, []
        for one in map(PublishedSlice, self._objects.list(ResourceSlice)):
            if one.reach.node_name:
                self._local.setdefault(one.reach.node_name, []).append(one)
            else:
                self._shared.append(one)
