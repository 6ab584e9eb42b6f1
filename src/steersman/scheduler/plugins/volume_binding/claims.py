# SPDX-License-Identifier: Apache-2.0
"""The claims of a pod, independent of any node.

PreFilter groups them: bound ones, those that wait for their first consumer, and those that the
controllers should have bound by now. Claims of ephemeral volumes must belong to the pod.
"""

from __future__ import annotations

import msgspec

from steersman import api
from steersman.api import (
    WAIT_FOR_FIRST_CONSUMER,
    ClaimUse,
    PersistentVolumeClaim,
    StorageClass,
    VolumeChoice,
    claim_uses,
    class_of_claim,
    is_fully_bound,
    not_made_for,
)
from steersman.framework import Objects, Status, error, unresolvable
from steersman.scheduler.plugins.volume_binding.assume_cache import AssumedObjects, AssumedVolumes

ERR_UNBOUND_IMMEDIATE_CLAIMS = "pod has unbound immediate PersistentVolumeClaims"
LOST = "Lost"


class VolumeFault(Exception):
    """An object is invalid or missing: the cycle ends with this error message."""


class PodClaims(msgspec.Struct):
    """The claims of one pod."""

    bound: list[PersistentVolumeClaim] = msgspec.field(default_factory=list)
    #: Claims that get a volume, or a provisioned one, on the node of the pod.
    waiting: list[PersistentVolumeClaim] = msgspec.field(default_factory=list)
    #: Claims that must be bound before the pod can run, but not by the scheduler.
    unready: list[PersistentVolumeClaim] = msgspec.field(default_factory=list)
    #: Volumes for the waiting claims by claim name, computed for the first node.
    choices: dict[str, VolumeChoice] = msgspec.field(default_factory=dict)

    def choice(self, claim: PersistentVolumeClaim, volumes: AssumedVolumes) -> VolumeChoice:
        name = claim.metadata.name
        if name not in self.choices:
            self.choices[name] = VolumeChoice(claim, volumes.candidates(claim))
        return self.choices[name]


def prepare(pod: api.Pod, claims: AssumedObjects[PersistentVolumeClaim], objects: Objects) -> PodClaims | Status:
    """Return the claims for PreFilter, or a status that rejects the pod on all nodes."""
    why = objection(pod, objects)
    if why:
        return unresolvable(why)
    try:
        prepared = sort_claims(pod, claims, objects)
    except VolumeFault as problem:
        return error(str(problem))
    return unresolvable(ERR_UNBOUND_IMMEDIATE_CLAIMS) if prepared.unready else prepared


def objection(pod: api.Pod, objects: Objects) -> str:
    """Return why the claims prevent the pod from running on any node, or ""."""
    for use in claim_uses(pod):
        claim = objects.get(PersistentVolumeClaim, f"{pod.metadata.namespace}/{use.claim}")
        why = _missing(use) if claim is None else _unusable(claim)
        if not why and claim is not None and use.is_ephemeral:
            why = not_made_for(pod, claim)
        if why:
            return why
    return ""


def sort_claims(pod: api.Pod, claims: AssumedObjects[PersistentVolumeClaim], objects: Objects) -> PodClaims:
    """Group the claims by state. Raise `VolumeFault` for a storage class without a binding mode."""
    sorted_claims = PodClaims()
    for use in claim_uses(pod):
        claim = claim_of(pod, use, claims)
        if is_fully_bound(claim):
            sorted_claims.bound.append(claim)
        elif waits_for_consumer(claim, objects) and not claim.spec.volume_name:
            sorted_claims.waiting.append(claim)
        else:
            sorted_claims.unready.append(claim)
    return sorted_claims


def claim_of(pod: api.Pod, use: ClaimUse, claims: AssumedObjects[PersistentVolumeClaim]) -> PersistentVolumeClaim:
    """Return the assumed claim; raise `VolumeFault` if it is missing or not the pod's."""
    key = f"{pod.metadata.namespace}/{use.claim}"
    claim = claims.get(key)
    if claim is None:
        raise VolumeFault(f'error getting PVC "{key}": persistentvolumeclaims "{key}" not found')
    if use.is_ephemeral and (why := not_made_for(pod, claim)):
        raise VolumeFault(why)
    return claim


def all_bound(pod: api.Pod, claims: AssumedObjects[PersistentVolumeClaim]) -> bool:
    """Return whether all claims of the pod are bound."""
    try:
        return all(is_fully_bound(claim_of(pod, use, claims)) for use in claim_uses(pod))
    except VolumeFault:
        return False


def waits_for_consumer(claim: PersistentVolumeClaim, objects: Objects) -> bool:
    """Return whether the claim's class delays binding until a pod that uses it is placed."""
    name = class_of_claim(claim)
    storage_class = objects.get(StorageClass, name) if name else None
    if storage_class is None:
        return False
    if storage_class.volume_binding_mode is None:
        raise VolumeFault(f'VolumeBindingMode not set for StorageClass "{name}"')
    return storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER


def _missing(use: ClaimUse) -> str:
    if use.is_ephemeral:
        return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{use.claim}"'
    return f'persistentvolumeclaim "{use.claim}" not found'


def _unusable(claim: PersistentVolumeClaim) -> str:
    name = claim.metadata.name
    if claim.status.phase == LOST:
        return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{claim.spec.volume_name}"'
    return f'persistentvolumeclaim "{name}" is being deleted' if claim.metadata.deletion_timestamp is not None else ""
