# SPDX-License-Identifier: Apache-2.0
"""Help for controllers that are not the sandbox's own (`--no-controllers`, kube-controller-manager for example).

The sandbox's own controllers take a node without a Lease to be alive, and provision volumes themselves. Those of others expect
what a real cluster has: kubelets that renew their Leases, and a provisioner for each storage class.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from steersman.api import Node, Object, PersistentVolume, PersistentVolumeClaim, StorageClass, key
from steersman.api.persistent_volumes import SELECTED_NODE, WAIT_FOR_FIRST_CONSUMER, class_of_claim
from steersman.embedded import EventType, Store
from steersman.embedded.heartbeats import renew
from steersman.embedded.provisioning import DELETE, PROVISIONED_BY, new_volume
from steersman.embedded.volumes import RELEASED

RENEW_SECONDS: Final = 10.0
"""As kubelets do, and in real time: the controllers' own clock is not that of the sandbox."""
NODES_AT_ONCE: Final = 50
CHOSEN_PROVISIONER: Final = "volume.kubernetes.io/storage-provisioner"
"""On a claim: a controller asks this provisioner for a volume."""


class Heartbeats:
    """Renews the Leases of all nodes whose kubelets are not silent."""

    def __init__(self, store: Store, is_silent: Callable[[str], bool]) -> None:
        self._store = store
        self._is_silent = is_silent

    async def run(self) -> None:
        while True:
            await self.renew_all()
            await asyncio.sleep(RENEW_SECONDS)

    async def renew_all(self) -> None:
        """Renews the leases in slices, so that clients need not wait behind thousands of nodes."""
        for number, name in enumerate(list(self._store.objects(Node))):
            node = self._store.find(Node, name)
            if node is not None and not self._is_silent(name):
                renew(self._store, node)
            if number % NODES_AT_ONCE == NODES_AT_ONCE - 1:
                await asyncio.sleep(0)


class VolumeProvisioner:
    """Makes the volumes of one provisioner when a controller asks for them, and deletes those that are released."""

    def __init__(self, store: Store, provisioner: str) -> None:
        self._store = store
        self._provisioner = provisioner
        store.subscribe(self._on_claim, (PersistentVolumeClaim,))
        store.subscribe(self._on_volume, (PersistentVolume,))

    def _on_claim(self, _: EventType, __: Object | None, new: Object | None) -> None:
        if not isinstance(new, PersistentVolumeClaim) or new.spec.volume_name:
            return
        annotations = new.metadata.annotations
        storage_class = self._store.find(StorageClass, class_of_claim(new))
        if storage_class is None or annotations.get(CHOSEN_PROVISIONER) != self._provisioner:
            return
        node = annotations.get(SELECTED_NODE)
        if node is None and storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER:
            return
        volume = new_volume(new, storage_class, node, self._store)
        if self._store.find(PersistentVolume, key(volume)) is None:
            self._store.create(volume)

    def _on_volume(self, _: EventType, __: Object | None, new: Object | None) -> None:
        if not isinstance(new, PersistentVolume) or new.metadata.deletion_timestamp is not None:
            return
        is_ours = new.metadata.annotations.get(PROVISIONED_BY) == self._provisioner
        if is_ours and new.status.phase == RELEASED and new.spec.persistent_volume_reclaim_policy == DELETE:
            self._store.delete(PersistentVolume, key(new))
