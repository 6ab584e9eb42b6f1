"""From the store to the scheduler: what the reflectors of a real cluster's API do, without the network in between."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

from steersman import api
from steersman.embedded.history import EventType
from steersman.embedded.store import Store
from steersman.embedded.subscriptions import Subscription

SCHEDULER_KINDS: Final[tuple[type[api.Object], ...]] = (
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


class Ear(Protocol):
    """Who is told of objects; `steersman.ingest.Ingest` is one."""

    def changed(self, obj: api.Object) -> None: ...

    def deleted(self, obj: api.Object) -> None: ...


def feed(store: Store, ear: Ear, kinds: Iterable[type[api.Object]] = SCHEDULER_KINDS) -> Subscription:
    """Tells `ear` of all objects, kind after kind, and from then on of every change at once."""
    changed, deleted = ear.changed, ear.deleted

    def tell(_: EventType, old: api.Object | None, new: api.Object | None) -> None:
        if new is not None:
            changed(new)
        elif old is not None:
            deleted(old)

    return store.subscribe(tell, kinds)
