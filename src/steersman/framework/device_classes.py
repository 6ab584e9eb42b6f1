# SPDX-License-Identifier: Apache-2.0
"""Extended resources that are backed by devices: which DeviceClass a resource name stands for.

A class is asked for by the name that its `spec.extendedResourceName` gives it, or by the prefix below and its own name.
NodeResourcesFit leaves such resources to DynamicResources on nodes that do not offer them themselves.
"""

from __future__ import annotations

from typing import Final

from steersman.api import DeviceClass, timestamps
from steersman.derived import Derived
from steersman.framework.handle import Objects
from steersman.framework.pod_resources import is_extended
from steersman.kept import Kept

DEVICE_CLASS_PREFIX: Final = "deviceclass.resource.kubernetes.io/"


def may_be_devices(resource: str) -> bool:
    """Whether a class of devices could stand behind a resource of that name."""
    return is_extended(resource) or resource.startswith(DEVICE_CLASS_PREFIX)


DEVICE_CLASSES = Kept(
    name="device classes",
    attributes=("DeviceClasses._by_resource", "DeviceClasses._version"),
    holds="the DeviceClass behind an extended resource",
    key="resource name",
    stamps="version of DeviceClass objects (`Derived`)",
    bound="classes that there are",
    twin="`DeviceClasses._read`",
    held_equal="tests/plugins/dynamic_resources/test_extended_resources.py",
    is_inline=True,
)


class DeviceClasses:
    """The classes by the resources that they back; kept until a class changes."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        #: Asked for every pod: compared here, because a call for it would cost as much as the answer.
        self._changes = -1
        self._version = -1
        self._by_resource: Derived[dict[str, DeviceClass]] = Derived()

    @property
    def version(self) -> int:
        """Equal versions mean equal answers. Asked for every pod."""
        changes = self._objects.changes
        if changes != self._changes:
            self._changes = changes
            self._version = self._objects.version(DeviceClass)
        return self._version

    def behind(self, resource: str) -> DeviceClass | None:
        return self._by_resource.at(self.version, self._read).get(resource)

    def _read(self) -> dict[str, DeviceClass]:
        """Device classes by resource name. Of several with one name the youngest counts, then the first by name. Like
        upstream, one that comes second to another is not known by its own name either."""
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
