# SPDX-License-Identifier: Apache-2.0
"""ResourceSlices as the allocator sees them: their devices, and the nodes that can use these.

Everything is worked out here that depends on neither pod nor node, once per slice, for as long as the slice stays as it is.
`pools` sorts the slices by pool and node; `search` and what it asks read the devices.
"""

from __future__ import annotations

from weakref import WeakValueDictionary

import msgspec

from steersman.api import Device, DeviceAttribute, Node, NodeSelector, ResourceSlice
from steersman.api.meta import Quantity
from steersman.api.node_selectors import AnyTerm, strict
from steersman.api.quantity import NANO, memoised, parse
from steersman.bounded_table import RecentTable
from steersman.cel import AttributeValue, DeviceInput, Version
from steersman.errors import InputError
from steersman.graph_copy import shared_by_copies
from steersman.kept import Kept
from steersman.plugins.dynamic_resources.allocation.limits import AllocationFault

#: Driver, pool, name: what tells a device from every other one of the cluster.
DeviceId = tuple[str, str, str]
#: Driver and name.
PoolId = tuple[str, str]
#: The name of a set of shared counters, and of a counter in it.
CounterId = tuple[str, str]

#: Of so many selectors it is remembered whether a device matches.
_MOST_ANSWERS = 256

_encoder = msgspec.json.Encoder()


@memoised
def nanos(quantity: Quantity) -> int:
    """The exact value in billionths: no quantity is finer than that."""
    amount = parse(quantity)
    return amount.unscaled * 10 ** (amount.scale - NANO) if amount.scale >= NANO else 0


DEVICE_ANSWERS = Kept(
    name="answers of devices",
    attributes=("DeviceTraits.answers",),
    holds="whether a CEL expression matches a device",
    key="driver, attributes and capacity of a device; expression",
    stamps="never: goes with the last device that is like this",
    bound="256 expressions for devices that are alike, the latest (`RecentTable`)",
    twin="the expression, evaluated",
    held_equal="tests/plugins/dynamic_resources/allocation/test_choosing_devices.py",
)


@shared_by_copies
class DeviceTraits:
    """A device as expressions see it, and what they said. Devices that are alike have one: a cluster has few models."""

    __slots__ = ("__weakref__", "_device", "_driver", "_input", "answers")

    def __init__(self, driver: str, device: Device) -> None:
        self._driver = driver
        self._device = device
        self._input: DeviceInput | None = None
        #: By expression: whether it matches, or why that cannot be said.
        self.answers: RecentTable[str, bool | str] = RecentTable(_MOST_ANSWERS)

    @property
    def input(self) -> DeviceInput:
        if self._input is None:
            device = self._device
            attributes = {name: _value(attribute) for name, attribute in device.attributes.items()}
            capacity = {name: capacity.value for name, capacity in device.capacity.items()}
            self._input = DeviceInput(self._driver, attributes, capacity, device.allow_multiple_allocations)
        return self._input


@shared_by_copies
class KnownTraits:
    """The traits of all devices that there are, so that those of a new device may be known already."""

    def __init__(self) -> None:
        self._known: WeakValueDictionary[tuple[str, bytes], DeviceTraits] = WeakValueDictionary()

    def of(self, driver: str, device: Device) -> DeviceTraits:
        seen = (device.attributes, device.capacity, device.allow_multiple_allocations)
        key = (driver, _encoder.encode(seen))
        traits = self._known.get(key)
        if traits is None:
            traits = self._known[key] = DeviceTraits(driver, device)
        return traits


