# SPDX-License-Identifier: Apache-2.0
"""ResourceSlices as the allocator sees them: their devices, and the nodes that can use these.

Everything that depends on neither pod nor node is computed here once per version of a slice.
`pools` groups the slices by pool and node; `search` reads the devices.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from weakref import WeakValueDictionary

import msgspec

from steersman.api import (
    NANO,
    AnyTerm,
    Device,
    DeviceAttribute,
    DeviceTaint,
    DeviceTaintRule,
    Node,
    NodeSelector,
    Quantity,
    ResourceSlice,
    memoised,
    parse,
    strict,
)
from steersman.api.cel import AttributeValue, DeviceInput, Version
from steersman.base import CacheSpec, InputError, LruCache
from steersman.base.graph_copy import shared_by_copies
from steersman.scheduler.plugins.dynamic_resources.allocation.limits import AllocationFault

#: Driver, pool, name: identifies a device in the cluster.
DeviceId = tuple[str, str, str]
#: Driver and name.
PoolId = tuple[str, str]
#: The name of a set of shared counters, and of a counter in it.
CounterId = tuple[str, str]

#: The number of expressions per kind of device whose results are cached.
_MAX_CACHED_EXPRESSIONS = 256

_encoder = msgspec.json.Encoder()


@memoised
def nanos(quantity: Quantity) -> int:
    """Return the exact value in billionths, the finest unit of a quantity."""
    amount = parse(quantity)
    return amount.unscaled * 10 ** (amount.scale - NANO) if amount.scale >= NANO else 0


DEVICE_ANSWERS = CacheSpec(
    name="answers of devices",
    attributes=("DeviceTraits.answers",),
    contents="whether a CEL expression matches a device",
    key="driver, attributes and capacity of a device; expression",
    invalidation="never: removed with the last device of this kind",
    limit="256 expressions for each kind of device, most recently used (`LruCache`)",
    reference="the expression, evaluated",
    checked_by="tests/plugins/dynamic_resources/allocation/test_choosing_devices.py",
)


@shared_by_copies
class DeviceTraits:
    """A device as expressions see it, with cached results. Shared by all equal devices."""

    __slots__ = ("__weakref__", "_device", "_driver", "_input", "answers")

    def __init__(self, driver: str, device: Device) -> None:
        self._driver = driver
        self._device = device
        self._input: DeviceInput | None = None
        #: By expression: whether it matches, or an error message.
        self.answers: LruCache[str, bool | str] = LruCache(_MAX_CACHED_EXPRESSIONS)

    @property
    def input(self) -> DeviceInput:
        if self._input is None:
            device = self._device
            attributes = {name: _value(attribute) for name, attribute in device.attributes.items()}
            capacity = {name: capacity.value for name, capacity in device.capacity.items()}
            self._input = DeviceInput(self._driver, attributes, capacity, device.allow_multiple_allocations)
        return self._input


@shared_by_copies
class DeviceTraitsCache:
    """The traits of all present devices, shared by equal devices."""

    def __init__(self) -> None:
        self._known: WeakValueDictionary[tuple[str, bytes], DeviceTraits] = WeakValueDictionary()

    def traits_of(self, driver: str, device: Device) -> DeviceTraits:
        seen = (device.attributes, device.capacity, device.allow_multiple_allocations)
        key = (driver, _encoder.encode(seen))
        traits = self._known.get(key)
        if traits is None:
            traits = self._known[key] = DeviceTraits(driver, device)
        return traits


@shared_by_copies
class PublishedDevice:
    """One device of a slice. Valid as long as the slice is unchanged."""

    __slots__ = ("consumes", "device", "id", "is_shared", "reach", "slice", "taints", "traits")

    def __init__(
        self,
        device: Device,
        published_in: ResourceSlice,
        known: DeviceTraitsCache,
        rule_taints: tuple[DeviceTaint, ...] = (),
    ) -> None:
        spec = published_in.spec
        self.id: DeviceId = (spec.driver, spec.pool.name, device.name)
        self.device = device
        self.slice = published_in
        #: The nodes that can use the device; None if they are those of the slice.
        self.reach = (
            NodeScope(device.node_name, device.all_nodes, device.node_selector)
            if spec.per_device_node_selection
            else None
        )
        #: Whether several claims may have it at the same time.
        self.is_shared = bool(device.allow_multiple_allocations)
        #: The amounts that it consumes of the pool's shared counters, in billionths.
        self.consumes = _consumption(device)
        #: The taints that reject claims without a toleration.
        self.taints = tuple(
            taint for taint in (*device.taints, *rule_taints) if taint.effect in ("NoSchedule", "NoExecute")
        )
        self.traits = known.traits_of(spec.driver, device)

    @property
    def text(self) -> str:
        """The device's name as shown to users."""
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
    """A slice with its devices. Valid as long as the slice and the device taints of rules are."""

    __slots__ = (
        "counter_sets",
        "devices",
        "generation",
        "name",
        "pool",
        "reach",
        "rule_taints",
        "slice",
        "slice_count",
    )

    def __init__(
        self,
        published: ResourceSlice,
        known: DeviceTraitsCache,
        rule_taints: Mapping[str, tuple[DeviceTaint, ...]] = MappingProxyType({}),
    ) -> None:
        """`rule_taints` are the taints that DeviceTaintRules add, by device."""
        spec = published.spec
        self.slice = published
        self.name = published.metadata.name
        self.pool: PoolId = (spec.driver, spec.pool.name)
        self.generation = spec.pool.generation
        self.slice_count = spec.pool.resource_slice_count
        self.counter_sets = spec.shared_counters
        self.reach = NodeScope(spec.node_name, spec.all_nodes, spec.node_selector)
        self.rule_taints = rule_taints
        self.devices = tuple(
            PublishedDevice(device, published, known, rule_taints.get(device.name, ())) for device in spec.devices
        )

    @property
    def has_counters(self) -> bool:
        return bool(self.counter_sets)

    @property
    def is_local(self) -> bool:
        """Return whether the slice affects only the node that it names."""
        return bool(self.reach.node_name) and not self.has_counters

    @property
    def needs_partitions(self) -> bool:
        """Return whether the slice is ignored without the gate DRAPartitionableDevices."""
        return self.has_counters or self.slice.spec.per_device_node_selection is not None

    def reaches(self, node: Node) -> bool:
        """Return whether the node needs the slice. Shared counters concern all nodes."""
        if self.has_counters:
            return True
        if self.reach:
            return self.reach.includes(node)
        return any(device.reach is not None and device.reach.includes(node) for device in self.devices)


def taints_by_rules(published: ResourceSlice, rules: Iterable[DeviceTaintRule]) -> dict[str, tuple[DeviceTaint, ...]]:
    """Return the taints that DeviceTaintRules add to a slice's devices, for devices with any."""
    found: dict[str, tuple[DeviceTaint, ...]] = {}
    for rule in rules:
        selector = rule.spec.device_selector
        if selector is None or selector.driver not in (None, published.spec.driver):
            continue
        if selector.pool not in (None, published.spec.pool.name):
            continue
        for device in published.spec.devices:
            if selector.device in (None, device.name):
                found[device.name] = (*found.get(device.name, ()), rule.spec.taint)
    return found


# -- nodes that can use a device ---------------------------------------------------------------------------------------


class NodeScope:
    """The nodes that can use a device or slice: one by name, all, or those matching a selector."""

    __slots__ = ("_all", "_selector", "_terms", "node_name")

    def __init__(self, node_name: str | None, all_nodes: bool | None, selector: NodeSelector | None) -> None:
        self.node_name = node_name or ""
        self._all = bool(all_nodes)
        self._selector = selector
        self._terms: AnyTerm | None = None

    def __bool__(self) -> bool:
        """Return whether any nodes are selected: slices may leave this to their devices."""
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
