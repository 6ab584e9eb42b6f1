"""What is attached to each node according to VolumeAttachments: it counts even when no pod uses it any more."""

from __future__ import annotations

from steersman.api import PersistentVolume, VolumeAttachment
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

    def _attachments(self, node: str) -> list[VolumeAttachment]:
        version = self._objects.version(VolumeAttachment)
        if version != self._version:
            self._by_node = {}
            for attachment in self._objects.list(VolumeAttachment):
                self._by_node.setdefault(attachment.spec.node_name, []).append(attachment)
            self._version = version
        return self._by_node.get(node, [])
