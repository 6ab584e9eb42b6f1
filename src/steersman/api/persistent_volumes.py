# SPDX-License-Identifier: Apache-2.0
"""Relations of claims and persistent volumes: classes, binding, claims of a pod.

Rules shared by the scheduler's volume plugins and the controllers of the embedded cluster, as
functions of API objects; `volume_matching` selects volumes for claims.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple, TypeVar

import msgspec

from steersman.api import node_selectors
from steersman.api.meta import reference_to
from steersman.api.node_selectors import AnyTerm
from steersman.api.pod import Pod
from steersman.api.scheduling import NodeSelector
from steersman.api.storage import PersistentVolume, PersistentVolumeClaim
from steersman.api.volume import Volume

CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
"""Old annotation for the storage class, which takes precedence."""
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
"""Annotation of a claim whose binding is complete; the value is irrelevant."""
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
"""Annotation of a claim or volume that the controller bound and may unbind; any value."""
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
"""Annotation of a claim with the node for which the scheduler requests provisioning."""
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
"""Provisioner of a storage class whose volumes are created manually."""
WAIT_FOR_FIRST_CONSUMER: Final = "WaitForFirstConsumer"
READ_WRITE_ONCE_POD: Final = "ReadWriteOncePod"
STORAGE: Final = "storage"
"""Resource that claims request and volumes offer."""

StorageObject = TypeVar("StorageObject", PersistentVolume, PersistentVolumeClaim)

_replace = msgspec.structs.replace


class ClaimUse(NamedTuple):
    """Volume of a pod that uses a claim."""

    volume: Volume
    claim: str
    """Name of the claim, in the pod's namespace."""
    is_ephemeral: bool
    """Whether the claim was created for the pod, which must own it."""


def class_of_claim(claim: PersistentVolumeClaim) -> str:
    """Return the storage class of the claim, or ""."""
    named = claim.metadata.annotations.get(CLASS_ANNOTATION)
    return named if named is not None else claim.spec.storage_class_name or ""


def class_of_volume(volume: PersistentVolume) -> str:
    """Return the storage class of the volume, or ""."""
    named = volume.metadata.annotations.get(CLASS_ANNOTATION)
    return named if named is not None else volume.spec.storage_class_name


def claim_uses(pod: Pod) -> Iterator[ClaimUse]:
    """Yield the claims of a pod in the order of its volumes, including ephemeral ones."""
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield ClaimUse(volume, volume.persistent_volume_claim.claim_name, is_ephemeral=False)
        elif volume.ephemeral is not None:
            yield ClaimUse(volume, ephemeral_claim_name(pod, volume), is_ephemeral=True)


def ephemeral_claim_name(pod: Pod, volume: Volume) -> str:
    """Return the name of the claim for an ephemeral volume."""
    return f"{pod.metadata.name}-{volume.name}"


def not_made_for(pod: Pod, claim: PersistentVolumeClaim) -> str:
    """Return why the claim was not created for an ephemeral volume of the pod, or ""."""
    owner = next((o for o in claim.metadata.owner_references if o.controller), None)
    if claim.metadata.namespace == pod.metadata.namespace and owner is not None and owner.uid == pod.metadata.uid:
        return ""
    names = f"PVC {claim.metadata.namespace}/{claim.metadata.name} was not created for pod"
    return f"{names} {pod.metadata.namespace}/{pod.metadata.name} (pod is not owner)"


def is_fully_bound(claim: PersistentVolumeClaim) -> bool:
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.metadata.annotations


def is_bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Return whether the volume is bound to the claim or reserved for it (possibly without uid)."""
    wanted = volume.spec.claim_ref
    if wanted is None or (wanted.name, wanted.namespace) != (claim.metadata.name, claim.metadata.namespace):
        return False
    return not wanted.uid or wanted.uid == claim.metadata.uid


def bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """Return the volume with a reference to the claim; the same object if unchanged."""
    bound, there, meta = volume, volume.spec.claim_ref, claim.metadata
    if there is None or (there.namespace, there.name, there.uid) != (meta.namespace, meta.name, meta.uid):
        bound = _replace(bound, spec=_replace(bound.spec, claim_ref=reference_to(claim)))
    if not is_bound_to(volume, claim) and BOUND_BY_CONTROLLER not in volume.metadata.annotations:
        bound = annotated(bound, BOUND_BY_CONTROLLER, "yes")
    return bound


def annotated(obj: StorageObject, name: str, value: str) -> StorageObject:
    """Return the object with an added annotation."""
    annotations = {**obj.metadata.annotations, name: value}
    return _replace(obj, metadata=_replace(obj.metadata, annotations=annotations))


def admits_node(volume: PersistentVolume, labels: Mapping[str, str]) -> bool:
    """Return whether the volume's node affinity matches the labels; it cannot match node names."""
    selector = node_selector_of(volume)
    return selector is None or selector.matches(labels, "")


def why_not_admitted(volume: PersistentVolume, labels: Mapping[str, str]) -> str:
    """Return why the volume is inaccessible from a node with these labels, or ""."""
    if admits_node(volume, labels):
        return ""
    selector = node_selector_of(volume)
    return (selector.error if selector is not None else None) or "no matching NodeSelectorTerms"


def node_selector_of(volume: PersistentVolume) -> AnyTerm | None:
    """Return the selector of nodes that can access the volume; None for all nodes."""
    affinity = volume.spec.node_affinity
    return None if affinity is None or affinity.required is None else _compiled(affinity.required)


@lru_cache(maxsize=4096)
def _compiled(selector: NodeSelector) -> AnyTerm:
    return node_selectors.lazy(selector)
