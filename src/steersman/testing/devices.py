# SPDX-License-Identifier: Apache-2.0
"""Builders for devices: slices of devices, classes, and claims for them.

make_slice("a").on_node("a").device("gpu-0", model="h100").device("gpu-1", model="a100")
make_device_class("gpu").selects('device.attributes["gpu.example.com"].model == "h100"')
make_resource_claim("training").asks("gpus", "gpu", count=2).matching("gpu.example.com/model")
"""

from __future__ import annotations

from typing import Self

import msgspec

from steersman import api
from steersman.testing.building import Builder, named

DRIVER = "gpu.example.com"

_replace = msgspec.structs.replace


def make_slice(name: str) -> SliceBuilder:
    """Return a builder of the only slice of a pool of this name, not usable on any node yet."""
    pool = api.ResourcePool(name=name, generation=1, resource_slice_count=1)
    return SliceBuilder(_replace(named(api.ResourceSlice, name), spec=api.ResourceSliceSpec(driver=DRIVER, pool=pool)))


def make_device_class(name: str) -> DeviceClassBuilder:
    """Return a builder of a device class without selectors, which matches all devices."""
    return DeviceClassBuilder(named(api.DeviceClass, name))


def make_resource_claim(name: str) -> ResourceClaimBuilder:
    """Return a builder of a claim without requests and allocation."""
    return ResourceClaimBuilder(named(api.ResourceClaim, name))


def make_device(name: str, **attributes: str | int | bool) -> api.Device:
    return api.Device(name=name, attributes={key: _attribute(value) for key, value in attributes.items()})


def selecting(*expressions: str) -> tuple[api.DeviceSelector, ...]:
    return tuple(api.DeviceSelector(cel=api.CELDeviceSelector(expression=text)) for text in expressions)


class SliceBuilder(Builder[api.ResourceSlice]):
    def on_node(self, name: str) -> Self:
        return self._spec(node_name=name)

    def everywhere(self) -> Self:
        return self._spec(all_nodes=True)

    def per_device(self) -> Self:
        """Let each device define the nodes that can use it."""
        return self._spec(per_device_node_selection=True)

    def where(self, key: str, *values: str) -> Self:
        """Restrict the slice to nodes with one of these values of the label."""
        requirement = api.NodeSelectorRequirement(key=key, operator="In", values=values)
        term = api.NodeSelectorTerm(match_expressions=(requirement,))
        return self._spec(node_selector=api.NodeSelector(node_selector_terms=(term,)))

    def pool(self, name: str, *, generation: int = 1, slices: int = 1) -> Self:
        return self._spec(pool=api.ResourcePool(name=name, generation=generation, resource_slice_count=slices))

    def driver(self, name: str) -> Self:
        return self._spec(driver=name)

    def device(self, name: str, **attributes: str | int | bool) -> Self:
        return self.devices(make_device(name, **attributes))

    def devices(self, *devices: api.Device) -> Self:
        """Add to the existing ones."""
        return self._spec(devices=(*self._object.spec.devices, *devices))

    def counters(self, name: str, **counters: api.Quantity) -> Self:
        """Add a set of counters shared by partitions."""
        added = api.CounterSet(name=name, counters={key: api.Counter(value=value) for key, value in counters.items()})
        return self._spec(shared_counters=(*self._object.spec.shared_counters, added))


class DeviceClassBuilder(Builder[api.DeviceClass]):
    def selects(self, *expressions: str) -> Self:
        return self._spec(selectors=selecting(*expressions))

    def backs(self, resource: str) -> Self:
        """Let pods that request the extended resource get devices of this class."""
        return self._spec(extended_resource_name=resource)

    def configures(self, driver: str, **parameters: str) -> Self:
        opaque = api.OpaqueDeviceConfiguration(driver=driver, parameters=dict(parameters))
        return self._spec(config=(*self._object.spec.config, api.DeviceClassConfiguration(opaque=opaque)))


class ResourceClaimBuilder(Builder[api.ResourceClaim]):
    def asks(self, name: str, device_class: str, *expressions: str, count: int = 1, **fields: object) -> Self:
        exactly = api.ExactDeviceRequest(
            device_class_name=device_class,
            selectors=selecting(*expressions),
            allocation_mode="ExactCount",
            count=count,
        )
        return self._request(api.DeviceRequest(name=name, exactly=_replace(exactly, **fields)))

    def asks_for_all(self, name: str, device_class: str, *expressions: str) -> Self:
        return self.asks(name, device_class, *expressions, count=0, allocation_mode="All")

    def asks_for_first(self, name: str, **alternatives: tuple[str, int]) -> Self:
        """Add alternatives by name, each with class and count; best first."""
        subrequests = tuple(
            api.DeviceSubRequest(name=sub, device_class_name=kind, allocation_mode="ExactCount", count=count)
            for sub, (kind, count) in alternatives.items()
        )
        return self._request(api.DeviceRequest(name=name, first_available=subrequests))

    def matching(self, attribute: str, *requests: str) -> Self:
        return self._constraint(api.DeviceConstraint(requests=requests, match_attribute=attribute))

    def distinct(self, attribute: str, *requests: str) -> Self:
        return self._constraint(api.DeviceConstraint(requests=requests, distinct_attribute=attribute))

    def allocated(self, *devices: tuple[str, str, str, str], on_node: str = "") -> Self:
        """Allocate devices, each given as request, driver, pool, name."""
        results = tuple(
            api.DeviceRequestAllocationResult(request=request, driver=driver, pool=pool, device=device)
            for request, driver, pool, device in devices
        )
        here = api.NodeSelectorRequirement(key="metadata.name", operator="In", values=(on_node,))
        selector = api.NodeSelector(node_selector_terms=(api.NodeSelectorTerm(match_fields=(here,)),))
        allocation = api.AllocationResult(
            devices=api.DeviceAllocationResult(results=results), node_selector=selector if on_node else None
        )
        return self._status(allocation=allocation)

    def used_by(self, *pods: str) -> Self:
        users = tuple(
            api.ResourceClaimConsumerReference(resource="pods", name=name, uid=f"uid-pod-default-{name}")
            for name in pods
        )
        return self._status(reserved_for=users)

    def _request(self, request: api.DeviceRequest) -> Self:
        return self._devices(requests=(*self._object.spec.devices.requests, request))

    def _constraint(self, constraint: api.DeviceConstraint) -> Self:
        return self._devices(constraints=(*self._object.spec.devices.constraints, constraint))

    def _devices(self, **fields: object) -> Self:
        devices = _replace(self._object.spec.devices, **fields)
        return self._with(spec=_replace(self._object.spec, devices=devices))


def _attribute(value: str | int | bool) -> api.DeviceAttribute:
    if isinstance(value, bool):
        return api.DeviceAttribute(bool_value=value)
    return api.DeviceAttribute(int_value=value) if isinstance(value, int) else api.DeviceAttribute(string_value=value)
