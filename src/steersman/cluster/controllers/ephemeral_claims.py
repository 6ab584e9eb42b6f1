# SPDX-License-Identifier: Apache-2.0
"""Controller of ephemeral volumes: creates pods' claims, and deletes them with the pod."""

from __future__ import annotations

from steersman.api import (
    ClaimUse,
    EphemeralVolumeSource,
    Object,
    ObjectMeta,
    OwnerReference,
    PersistentVolumeClaim,
    Pod,
    claim_uses,
    not_made_for,
)
from steersman.cluster.store import EventType, Store


class EphemeralClaims:
    """Ephemeral volume controller; existing claims of the same name are not changed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        store.subscribe(self._on_pod, (Pod,))

    def _on_pod(self, _: EventType, old: Object | None, new: Object | None) -> None:
        if isinstance(new, Pod) and old is None:
            for use in claim_uses(new):
                if use.is_ephemeral:
                    self._provide(new, use)
        elif isinstance(old, Pod) and new is None:
            for use in claim_uses(old):
                if use.is_ephemeral:
                    self._remove(old, use)

    def _provide(self, pod: Pod, use: ClaimUse) -> None:
        source = use.volume.ephemeral
        if source is None or source.volume_claim_template is None or pod.metadata.deletion_timestamp is not None:
            return
        if self._store.find(PersistentVolumeClaim, f"{pod.metadata.namespace}/{use.claim}") is None:
            self._store.create(_claim(pod, use.claim, source))

    def _remove(self, pod: Pod, use: ClaimUse) -> None:
        name = f"{pod.metadata.namespace}/{use.claim}"
        claim = self._store.find(PersistentVolumeClaim, name)
        if claim is not None and not not_made_for(pod, claim):
            self._store.delete(PersistentVolumeClaim, name)


def _claim(pod: Pod, name: str, source: EphemeralVolumeSource) -> PersistentVolumeClaim:
    template = source.volume_claim_template
    assert template is not None
    owner = OwnerReference(
        api_version=pod.API_VERSION, kind=pod.KIND, name=pod.metadata.name, uid=pod.metadata.uid, controller=True
    )
    metadata = ObjectMeta(
        name=name,
        namespace=pod.metadata.namespace,
        labels=template.metadata.labels,
        annotations=template.metadata.annotations,
        owner_references=(owner,),
    )
    return PersistentVolumeClaim(metadata=metadata, spec=template.spec)
