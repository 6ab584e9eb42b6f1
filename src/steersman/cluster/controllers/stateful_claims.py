# SPDX-License-Identifier: Apache-2.0
"""Volume claims of StatefulSet pods: names, creation, owners.

With the retention policy Delete, a claim is owned by the set, or by its pod once that is condemned.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from steersman.api import (
    ClaimRetentionPolicy,
    Object,
    OwnerReference,
    PersistentVolumeClaim,
    Pod,
    StatefulSet,
    codec,
)
from steersman.base import InputError
from steersman.cluster.controllers.controller import Cluster, controller_reference
from steersman.cluster.store import Conflict, StatusError

DELETE: Final = "Delete"
RETAIN: Final = "Retain"

_replace = msgspec.structs.replace


def claim_name(stateful_set: StatefulSet, template: dict[str, Any], ordinal: int) -> str:
    """Return the name of a claim: `data-web-0`."""
    return f"{template_name(template)}-{stateful_set.metadata.name}-{ordinal}"


def template_name(template: dict[str, Any]) -> str:
    """Return the name of a claim template, which is the volume name in pods."""
    return str((template.get("metadata") or {}).get("name", ""))


class StatefulClaims:
    """Creates claims of StatefulSets and sets their owners."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._store = cluster.store

    def create_missing(self, stateful_set: StatefulSet, pod_name: str, ordinal: int) -> None:
        """Create the missing claims of a pod. Raise `StatusError`, also for terminating ones."""
        for template in stateful_set.spec.volume_claim_templates:
            name = claim_name(stateful_set, template, ordinal)
            found = self._store.find(PersistentVolumeClaim, f"{stateful_set.metadata.namespace}/{name}")
            if found is None:
                self._create(stateful_set, template, name, pod_name)
            elif found.metadata.deletion_timestamp is not None:
                raise Conflict(PersistentVolumeClaim, name, f"pvc {name} is being deleted")

    def _create(self, stateful_set: StatefulSet, template: dict[str, Any], name: str, pod_name: str) -> None:
        place = f"Claim {name} {{}}Pod {pod_name} in StatefulSet {stateful_set.metadata.name}"
        try:
            document = _claim_document(stateful_set, template, name)
            claim = codec.convert_part(document, PersistentVolumeClaim, "volumeClaimTemplates")
            self._store.create(claim, document if self._store.keeps_documents else None)
        except (StatusError, InputError) as refusal:
            message = f"Create {place.format('for ')} failed error: {refusal}"
            self._cluster.record(stateful_set, "FailedCreate", message, is_warning=True)
            raise refusal if isinstance(refusal, StatusError) else StatusError(str(refusal)) from refusal
        self._cluster.record(stateful_set, "SuccessfulCreate", f"Create {place.format('')} success")

    # -- whom they belong to -----------------------------------------------------------------------

    def own_right(self, stateful_set: StatefulSet, pod: Pod, ordinal: int) -> None:
        """Set the owners of a pod's claims by the retention policy of the set."""
        for claim in self._claims(stateful_set, ordinal):
            owners = _right_owners(claim, stateful_set, pod, ordinal)
            if owners is not None:
                self._store.update(_replace(claim, metadata=_replace(claim.metadata, owner_references=owners)))

    def belong_to_former(self, stateful_set: StatefulSet, pod_name: str, ordinal: int) -> bool:
        """Return whether a claim of the pod is still owned by a former pod of that name."""
        if _policy(stateful_set).when_scaled != DELETE:
            return False
        former = (ref for claim in self._claims(stateful_set, ordinal) for ref in claim.metadata.owner_references)
        return any(ref.kind == Pod.KIND and ref.name == pod_name for ref in former)

    def _claims(self, stateful_set: StatefulSet, ordinal: int) -> Iterator[PersistentVolumeClaim]:
        for template in stateful_set.spec.volume_claim_templates:
            name = claim_name(stateful_set, template, ordinal)
            claim = self._store.find(PersistentVolumeClaim, f"{stateful_set.metadata.namespace}/{name}")
            if claim is not None:
                yield claim


def _claim_document(stateful_set: StatefulSet, template: dict[str, Any], name: str) -> dict[str, Any]:
    selector, metadata = stateful_set.spec.selector, template.get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), **(selector.match_labels if selector is not None else {})}
    kept = {part: value for part, value in template.items() if part != "status"}
    named = {**metadata, "name": name, "namespace": stateful_set.metadata.namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **kept, "metadata": named}


def _policy(stateful_set: StatefulSet) -> ClaimRetentionPolicy:
    return stateful_set.spec.persistent_volume_claim_retention_policy or ClaimRetentionPolicy(RETAIN, RETAIN)


def _right_owners(
    claim: PersistentVolumeClaim, stateful_set: StatefulSet, pod: Pod, ordinal: int
) -> tuple[OwnerReference, ...] | None:
    """Return the owners that the claim should have; None for no change."""
    present = claim.metadata.owner_references
    if any(_is_former(ref, owner) for ref in present for owner in (stateful_set, pod)):
        return None  # still owned by a former object of that name
    others = tuple(ref for ref in present if ref.uid not in (stateful_set.metadata.uid, pod.metadata.uid))
    wanted = others
    if not any(ref.controller for ref in others):
        wanted += _wanted_owner(stateful_set, pod, ordinal)
    return None if wanted == present else wanted


def _wanted_owner(stateful_set: StatefulSet, pod: Pod, ordinal: int) -> tuple[OwnerReference, ...]:
    policy = _policy(stateful_set)
    start = stateful_set.spec.ordinals.start if stateful_set.spec.ordinals is not None else 0
    is_to_go = not start <= ordinal < start + (stateful_set.spec.replicas or 0)
    if is_to_go and policy.when_scaled == DELETE:
        return (controller_reference(pod),)
    return (controller_reference(stateful_set),) if policy.when_deleted == DELETE else ()


def _is_former(reference: OwnerReference, owner: Object) -> bool:
    """Return whether the reference is to another object of the same kind and name."""
    is_named = reference.kind == owner.KIND and reference.name == owner.metadata.name
    return is_named and reference.uid != owner.metadata.uid
