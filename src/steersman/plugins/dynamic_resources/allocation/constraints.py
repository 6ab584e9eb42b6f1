# SPDX-License-Identifier: Apache-2.0
"""Constraints of a claim across its devices: an attribute that all of them share, or that tells them apart.

`search` adds devices as it tries them and takes them back in reverse order. Each search has constraints of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection

from steersman.api import DeviceAttribute, DeviceConstraint
from steersman.plugins.dynamic_resources.allocation.devices import PublishedDevice

#: The type of an attribute and its value; None: a type that cannot be compared.
Value = tuple[str, object] | None


class Constraint(ABC):
    """Applies to some requests of the claim, by name, or to all of them. A name may be that of a subrequest (`a/b`)."""

    def __init__(self, attribute: str, requests: Collection[str]) -> None:
        self._attribute = attribute
        self._requests = frozenset(requests)

    def applies_to(self, request: str, full_name: str) -> bool:
        return not self._requests or request in self._requests or full_name in self._requests

    def add(self, request: str, full_name: str, device: PublishedDevice) -> bool:
        """False, and nothing added, when the device does not go with those that are there."""
        if not self.applies_to(request, full_name):
            return True
        attribute = attribute_of(device, self._attribute)
        return attribute is not None and self._add(request, _value(attribute))

    def remove(self, request: str, full_name: str) -> None:
        """The device that was added last, with the same names."""
        if self.applies_to(request, full_name):
            self._remove(request)

    @abstractmethod
    def _add(self, request: str, value: Value) -> bool: ...

    @abstractmethod
    def _remove(self, request: str) -> None: ...


class MatchAttribute(Constraint):
    """All devices have the value of the first one."""

    _count = 0
    _value: Value = None

    def _add(self, request: str, value: Value) -> bool:
        if self._count == 0:
            self._value = value
        elif value is None or value != self._value:
            return False
        self._count += 1
        return True

    def _remove(self, request: str) -> None:
        self._count -= 1


class DistinctAttribute(Constraint):
    """No two devices have the same value. Like upstream, it keeps one value per request: the last one added."""

    def __init__(self, attribute: str, requests: Collection[str]) -> None:
        super().__init__(attribute, requests)
        self._count = 0
        self._values: dict[str, Value] = {}

    def _add(self, request: str, value: Value) -> bool:
        if self._count and self._values and (value is None or value in self._values.values()):
            return False
        self._values[request] = value
        self._count += 1
        return True

    def _remove(self, request: str) -> None:
        self._values.pop(request, None)
        self._count -= 1


def constraint_of(constraint: DeviceConstraint) -> Constraint | None:
    """None: of a kind that is not known."""
    if constraint.match_attribute is not None:
        return MatchAttribute(constraint.match_attribute, constraint.requests)
    if constraint.distinct_attribute is not None:
        return DistinctAttribute(constraint.distinct_attribute, constraint.requests)
    return None


def attribute_of(device: PublishedDevice, name: str) -> DeviceAttribute | None:
    """By its qualified name; drivers may leave out their own domain."""
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
