# SPDX-License-Identifier: Apache-2.0
"""What the queue calls the kinds of the API."""

from __future__ import annotations

from steersman import api
from steersman.framework.events import EventResource

_RESOURCES: dict[type[api.Object], str] = {
    api.PersistentVolume: EventResource.PERSISTENT_VOLUME,
    api.PersistentVolumeClaim: EventResource.PERSISTENT_VOLUME_CLAIM,
    api.StorageClass: EventResource.STORAGE_CLASS,
    api.CSINode: EventResource.CSI_NODE,
    api.CSIDriver: EventResource.CSI_DRIVER,
    api.CSIStorageCapacity: EventResource.CSI_STORAGE_CAPACITY,
    api.VolumeAttachment: EventResource.VOLUME_ATTACHMENT,
    api.ResourceClaim: EventResource.RESOURCE_CLAIM,
    api.ResourceSlice: EventResource.RESOURCE_SLICE,
    api.DeviceClass: EventResource.DEVICE_CLASS,
}


def event_resource(kind: type[api.Object]) -> str:
    """The resource that plugins register for: the kind, with its API group unless it is the core one."""
    known = _RESOURCES.get(kind)
    if known is None:
        group, _, _ = kind.API_VERSION.rpartition("/")
        known = f"{group}/{kind.KIND}" if group else kind.KIND
    return known
