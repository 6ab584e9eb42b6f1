# SPDX-License-Identifier: Apache-2.0
"""Requests of claims, prepared once per cycle: alternatives, device classes and constraints.

`prepare` is strict: invalid input ends the attempt with upstream's error message. A constraint is
an attribute with equal, or with distinct, values on all devices of a claim; `search` adds devices
to it as it tries them and removes them in reverse order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from typing import Final

import msgspec

from steersman import api
from steersman.api import DeviceAttribute, DeviceConstraint
from steersman.scheduler.plugins.dynamic_resources.allocation.limits import AllocationFault, Features
from steersman.scheduler.plugins.dynamic_resources.allocation.resource_slices import PublishedDevice

#: The type of an attribute and its value; None if the type cannot be compared.
Value = tuple[str, object] | None
#: The values of an attribute, which may be a list; empty if the type cannot be compared.
ValueSet = frozenset[tuple[str, object]]


class Constraint(ABC):
    """Applies to the named requests of the claim, or to all. A name may be a subrequest (`a/b`)."""

    def __init__(self, attribute: str, requests: Collection[str]) -> None:
        self._attribute = attribute
        self._requests = frozenset(requests)

    def applies_to(self, request: str, full_name: str) -> bool:
        return not self._requests or request in self._requests or full_name in self._requests

    def add(self, request: str, full_name: str, device: PublishedDevice) -> bool:
        """Add the device. Return False without adding it if it violates the constraint."""
        if not self.applies_to(request, full_name):
            return True
        attribute = attribute_of(device, self._attribute)
        return attribute is not None and self._add(request, attribute)

    def remove(self, request: str, full_name: str) -> None:
        """Remove the device that was last added with these names."""
        if self.applies_to(request, full_name):
            self._remove(request)

    @abstractmethod
    def _add(self, request: str, attribute: DeviceAttribute) -> bool: ...

    @abstractmethod
    def _remove(self, request: str) -> None: ...


class MatchAttribute(Constraint):
    """All devices have the value of the first one."""

    _count = 0
    _value: Value = None

    def _add(self, request: str, attribute: DeviceAttribute) -> bool:
        value = _value(attribute)
        if self._count == 0:
            self._value = value
        elif value is None or value != self._value:
            return False
        self._count += 1
        return True

    def _remove(self, request: str) -> None:
        self._count -= 1


class CommonValue(Constraint):
    """With DRAListTypeAttributes: one value is in the lists of all devices. A scalar is a list of
    one."""

    def __init__(self, attribute: str, requests: Collection[str]) -> None:
        super().__init__(attribute, requests)
        #: For each device, the values that it shares with all devices before it.
        self._common: list[ValueSet] = []

    def _add(self, request: str, attribute: DeviceAttribute) -> bool:
        values = _value_set(attribute)
        common = values & self._common[-1] if self._common else values
        if common:
            self._common.append(common)
        return bool(common)

    def _remove(self, request: str) -> None:
        self._common.pop()


class DistinctAttribute(Constraint):
    """No two devices have a value in common."""

    def __init__(self, attribute: str, requests: Collection[str], takes_lists: bool) -> None:
        super().__init__(attribute, requests)
        self._takes_lists = takes_lists
        self._values: list[ValueSet] = []

    def _add(self, request: str, attribute: DeviceAttribute) -> bool:
        values = _value_set(attribute) if self._takes_lists else frozenset(filter(None, (_value(attribute),)))
        if not values and (self._takes_lists or self._values):
            return False
        if any(values & other for other in self._values):
            return False
        self._values.append(values)
        return True

    def _remove(self, request: str) -> None:
        self._values.pop()


class DistinctAmongRequests(Constraint):
    """Up to v1.36: only the last device of each request is compared."""

    def __init__(self, attribute: str, requests: Collection[str]) -> None:
        super().__init__(attribute, requests)
        self._count = 0
        self._values: dict[str, Value] = {}

    def _add(self, request: str, attribute: DeviceAttribute) -> bool:
        value = _value(attribute)
        if self._count and self._values and (value is None or value in self._values.values()):
            return False
        self._values[request] = value
        self._count += 1
        return True

    def _remove(self, request: str) -> None:
        self._values.pop(request, None)
        self._count -= 1


def constraint_of(constraint: DeviceConstraint, features: Features) -> Constraint | None:
    """Return the constraint, or None for an unknown type."""
    lists, requests = features.list_attributes, constraint.requests
    if constraint.match_attribute is not None:
        return (CommonValue if lists else MatchAttribute)(constraint.match_attribute, requests)
    if constraint.distinct_attribute is None:
        return None
    if lists or features.distinct_within_requests:
        return DistinctAttribute(constraint.distinct_attribute, requests, lists)
    return DistinctAmongRequests(constraint.distinct_attribute, requests)


def attribute_of(device: PublishedDevice, name: str) -> DeviceAttribute | None:
    """Return an attribute by its qualified name; drivers may omit their own domain."""
    attributes = device.device.attributes
    found = attributes.get(name)
    if found is not None:
        return found
    domain, slash, short = name.partition("/")
    return attributes.get(short) if slash and domain == device.id[0] else None


def _value(attribute: DeviceAttribute) -> Value:
    if attribute.string_value is not None:
        return "string", attribute.string_value
    if attribute.int_value is not None:
        return "int", attribute.int_value
    if attribute.bool_value is not None:
        return "bool", attribute.bool_value
    if attribute.version_value is not None:
        return "version", attribute.version_value
    return None


def _value_set(attribute: DeviceAttribute) -> ValueSet:
    lists: tuple[tuple[str, tuple[object, ...]], ...] = (
        ("int", attribute.int_values),
        ("bool", attribute.bool_values),
        ("string", attribute.string_values),
        ("version", attribute.version_values),
    )
    for kind, values in lists:
        if values:
            return frozenset((kind, value) for value in values)
    return frozenset(filter(None, (_value(attribute),)))


#: The maximum number of devices in an allocation.
MAX_DEVICES: Final = 32

FindClass = Callable[[str], api.DeviceClass | None]


class DeviceRequirement(msgspec.Struct, frozen=True, eq=False):
    """A request, or one of its alternatives, which are called subrequests."""

    #: The claim as `namespace/name`.
    claim: str
    name: str
    #: The name of the request that contains this subrequest, or "" for a request.
    parent: str
    device_class: api.DeviceClass
    #: CEL expressions of the class and of the request; a device must match all of them.
    class_expressions: tuple[str, ...]
    expressions: tuple[str, ...]
    wants_all: bool
    count: int
    admin_access: bool
    tolerations: tuple[api.DeviceToleration, ...]
    capacity: api.CapacityRequirements | None

    @property
    def base_name(self) -> str:
        return self.parent or self.name

    @property
    def full_name(self) -> str:
        return f"{self.parent}/{self.name}" if self.parent else self.name


class PreparedClaim(msgspec.Struct, frozen=True, eq=False):
    """A claim that is to be allocated."""

    claim: api.ResourceClaim
    #: Each request as a tuple of alternatives, best first; one unless it has subrequests.
    requests: tuple[tuple[DeviceRequirement, ...], ...]

    @property
    def key(self) -> str:
        return api.key(self.claim)

    def constraints(self, features: Features) -> list[Constraint]:
        """Return new constraints, for one search."""
        made = (constraint_of(constraint, features) for constraint in self.claim.spec.devices.constraints)
        return [constraint for constraint in made if constraint is not None]


def prepare(claims: Iterable[api.ResourceClaim], find_class: FindClass, features: Features) -> list[PreparedClaim]:
    """Prepare the claims for a search. Raise `AllocationFault` for an invalid claim."""
    return [_RequestReader(claim, find_class, features).run() for claim in claims]


class _RequestReader:
    def __init__(self, claim: api.ResourceClaim, find_class: FindClass, features: Features) -> None:
        self._claim = claim
        self._key = api.key(claim)
        self._find_class = find_class
        self._features = features

    def run(self) -> PreparedClaim:
        requests = tuple(self._alternatives(request) for request in self._claim.spec.devices.requests)
        for index, constraint in enumerate(self._claim.spec.devices.constraints):
            if constraint.match_attribute is None and constraint.distinct_attribute is None:
                raise AllocationFault(
                    f"claim {self._key}, constraint #{index}: empty constraint (unsupported constraint type?)"
                )
        return PreparedClaim(self._claim, requests)

    def _alternatives(self, request: api.DeviceRequest) -> tuple[DeviceRequirement, ...]:
        if not request.first_available:
            return (self._exact(request),)
        if not self._features.prioritized_list:
            raise self._fault(request.name, "has subrequests, but the DRAPrioritizedList feature is disabled")
        return tuple(self._made(subrequest, subrequest.name, request.name) for subrequest in request.first_available)

    def _exact(self, request: api.DeviceRequest) -> DeviceRequirement:
        exactly = request.exactly
        if exactly is None:
            raise self._fault(request.name, "missing device class name (unsupported request type?)")
        if exactly.admin_access is not None and not self._features.admin_access:
            raise self._fault(request.name, "admin access is requested, but the feature is disabled")
        return self._made(exactly, request.name, "", bool(exactly.admin_access))

    def _made(
        self, request: api.ExactDeviceRequest | api.DeviceSubRequest, name: str, parent: str, admin_access: bool = False
    ) -> DeviceRequirement:
        self._check(request, name, parent)
        device_class = self._class(request.device_class_name, name)
        return DeviceRequirement(
            claim=self._key,
            name=name,
            parent=parent,
            device_class=device_class,
            class_expressions=expressions_of(device_class.spec.selectors),
            expressions=expressions_of(request.selectors),
            wants_all=request.allocation_mode == "All",
            count=request.count,
            admin_access=admin_access,
            tolerations=request.tolerations,
            capacity=request.capacity,
        )

    def _check(self, request: api.ExactDeviceRequest | api.DeviceSubRequest, name: str, parent: str) -> None:
        if request.capacity is not None and not self._features.consumable_capacity:
            kind = "subrequest" if parent else "request"
            raise AllocationFault(
                f"claim {self._key}, {kind} {name}: has capacity requests, but the DRAConsumableCapacity feature is disabled"
            )
        for index, selector in enumerate(request.selectors):
            if selector.cel is None:
                why = f"selector #{index}: CEL expression empty (unsupported selector type?)"
                raise AllocationFault(f"claim {self._key}, request {name}, {why}")
        if request.allocation_mode not in ("ExactCount", "All"):
            raise self._fault(name, f"unsupported count mode {request.allocation_mode}")

    def _class(self, class_name: str, request: str) -> api.DeviceClass:
        if not class_name:
            raise self._fault(request, "missing device class name (unsupported request type?)")
        found = self._find_class(class_name)
        if found is None:
            missing = f'deviceclass.resource.k8s.io "{class_name}" not found'
            raise self._fault(request, f"could not retrieve device class {class_name}: {missing}")
        return found

    def _fault(self, request: str, why: str) -> AllocationFault:
        return AllocationFault(f"claim {self._key}, request {request}: {why}")


def expressions_of(selectors: Iterable[api.DeviceSelector]) -> tuple[str, ...]:
    return tuple(selector.cel.expression if selector.cel is not None else "" for selector in selectors)
