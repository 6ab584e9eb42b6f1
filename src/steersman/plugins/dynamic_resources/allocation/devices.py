# SPDX-License-Identifier: Apache-2.0
"""Devices as the allocator sees them: identified, with everything worked out that does not depend on pod or node.

Made from ResourceSlices by `published`; read by `search` and what it asks.
"""

from __future__ import annotations

from steersman.api import Device, DeviceAttribute, ResourceSlice
from steersman.api.meta import Quantity
from steersman.api.quantity import NANO, memoised, parse
from steersman.cel import AttributeValue, DeviceInput, Version
from steersman.plugins.dynamic_resources.allocation.reach import Reach

#: Driver, pool, name: what tells a device from every other one of the cluster.
DeviceId = tuple[str, str, str]
#: Driver and name.
PoolId = tuple[str, str]
#: The name of a set of shared counters, and of a counter in it.
CounterId = tuple[str, str]

#: Of so many selectors a device remembers whether it matches.
_MOST_ANSWERS = 256


@memoised
def nanos(quantity: Quantity) -> int:
    """The exact value in billionths: no quantity is finer than that."""
    amount = parse(quantity)
    return amount.unscaled * 10 ** (amount.scale - NANO) if amount.scale >= NANO else 0


class PublishedDevice:
    """One device of a slice. Lives as long as the slice stays as it is."""

    __slots__ = ("_input", "answers", "consumes", "device", "id", "is_shared", "reach", "slice", "taints")

    def __init__(self, device: Device, published_in: ResourceSlice) -> None:
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
        #: By expression: whether it matches, or why that cannot be said.
        self.answers: dict[str, bool | str] = {}
        self._input: DeviceInput | None = None

    @property
    def input(self) -> DeviceInput:
        """As expressions see it."""
        if self._input is None:
            attributes = {name: _value(attribute) for name, attribute in self.device.attributes.items()}
            capacity = {name: capacity.value for name, capacity in self.device.capacity.items()}
            self._input = DeviceInput(self.id[0], attributes, capacity, self.device.allow_multiple_allocations)
        return self._input

    def remember(self, expression: str, answer: bool | str) -> None:
        if len(self.answers) >= _MOST_ANSWERS:
            self.answers.clear()
        self.answers[expression] = answer

    @property
    def text(self) -> str:
        """As users read it."""
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
