# SPDX-License-Identifier: Apache-2.0
"""How claims and persistent volumes belong together: classes, binding, the claims of a pod.

Rules that the scheduler's volume plugins and the controllers of the embedded cluster share. All functions look at API
objects only; which volume a claim gets is decided in `volume_matching`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple, TypeVar

import msgspec

from steersman.api import node_selectors
from steersman.api.meta import ObjectReference
from steersman.api.node_selectors import AnyTerm
from steersman.api.pod import Pod
from steersman.api.scheduling import NodeSelector
from steersman.api.storage import PersistentVolume, PersistentVolumeClaim
from steersman.api.volume import Volume

CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
"""The old way to name a storage class; where it is present, it counts."""
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
"""On a claim: controller or user have finished binding it. The value does not matter."""
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
"""On a claim or volume: the binding was not the user's wish, and may be undone. The value does not matter."""
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
"""On a claim: the node for which the scheduler wants it provisioned."""
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
"""The provisioner of a storage class whose volumes are all made by hand."""
WAIT_FOR_FIRST_CONSUMER: Final = "WaitForFirstConsumer"
READ_WRITE_ONCE_POD: Final = "ReadWriteOncePod"
STORAGE: Final = "storage"
"""The resource that claims request and volumes offer."""

StorageObject = TypeVar("StorageObject", PersistentVolume, PersistentVolumeClaim)

_replace = msgspec.structs.replace


class ClaimUse(NamedTuple):
    """One volume of a pod that comes from a claim."""

    volume: Volume
    claim: str
    """The name of the claim, in the pod's namespace."""
    is_ephemeral: bool
    """The claim is made for the pod, and must be its own."""


def class_of_claim(claim: PersistentVolumeClaim) -> str:
    """The storage class that the claim asks for, "" for none."""
    named = claim.metadata.annotations.get(CLASS_ANNOTATION)
    return named if named is not None else claim.spec.storage_class_name or ""


def class_of_volume(volume: PersistentVolume) -> str:
    """The storage class that the volume belongs to, "" for none."""
    named = volume.metadata.annotations.get(CLASS_ANNOTATION)
    return named if named is not None else volume.spec.storage_class_name


def claim_uses(pod: Pod) -> Iterator[ClaimUse]:
    """The claims of a pod in the order of its volumes: those that it names, and those made for it."""
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield ClaimUse(volume, volume.persistent_volume_claim.claim_name, is_ephemeral=False)
        elif volume.ephemeral is not None:
            yield ClaimUse(volume, ephemeral_claim_name(pod, volume), is_ephemeral=True)


def ephemeral_claim_name(pod: Pod, volume: Volume) -> str:
    """The name of the claim that is made for an ephemeral volume of a pod."""
    return f"{pod.metadata.name}-{volume.name}"


def not_made_for(pod: Pod, claim: PersistentVolumeClaim) -> str:
    """Why the claim cannot be the one that was made for an ephemeral volume of the pod; "" if it is."""
    owner = next((o for o in claim.metadata.owner_references if o.controller), None)
    if claim.metadata.namespace == pod.metadata.namespace and owner is not None and owner.uid == pod.metadata.uid:
        return ""
    names = f"PVC {claim.metadata.namespace}/{claim.metadata.name} was not created for pod"
    return f"{names} {pod.metadata.namespace}/{pod.metadata.name} (pod is not owner)"


def is_fully_bound(claim: PersistentVolumeClaim) -> bool:
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.metadata.annotations


def is_bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether the volume is bound to the claim, or set aside for it (then the uid may be missing)."""
    wanted = volume.spec.claim_ref
    if wanted is None or (wanted.name, wanted.namespace) != (claim.metadata.name, claim.metadata.namespace):
        return False
    return not wanted.uid or wanted.uid == claim.metadata.uid


def bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """The volume with a reference to the claim; the very same object when it has all of that already."""
    bound, there, meta = volume, volume.spec.claim_ref, claim.metadata
    if there is None or (there.namespace, there.name, there.uid) != (meta.namespace, meta.name, meta.uid):
        bound = _replace(bound, spec=_replace(bound.spec, claim_ref=reference_to(claim)))
    if not is_bound_to(volume, claim) and BOUND_BY_CONTROLLER not in volume.metadata.annotations:
        bound = annotated(bound, BOUND_BY_CONTROLLER, "yes")
    return bound


def reference_to(claim: PersistentVolumeClaim) -> ObjectReference:
    meta = claim.metadata
    return ObjectReference(
        kind=claim.KIND,
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        api_version=claim.API_VERSION,
        resource_version=meta.resource_version,
    )


def annotated(obj: StorageObject, name: str, value: str) -> StorageObject:
    """The object with one more annotation."""
    annotations = {**obj.metadata.annotations, name: value}
    return _replace(obj, metadata=_replace(obj.metadata, annotations=annotations))


def admits_node(volume: PersistentVolume, labels: Mapping[str, str]) -> bool:
    """Whether the volume can be used on a node with these labels. Its affinity cannot speak of the node's name."""
    selector = node_selector_of(volume)
    return selector is None or selector.matches(labels, "")


def why_not_admitted(volume: PersistentVolume, labels: Mapping[str, str]) -> str:
    """Why the volume cannot be used on a node with these labels; "" if it can."""
    if admits_node(volume, labels):
        return ""
    selector = node_selector_of(volume)
    return (selector.error if selector is not None else None) or "no matching NodeSelectorTerms"


def node_selector_of(volume: PersistentVolume) -> AnyTerm | None:
    """The nodes on which the volume can be used; None: all."""
    affinity = volume.spec.node_affinity
    return None if affinity is None or affinity.required is None else _compiled(affinity.required)


@lru_cache(maxsize=4096)
def _compiled(selector: NodeSelector) -> AnyTerm:
    return node_selectors.lazy(selector)