@shared_by_copies
class PublishedDevice:
    """One device of a slice. Lives as long as the slice stays as it is."""

    __slots__ = ("consumes", "device", "id", "is_shared", "reach", "slice", "taints", "traits")

    def __init__(self, device: Device, published_in: ResourceSlice, known: KnownTraits) -> None:
        spec = published_in.spec
        self.id: DeviceId = (spec.driver, spec.pool.name, device.name)
        self.device = device
        self.slice = published_in
        #: The nodes that can use it; None: those that can use the slice.
        self.reach = (
            Reach(device.node_name, device.all_nodes, device.node_selector) if spec.per_device_node_selection else None
        )
        #: Several claims may have it at the same time.
        self.is_shared = bool(device.allow_multiple_allocations)
        #: What it takes of the pool's shared counters, in billionths.
        self.consumes = _consumption(device)
        #: The taints that keep claims away unless they tolerate them.
        self.taints = tuple(taint for taint in device.taints if taint.effect in ("NoSchedule", "NoExecute"))
        self.traits = known.of(spec.driver, device)

    @property
    def text(self) -> str:
        """The device's name as users read it."""
        return "/".join(self.id)


def _value(attribute: DeviceAttribute) -> AttributeValue:
    if attribute.version_value is not None:
        return Version(attribute.version_value)
    if attribute.version_values:
        return tuple(map(Version, attribute.version_values))
    for scalar in (attribute.int_value, attribute.bool_value, attribute.string_value):
        if scalar is not None:
            return scalar
    return attribute.int_values or attribute.bool_values or attribute.string_values or None


def _consumption(device: Device) -> dict[CounterId, int]:
    total: dict[CounterId, int] = {}
    for consumption in device.consumes_counters:
        for name, counter in consumption.counters.items():
            counter_id = (consumption.counter_set, name)
            total[counter_id] = total.get(counter_id, 0) + nanos(counter.value)
    return total


# -- slices ------------------------------------------------------------------------------------------------------------


@shared_by_copies
class PublishedSlice:
    """A slice with its devices. Lives as long as the slice stays as it is."""

    __slots__ = ("counter_sets", "devices", "generation", "name", "pool", "reach", "slice", "slice_count")

    def __init__(self, published: ResourceSlice, known: KnownTraits) -> None:
        spec = published.spec
        self.slice = published
        self.name = published.metadata.name
        self.pool: PoolId = (spec.driver, spec.pool.name)
        self.generation = spec.pool.generation
        self.slice_count = spec.pool.resource_slice_count
        self.counter_sets = spec.shared_counters
        self.reach = Reach(spec.node_name, spec.all_nodes, spec.node_selector)
        self.devices = tuple(PublishedDevice(device, published, known) for device in spec.devices)

    @property
    def has_counters(self) -> bool:
        return bool(self.counter_sets)

    @property
    def is_local(self) -> bool:
        """Whether only the node that the slice names can have anything to do with it."""
        return bool(self.reach.node_name) and not self.has_counters

    @property
    def needs_partitions(self) -> bool:
        """Whether the slice is ignored without the gate DRAPartitionableDevices."""
        return self.has_counters or self.slice.spec.per_device_node_selection is not None

    def reaches(self, node: Node) -> bool:
        """Whether the node can use the slice. Shared counters are needed wherever the pool is used."""
        if self.has_counters:
            return True
        if self.reach:
            return self.reach.includes(node)
        return any(device.reach is not None and device.reach.includes(node) for device in self.devices)


# -- the nodes that can use a device -----------------------------------------------------------------------------------


class Reach:
    """The nodes that can use a device or slice: one by its name, all of them, or those that a selector matches."""

    __slots__ = ("_all", "_selector", "_terms", "node_name")

    def __init__(self, node_name: str | None, all_nodes: bool | None, selector: NodeSelector | None) -> None:
        self.node_name = node_name or ""
        self._all = bool(all_nodes)
        self._selector = selector
        self._terms: AnyTerm | None = None

    def __bool__(self) -> bool:
        """Whether any nodes are named at all: slices may leave it to their devices."""
        return bool(self.node_name) or self._all or self._selector is not None

    def includes(self, node: Node) -> bool:
        if self.node_name:
            return node.metadata.name == self.node_name
        if self._all or self._selector is None:
            return self._all
        if self._terms is None:
            self._terms = _compiled(self._selector)
        return self._terms.matches(node.metadata.labels, node.metadata.name)


def _compiled(selector: NodeSelector) -> AnyTerm:
    try:
        return strict(selector)
    except InputError as problem:
        raise AllocationFault(f"gather pool information: failed to parse node selector: {problem.message}") from problem
