# SPDX-License-Identifier: Apache-2.0
"""Persistent volume controller: binds claims, provisions volumes, and reclaims released ones.

It reacts synchronously to changes of the store; `provisioning` builds new volumes. Claims of
immediate classes are bound or provisioned at once, others after the scheduler has reserved a volume
or selected a node. The rules are kube-controller-manager's; provisioning takes `provision_seconds`
and fails only if the selected node is deleted. A volume with an unknown claim is not changed,
because dumps are often partial and unordered.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

import msgspec

from steersman.api import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    NO_PROVISIONER,
    SELECTED_NODE,
    WAIT_FOR_FIRST_CONSUMER,
    Node,
    Object,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeChoice,
    annotated,
    bound_to,
    class_of_claim,
    class_of_volume,
    is_bound_to,
    key,
)
from steersman.base import InputError
from steersman.cluster.controllers.provisioning import PROVISIONED_BY, new_volume
from steersman.cluster.store import EventType, Store, Timers
from steersman.cluster.store.store import T

AVAILABLE: Final = "Available"
BOUND: Final = "Bound"
LOST: Final = "Lost"
RELEASED: Final = "Released"
DELETE: Final = "Delete"

_replace = msgspec.structs.replace


class VolumeController:
    """Controller that binds claims to volumes and provisions volumes."""

    def __init__(self, store: Store, timers: Timers, *, provision_seconds: float = 0.0) -> None:
        self._store = store
        self._timers = timers
        self._provision_seconds = provision_seconds
        self._claims = store.objects(PersistentVolumeClaim)
        self._volumes = store.objects(PersistentVolume)
        #: Names of volumes without a claim, and of others by the key of the claim that they are
        #: for. Volumes may have changed since: their events are delivered after those before them.
        self._free: dict[str, None] = {}
        self._reserved: dict[str, dict[str, None]] = {}
        #: Keys of claims without a volume, in order of arrival.
        self._unbound: dict[str, None] = {}
        #: Uids of claims with provisioning in progress.
        self._provisioning: set[str] = set()
        store.subscribe(self._on_volume, (PersistentVolume,))
        store.subscribe(self._on_claim, (PersistentVolumeClaim,))
        store.subscribe(self._on_class, (StorageClass,))

    # -- events ------------------------------------------------------------------------------------

    def _on_claim(self, _: EventType, old: Object | None, new: Object | None) -> None:
        if isinstance(new, PersistentVolumeClaim):
            self._sync_claim(key(new))
        elif isinstance(old, PersistentVolumeClaim):
            self._unbound.pop(key(old), None)
            volume = self._volumes.get(old.spec.volume_name)
            if volume is not None and is_bound_to(volume, old):
                self._release(volume)

    def _on_volume(self, _: EventType, old: Object | None, new: Object | None) -> None:
        if isinstance(old, PersistentVolume):
            self._remove_from_index(old)
        if isinstance(new, PersistentVolume):
            self._add_to_index(new)
            self._sync_volume(new.metadata.name)
            self._retry_claims_for(self._volumes.get(new.metadata.name, new))
        elif isinstance(old, PersistentVolume) and old.spec.claim_ref is not None:
            self._sync_claim(_key_of(old.spec.claim_ref))

    def _on_class(self, _: EventType, __: Object | None, new: Object | None) -> None:
        if isinstance(new, StorageClass):
            self._retry_claims(new.metadata.name)

    def _add_to_index(self, volume: PersistentVolume) -> None:
        reference = volume.spec.claim_ref
        names = self._free if reference is None else self._reserved.setdefault(_key_of(reference), {})
        names[volume.metadata.name] = None

    def _remove_from_index(self, volume: PersistentVolume) -> None:
        reference, name = volume.spec.claim_ref, volume.metadata.name
        if reference is None:
            self._free.pop(name, None)
        elif (names := self._reserved.get(_key_of(reference))) is not None:
            names.pop(name, None)
            if not names:
                del self._reserved[_key_of(reference)]

    def _retry_claims_for(self, volume: PersistentVolume) -> None:
        """Retry the claims that may bind to the volume."""
        reference, storage_class = volume.spec.claim_ref, class_of_volume(volume)
        if reference is None:
            self._retry_claims(storage_class)
        elif (name := _key_of(reference)) in self._unbound:
            claim = self._claims.get(name)
            if claim is not None and class_of_claim(claim) == storage_class:
                self._sync_claim(name)

    def _retry_claims(self, storage_class: str) -> None:
        for name in list(self._unbound):
            claim = self._claims.get(name)
            if claim is not None and class_of_claim(claim) == storage_class:
                self._sync_claim(name)

    # -- claims ------------------------------------------------------------------------------------

    def _sync_claim(self, name: str) -> None:
        claim = self._claims.get(name)
        if claim is None or claim.metadata.deletion_timestamp is not None:
            self._unbound.pop(name, None)
        elif BIND_COMPLETED in claim.metadata.annotations:
            self._unbound.pop(name, None)
            self._sync_bound_claim(claim)
        elif claim.spec.volume_name:
            self._unbound[name] = None
            self._bind_to_named_volume(claim)
        else:
            self._unbound[name] = None
            self._find_volume(claim)

    def _sync_bound_claim(self, claim: PersistentVolumeClaim) -> None:
        """Set the phase Lost if the volume is missing or bound to another claim."""
        volume = self._volumes.get(claim.spec.volume_name)
        if volume is not None and (volume.spec.claim_ref is None or is_bound_to(volume, claim)):
            self._bind(volume, claim)
        elif claim.status.phase != LOST:
            self._write(claim, _replace(claim, status=_replace(claim.status, phase=LOST)))

    def _bind_to_named_volume(self, claim: PersistentVolumeClaim) -> None:
        """Bind the volume named by the claim if it exists and is free; later events retry."""
        volume = self._volumes.get(claim.spec.volume_name)
        if volume is not None and (volume.spec.claim_ref is None or is_bound_to(volume, claim)):
            self._bind(volume, claim)

    def _find_volume(self, claim: PersistentVolumeClaim) -> None:
        storage_class = self._store.find(StorageClass, class_of_claim(claim))
        waits = storage_class is not None and storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
        try:
            choice = VolumeChoice(claim, self._volumes_for(claim))
        except InputError:
            return
        volume = next(iter(choice.reserved), None) if waits else choice.anywhere()
        if volume is not None:
            self._bind(volume, claim)
        elif storage_class is not None and (not waits or SELECTED_NODE in claim.metadata.annotations):
            self._start_provisioning(claim, storage_class)

    def _volumes_for(self, claim: PersistentVolumeClaim) -> Iterator[PersistentVolume]:
        """Yield the volumes that are free, or for the claim; all others are for other claims."""
        for name in (*self._free, *self._reserved.get(key(claim), ())):
            volume = self._volumes.get(name)
            if volume is not None:
                yield volume

    # -- binding -----------------------------------------------------------------------------------

    def _bind(self, volume: PersistentVolume, claim: PersistentVolumeClaim) -> None:
        """Write volume and claim if changed. Subscribers to the first write may do the second."""
        taken = bound_to(volume, claim)
        self._write(volume, _replace(taken, status=_replace(taken.status, phase=BOUND)))
        if self._claims.get(key(claim)) is claim:
            self._write(claim, _bound_claim(claim, volume))

    def _write(self, old: T, new: T) -> None:
        if new != old:
            self._store.rewrite(old, new)

    # -- provisioning ------------------------------------------------------------------------------

    def _start_provisioning(self, claim: PersistentVolumeClaim, storage_class: StorageClass) -> None:
        uid = claim.metadata.uid
        if storage_class.provisioner in ("", NO_PROVISIONER) or uid in self._provisioning:
            return
        if self._provision_seconds > 0:
            self._provisioning.add(uid)
            time = self._store.clock.monotonic() + self._provision_seconds
            self._timers.call_at(time, partial(self._provision, key(claim), uid))
        else:
            self._provision(key(claim), uid)

    def _provision(self, name: str, uid: str) -> None:
        self._provisioning.discard(uid)
        claim = self._claims.get(name)
        if claim is None or claim.metadata.uid != uid or claim.spec.volume_name:
            return
        storage_class = self._store.find(StorageClass, class_of_claim(claim))
        if storage_class is None:
            return
        node_name = claim.metadata.annotations.get(SELECTED_NODE)
        if node_name is not None and self._store.find(Node, node_name) is None:
            self._unselect_node(claim)
            return
        volume = new_volume(claim, storage_class, node_name, self._store)
        if volume.metadata.name not in self._volumes:
            self._store.create(volume)

    def _unselect_node(self, claim: PersistentVolumeClaim) -> None:
        """Remove the selected node from the claim, so that the scheduler selects another one."""
        annotations = {k: v for k, v in claim.metadata.annotations.items() if k != SELECTED_NODE}
        self._write(claim, _replace(claim, metadata=_replace(claim.metadata, annotations=annotations)))

    # -- volumes -----------------------------------------------------------------------------------

    def _sync_volume(self, name: str) -> None:
        volume = self._volumes.get(name)
        if volume is None:
            return
        reference = volume.spec.claim_ref
        if reference is None or not reference.uid:
            self._set_phase(volume, AVAILABLE)
            if reference is not None:
                self._sync_claim(_key_of(reference))
            return
        claim = self._claims.get(_key_of(reference))
        if claim is None:
            return
        if claim.metadata.uid != reference.uid:
            self._release(volume)
        elif not claim.spec.volume_name:
            self._sync_claim(_key_of(reference))
        elif claim.spec.volume_name == name:
            self._bind(volume, claim)
        else:
            self._unbind(volume)

    def _set_phase(self, volume: PersistentVolume, phase: str) -> None:
        self._write(volume, _replace(volume, status=_replace(volume.status, phase=phase)))

    def _release(self, volume: PersistentVolume) -> None:
        """Release a volume whose claim is gone, and delete it if its reclaim policy is Delete."""
        self._set_phase(volume, RELEASED)
        if volume.spec.persistent_volume_reclaim_policy == DELETE:
            self._store.delete(PersistentVolume, volume.metadata.name)

    def _unbind(self, volume: PersistentVolume) -> None:
        """Release a provisioned volume whose claim has another, or make an existing one free."""
        if PROVISIONED_BY in volume.metadata.annotations:
            self._release(volume)
        elif BOUND_BY_CONTROLLER in volume.metadata.annotations:
            annotations = {k: v for k, v in volume.metadata.annotations.items() if k != BOUND_BY_CONTROLLER}
            freed = _replace(volume, metadata=_replace(volume.metadata, annotations=annotations))
            freed = _replace(freed, spec=_replace(freed.spec, claim_ref=None))
            self._write(volume, _replace(freed, status=_replace(freed.status, phase=AVAILABLE)))


def _bound_claim(claim: PersistentVolumeClaim, volume: PersistentVolume) -> PersistentVolumeClaim:
    bound = claim
    if not claim.spec.volume_name:
        bound = annotated(
            _replace(bound, spec=_replace(bound.spec, volume_name=volume.metadata.name)), BOUND_BY_CONTROLLER, "yes"
        )
    if BIND_COMPLETED not in claim.metadata.annotations:
        bound = annotated(bound, BIND_COMPLETED, "yes")
    status = _replace(bound.status, phase=BOUND, access_modes=volume.spec.access_modes, capacity=volume.spec.capacity)
    return _replace(bound, status=status)


def _key_of(reference: ObjectReference) -> str:
    return f"{reference.namespace}/{reference.name}"
