# SPDX-License-Identifier: Apache-2.0
"""Protection of storage in use: delays deletion of claims used by pods and of bound volumes.

Admission adds a finalizer to both kinds; this controller removes it when the terminating object is
no longer in use.
"""

from __future__ import annotations

from collections.abc import Iterable

from steersman.api import Object, PersistentVolume, PersistentVolumeClaim, Pod, key
from steersman.cluster.controllers.controller import Cluster, Controller
from steersman.cluster.store import EventType
from steersman.cluster.store.finalizers import PV_PROTECTION, PVC_PROTECTION, without_finalizer


class VolumeProtection(Controller):
    """Volume protection controller; keys are `namespace/name` of claims and names of volumes."""

    NAME = "volume-protection"

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self._claims = self.store.objects(PersistentVolumeClaim)
        #: Keys of terminating claims.
        self._terminating: set[str] = set()
        #: Claim key → keys of bound pods that use it; tracked from the first deletion on.
        self._users: dict[str, dict[str, None]] = {}
        self._is_following_pods = False
        self.store.subscribe(self._on_storage, (PersistentVolumeClaim, PersistentVolume))

    def _on_storage(self, _: EventType, old: Object | None, new: Object | None) -> None:
        if new is None:
            if isinstance(old, PersistentVolumeClaim):
                self._terminating.discard(key(old))
        elif new.metadata.deletion_timestamp is not None:
            if isinstance(new, PersistentVolumeClaim):
                self._terminating.add(key(new))
                self._follow_pods()
            self.enqueue(key(new))

    def _follow_pods(self) -> None:
        """Subscribe to pods when the first claim is deleted."""
        if not self._is_following_pods:
            self._is_following_pods = True
            self.store.subscribe(self._on_pod, (Pod,))

    def _on_pod(self, _: EventType, old: Object | None, new: Object | None) -> None:
        if isinstance(new, Pod):
            if new.spec.node_name:
                for claim in claims_of(new):
                    self._users.setdefault(claim, {})[key(new)] = None
        elif isinstance(old, Pod):
            for claim in claims_of(old):
                self._forget_user(claim, key(old))

    def _forget_user(self, claim: str, pod: str) -> None:
        users = self._users.get(claim, {})
        users.pop(pod, None)
        if not users:
            self._users.pop(claim, None)
        if claim in self._terminating:
            self.enqueue(claim)

    def reconcile(self, name: str) -> None:
        if "/" in name:
            self._reconcile_claim(name)
        else:
            self._reconcile_volume(name)

    def _reconcile_claim(self, name: str) -> None:
        claim = self._claims.get(name)
        if (
            claim is None
            or claim.metadata.deletion_timestamp is None
            or PVC_PROTECTION not in claim.metadata.finalizers
        ):
            return
        if name not in self._users:
            self.store.update(without_finalizer(claim, PVC_PROTECTION))

    def _reconcile_volume(self, name: str) -> None:
        volume = self.store.find(PersistentVolume, name)
        if volume is None or volume.metadata.deletion_timestamp is None:
            return
        if PV_PROTECTION in volume.metadata.finalizers and volume.status.phase != "Bound":
            self.store.update(without_finalizer(volume, PV_PROTECTION))


def claims_of(pod: Pod) -> Iterable[str]:
    """Return the keys of the claims that the pod uses, including ephemeral ones."""
    namespace, name = pod.metadata.namespace, pod.metadata.name
    found = list[str]()
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            found.append(f"{namespace}/{volume.persistent_volume_claim.claim_name}")
        elif volume.ephemeral is not None:
            found.append(f"{namespace}/{name}-{volume.name}")
    return found
