# SPDX-License-Identifier: Apache-2.0
"""What is attached to each node according to VolumeAttachments, which counts even when no pod uses it any more; and how
much can be, according to the node's CSINode."""

from __future__ import annotations

from collections.abc import Iterator

from steersman.api import CSINode, PersistentVolume, VolumeAttachment
from steersman.framework.handle import Objects
from steersman.plugins.node_volume_limits.attachable import Attachable, unique_name


class Attachments:
    """VolumeAttachments by node, sorted anew when one of them has changed."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._version = -1
        self._by_node: dict[str, list[VolumeAttachment]] = {}

    def of_node(self, name: str) -> Attachable:
        """The volumes of CSI drivers that are attached to the node."""
        found: Attachable = {}
        for attachment in self._attachments(name):
            source = attachment.spec.source.persistent_volume_name
            volume = self._objects.get(PersistentVolume, source) if source is not None else None
            if attachment.spec.attacher and volume is not None and volume.spec.csi is not None:
                driver = attachment.spec.attacher
                found[unique_name(driver, volume.spec.csi.volume_handle)] = driver
        return found

    def counts(self) -> Iterator[tuple[str, int]]:
        """Nodes with the number of attachments to each, whatever they are worth."""
        self._sort()
        return ((node, len(attachments)) for node, attachments in self._by_node.items())

    def _attachments(self, node: str) -> list[VolumeAttachment]:
        self._sort()
        return self._by_node.get(node, [])

    def _sort(self) -> None:
        version = self._objects.version(VolumeAttachment)
        if version != self._version:
            self._by_node = {}
            for attachment in self._objects.list(VolumeAttachment):
                self._by_node.setdefault(attachment.spec.node_name, []).append(attachment)
            self._version = version


def volume_limits(node: CSINode | None) -> dict[str, int]:
    """How many volumes of each driver the node takes; a driver that is not named has no limit."""
    if node is None:
        return {}
    return {
        driver.name: driver.allocatable.count
        for driver in node.spec.drivers
        if driver.allocatable is not None and driver.allocatable.count is not None
    }
