# SPDX-License-Identifier: Apache-2.0
"""The kinds that the scheduler watches, and the sink of their events: shared by the client of real API servers and the embedded
cluster."""

from __future__ import annotations

from typing import Final, Protocol

from steersman import api

WATCHED_KINDS: Final[tuple[type[api.Object], ...]] = (
    api.Namespace,
    api.Node,
    api.Service,
    api.ReplicationController,
    api.ReplicaSet,
    api.StatefulSet,
    api.PodDisruptionBudget,
    api.StorageClass,
    api.PersistentVolume,
    api.PersistentVolumeClaim,
    api.CSINode,
    api.CSIDriver,
    api.CSIStorageCapacity,
    api.VolumeAttachment,
    api.DeviceClass,
    api.ResourceSlice,
    api.ResourceClaim,
    api.Pod,
)
"""What the scheduler watches. Pods come last, so that everything they depend on is known by then."""


class EventSink(Protocol):
    """Is told of every change of a watched object; `steersman.ingest.Ingest` is one."""

    def expect(self, kind: type[api.Object], count: int) -> None:
        """A list came: so many objects of the kind are there, and `changed` is about to tell of those that are new."""

    def changed(self, obj: api.Object) -> None: ...

    def deleted(self, obj: api.Object) -> None: ...
