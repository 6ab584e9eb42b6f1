# SPDX-License-Identifier: Apache-2.0
"""Extended resources backed by devices: the DeviceClass of a resource name.

A class is found by its `spec.extendedResourceName`, or by the prefix below and its own name.
NodeResourcesFit leaves such resources to DynamicResources on nodes that do not offer them
themselves.
"""

from __future__ import annotations

from typing import Final

from steersman.api import DeviceClass, timestamps
from steersman.base import CacheSpec, Memo
from steersman.framework.handle import Objects
from steersman.framework.pod_resources import is_extended

DEVICE_CLASS_PREFIX: Final = "deviceclass.resource.kubernetes.io/"


def may_be_devices(resource: str) -> bool:
    """Return whether the resource name could refer to a DeviceClass."""
    return is_extended(resource) or resource.startswith(DEVICE_CLASS_PREFIX)


DEVICE_CLASSES = CacheSpec(
    name="device classes",
    attributes=("DeviceClasses._by_resource", "DeviceClasses._version"),
    contents="the DeviceClass behind an extended resource",
    key="resource name",
    invalidation="version of DeviceClass objects (`Memo`)",
    limit="all DeviceClasses",
    reference="`DeviceClasses._read`",
    checked_by="tests/plugins/dynamic_resources/test_extended_resources.py",
    is_inline=True,
)


class DeviceClasses:
    """DeviceClasses by resource name; cached until a class changes."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        #: Compared inline because it is read for every pod: a call would cost as much as the
        #: lookup.
        self._changes = -1
        self._version = -1
        self._by_resource: Memo[dict[str, DeviceClass]] = Memo()

    @property
    def version(self) -> int:
        """Version of all DeviceClasses: equal versions mean equal results. Read for every pod."""
        changes = self._objects.changes
        if changes != self._changes:
            self._changes = changes
            self._version = self._objects.version(DeviceClass)
        return self._version

    def __bool__(self) -> bool:
        """Return whether there is any class."""
        return bool(self._by_resource.get(self.version, self._read))

    def behind(self, resource: str) -> DeviceClass | None:
        return self._by_resource.get(self.version, self._read).get(resource)

    def _read(self) -> dict[str, DeviceClass]:
        """Return DeviceClasses by resource name. Of several with one name the youngest wins, then
        the first by name. As in upstream, a class that loses is not found by its own name either.
        """
        by_resource: dict[str, DeviceClass] = {}
        for device_class in self._objects.list(DeviceClass):
            name = device_class.spec.extended_resource_name
            rival = by_resource.get(name) if name is not None else None
            if rival is not None and _rank(rival) <= _rank(device_class):
                continue
            if name is not None:
                by_resource[name] = device_class
            by_resource[DEVICE_CLASS_PREFIX + device_class.metadata.name] = device_class
        return by_resource


def _rank(device_class: DeviceClass) -> tuple[float, str]:
    created = device_class.metadata.creation_timestamp
    return -timestamps.parse(created) if created else 0.0, device_class.metadata.name
