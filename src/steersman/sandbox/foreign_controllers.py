# SPDX-License-Identifier: Apache-2.0
"""Heartbeats of simulated kubelets, and support for external controllers (`--no-controllers`).

The sandbox's own controllers need no heartbeats and provision volumes themselves, so Leases are
renewed only when a client reads them. External controllers, such as kube-controller-manager, expect
kubelets that renew their Leases and a provisioner for each storage class.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Final

from steersman.api import (
    SELECTED_NODE,
    WAIT_FOR_FIRST_CONSUMER,
    Node,
    Object,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    class_of_claim,
    key,
)
from steersman.cluster.controllers import PROVISIONED_BY, RELEASED, new_volume
from steersman.cluster.store import NODE_LEASES, EventType, Lease, Store, renew, renewed_at

RENEW_SECONDS: Final = 10.0
"""Interval of renewals, like kubelets', in real time, which external controllers use."""
WATCHED_SECONDS: Final = 3600.0
"""A client that lists Leases is assumed to watch them for this time."""
STATUS_SECONDS: Final = 300.0
"""Interval in which kubelets report the conditions of their node even without a change."""
NODES_PER_TURN: Final = 50
DELETE: Final = "Delete"
CHOSEN_PROVISIONER: Final = "volume.kubernetes.io/storage-provisioner"
"""Annotation of a claim with the provisioner that should create its volume."""


class Heartbeats:
    """Renews the Leases of nodes with a running kubelet on reads, or always."""

    def __init__(self, store: Store, is_silent: Callable[[str], bool], *, always: bool = True) -> None:
        self._store = store
        self._is_silent = is_silent
        self._watched_until = math.inf if always else -math.inf
        #: Node → time at which its conditions were last reported.
        self._reported: dict[str, float] = {}
        store.subscribe(self._on_node, (Node,))
        store.subscribe(self._on_lease, (Lease,))
        store.before_read[Lease] = self._on_lease_read
        store.before_read[Node] = self._on_node_read

    async def run(self) -> None:
        while True:
            if self._store.clock.now() <= self._watched_until:
                await self.renew_all()
            await asyncio.sleep(RENEW_SECONDS)

    async def renew_all(self) -> None:
        """Renew the leases in slices, so that clients do not wait for thousands of nodes."""
        for number, name in enumerate(list(self._store.objects(Node))):
            self._renew(name)
            if number % NODES_PER_TURN == NODES_PER_TURN - 1:
                await asyncio.sleep(0)

    def _renew(self, name: str) -> None:
        node = self._store.find(Node, name)
        if node is not None and not self._is_silent(name):
            renew(self._store, node)

    def _on_node(self, _: EventType, old: Object | None, new: Object | None) -> None:
        if old is None and new is not None:
            self._renew(new.metadata.name)
        elif new is None and old is not None:
            self._reported.pop(old.metadata.name, None)
            if self._store.find(Lease, f"{NODE_LEASES}/{old.metadata.name}") is not None:
                self._store.delete(Lease, f"{NODE_LEASES}/{old.metadata.name}")

    def _on_lease(self, _: EventType, old: Object | None, new: Object | None) -> None:
        """Recreate a Lease that was deleted, as kubelets do."""
        if new is None and old is not None and old.metadata.namespace == NODE_LEASES:
            self._renew(old.metadata.name)

    def _on_lease_read(self, place: str | None) -> None:
        oldest = self._store.clock.now() - RENEW_SECONDS
        names = list(self._store.objects(Node)) if place is None else [place.removeprefix(f"{NODE_LEASES}/")]
        for name in names:
            if (renewed_at(self._store, name) or 0.0) <= oldest:
                self._renew(name)
        if place is None:
            self._watched_until = max(self._watched_until, oldest + WATCHED_SECONDS)

    def _on_node_read(self, name: str | None) -> None:
        """Write `lastHeartbeatTime` of a node that is read alone, not in a list."""
        now = self._store.clock.now()
        if name is None or self._is_silent(name) or now - self._reported.get(name, -math.inf) < STATUS_SECONDS:
            return
        self._reported[name] = now
        node, document = self._store.get(Node, name), self._store.document(Node, name)
        status, beat = document.get("status") or {}, {"lastHeartbeatTime": self._store.timestamp()}
        conditions = [{**condition, **beat} for condition in status.get("conditions") or ()]
        self._store.rewrite(node, node, {**document, "status": {**status, "conditions": conditions}})


class VolumeProvisioner:
    """Creates and deletes volumes of one provisioner for a controller."""

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
