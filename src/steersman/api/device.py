# SPDX-License-Identifier: Apache-2.0
"""Dynamic resource allocation (`resource.k8s.io/v1`): published devices and device classes.

`steersman.api.resource_claim` has the demand side.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from steersman.api.meta import Int64, Object, Quantity, Struct
from steersman.api.resource_claim import DeviceSelector, OpaqueDeviceConfiguration
from steersman.api.scheduling import NodeSelector


class DeviceAttribute(Struct, frozen=True):
    """Attribute of a device; exactly one value is set."""

    int_value: Int64 | None = msgspec.field(name="int", default=None)
    bool_value: bool | None = msgspec.field(name="bool", default=None)
    string_value: str | None = msgspec.field(name="string", default=None)
    version_value: str | None = msgspec.field(name="version", default=None)
    int_values: tuple[Int64, ...] = msgspec.field(name="ints", default=())
    bool_values: tuple[bool, ...] = msgspec.field(name="bools", default=())
    string_values: tuple[str, ...] = msgspec.field(name="strings", default=())
    version_values: tuple[str, ...] = msgspec.field(name="versions", default=())


class CapacityRequestPolicyRange(Struct, frozen=True):
    min: Quantity | None = None
    max: Quantity | None = None
    step: Quantity | None = None


class CapacityRequestPolicy(Struct, frozen=True):
    default: Quantity | None = None
    valid_values: tuple[Quantity, ...] = ()
    valid_range: CapacityRequestPolicyRange | None = None


class DeviceCapacity(Struct, frozen=True):
    value: Quantity = "0"
    request_policy: CapacityRequestPolicy | None = None


class Counter(Struct, frozen=True):
    value: Quantity = "0"


class CounterSet(Struct, frozen=True):
    name: str = ""
    counters: dict[str, Counter] = {}


class DeviceCounterConsumption(Struct, frozen=True):
    counter_set: str = ""
    counters: dict[str, Counter] = {}


class DeviceTaint(Struct, frozen=True):
    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str | None = None


class NodeAllocatableResourceMapping(Struct, frozen=True):
    capacity_key: str | None = None
    allocation_multiplier: Quantity | None = None


class Device(Struct, frozen=True):
    name: str = ""
    attributes: dict[str, DeviceAttribute] = {}
    capacity: dict[str, DeviceCapacity] = {}
    consumes_counters: tuple[DeviceCounterConsumption, ...] = ()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: tuple[DeviceTaint, ...] = ()
    binds_to_node: bool | None = None
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    allow_multiple_allocations: bool | None = None
    node_allocatable_resource_mappings: dict[str, NodeAllocatableResourceMapping] = {}


class DeviceTaintSelector(Struct, frozen=True):
    """Selection of devices to taint: those that match all given fields."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class DeviceTaintRuleSpec(Struct, frozen=True):
    device_selector: DeviceTaintSelector | None = None
    """Without a selector, the rule taints no device."""
    taint: DeviceTaint = DeviceTaint()


class DeviceTaintRule(Object, frozen=True):
    KIND: ClassVar[str] = "DeviceTaintRule"
    API_VERSION: ClassVar[str] = "resource.k8s.io/v1"
    PLURAL: ClassVar[str] = "devicetaintrules"
    NAMESPACED: ClassVar[bool] = False

    spec: DeviceTaintRuleSpec = DeviceTaintRuleSpec()


class ResourcePool(Struct, frozen=True):
    name: str = ""
    generation: Int64 = 0
    resource_slice_count: Int64 = 0


class ResourceSliceSpec(Struct, frozen=True):
    driver: str = ""
    pool: ResourcePool = ResourcePool()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    devices: tuple[Device, ...] = ()
    per_device_node_selection: bool | None = None
    shared_counters: tuple[CounterSet, ...] = ()


class ResourceSlice(Object, frozen=True):
    KIND: ClassVar[str] = "ResourceSlice"
    API_VERSION: ClassVar[str] = "resource.k8s.io/v1"
    PLURAL: ClassVar[str] = "resourceslices"
    NAMESPACED: ClassVar[bool] = False

    spec: ResourceSliceSpec = ResourceSliceSpec()


class DeviceClassConfiguration(Struct, frozen=True):
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClassSpec(Struct, frozen=True):
    selectors: tuple[DeviceSelector, ...] = ()
    config: tuple[DeviceClassConfiguration, ...] = ()
    extended_resource_name: str | None = None


class DeviceClass(Object, frozen=True):
    KIND: ClassVar[str] = "DeviceClass"
    API_VERSION: ClassVar[str] = "resource.k8s.io/v1"
    PLURAL: ClassVar[str] = "deviceclasses"
    NAMESPACED: ClassVar[bool] = False

    spec: DeviceClassSpec = DeviceClassSpec()
