# SPDX-License-Identifier: Apache-2.0
"""ResourceClaim controller: creates claims from templates, and deallocates devices.

A pod that references a template gets its own claim, whose name is in
`status.resourceClaimStatuses`. Claims without users are deallocated; claims created for a pod are
deleted with it. The rules are kube-controller-manager's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from steersman.api import (
    FINISHED_PHASES,
    Object,
    ObjectMeta,
    OwnerReference,
    Pod,
    PodResourceClaim,
    PodResourceClaimStatus,
    ResourceClaim,
    ResourceClaimStatus,
    ResourceClaimTemplate,
    key,
)
from steersman.cluster.store import EventType, Store

FINALIZER: Final = "resource.kubernetes.io/delete-protection"

_replace = msgspec.structs.replace


class ResourceClaimController:
    """Controller of the ResourceClaims of all pods."""

    def __init__(self, store: Store) -> None:
        self._store = store
        #: Keys of pods with missing templates.
        self._waiting: dict[str, None] = {}
        store.subscribe(self._on_pod, (Pod,))
        store.subscribe(self._on_template, (ResourceClaimTemplate,))

    # -- events ------------------------------------------------------------------------------------

    def _on_pod(self, _: EventType, old: Object | None, new: Object | None) -> None:
        pod = new if isinstance(new, Pod) else old
        if not isinstance(pod, Pod) or not (pod.spec.resource_claims or pod.status.extended_resource_claim_status):
            return
        if new is None:
            self._waiting.pop(key(pod), None)
            self._release(pod, is_gone=True)
        elif pod.status.phase in FINISHED_PHASES:
            self._release(pod, is_gone=False)
        elif old is None:
            self._provide(pod)

    def _on_template(self, _: EventType, __: Object | None, new: Object | None) -> None:
        if isinstance(new, ResourceClaimTemplate):
            for name in list(self._waiting):
                pod = self._store.find(Pod, name)
                if pod is not None and pod.metadata.namespace == new.metadata.namespace:
                    self._provide(pod)

    # -- creation ----------------------------------------------------------------------------------

    def _provide(self, pod: Pod) -> None:
        """Create the pod's claims from templates; none while a template is missing."""
        self._waiting.pop(key(pod), None)
        missing = list(_unmade(pod))
        if not missing or pod.metadata.deletion_timestamp is not None:
            return
        templates = [self._template(pod, reference) for reference in missing]
        if None in templates:
            self._waiting[key(pod)] = None
            return
        made = tuple(
            self._create(pod, reference, template)
            for reference, template in zip(missing, templates, strict=True)
            if template is not None
        )
        current = self._store.get(Pod, key(pod))
        statuses = (*current.status.resource_claim_statuses, *made)
        self._store.update_status(_replace(current, status=_replace(current.status, resource_claim_statuses=statuses)))

    def _template(self, pod: Pod, reference: PodResourceClaim) -> ResourceClaimTemplate | None:
        name = reference.resource_claim_template_name or ""
        return self._store.find(ResourceClaimTemplate, f"{pod.metadata.namespace}/{name}")

    def _create(self, pod: Pod, reference: PodResourceClaim, template: ResourceClaimTemplate) -> PodResourceClaimStatus:
        owner = OwnerReference(
            api_version=pod.API_VERSION, kind=pod.KIND, name=pod.metadata.name, uid=pod.metadata.uid, controller=True
        )
        metadata = ObjectMeta(
            generate_name=f"{pod.metadata.name}-{reference.name}-",
            namespace=pod.metadata.namespace,
            labels=template.spec.metadata.labels,
            annotations=template.spec.metadata.annotations,
            owner_references=(owner,),
        )
        claim = self._store.create(ResourceClaim(metadata=metadata, spec=template.spec.spec))
        return PodResourceClaimStatus(name=reference.name, resource_claim_name=claim.metadata.name)

    # -- release -----------------------------------------------------------------------------------

    def _release(self, pod: Pod, is_gone: bool) -> None:
        for name in _names(pod):
            claim = self._store.find(ResourceClaim, f"{pod.metadata.namespace}/{name}")
            if claim is None:
                continue
            self._drop_user(claim, pod)
            if is_gone and any(owner.uid == pod.metadata.uid for owner in claim.metadata.owner_references):
                self._store.delete(ResourceClaim, key(claim))

    def _drop_user(self, claim: ResourceClaim, pod: Pod) -> None:
        users = tuple(user for user in claim.status.reserved_for if user.uid != pod.metadata.uid)
        if users == claim.status.reserved_for:
            return
        if users:
            self._store.replace(_replace(claim, status=_replace(claim.status, reserved_for=users)))
        else:
            self._deallocate(claim)

    def _deallocate(self, claim: ResourceClaim) -> None:
        """Deallocate the claim, even before a deletion: this requeues pods waiting for devices."""
        left = tuple(name for name in claim.metadata.finalizers if name != FINALIZER)
        metadata = _replace(claim.metadata, finalizers=left)
        self._store.replace(_replace(claim, metadata=metadata, status=ResourceClaimStatus()))


def _unmade(pod: Pod) -> Iterator[PodResourceClaim]:
    made = {status.name for status in pod.status.resource_claim_statuses}
    for reference in pod.spec.resource_claims:
        if reference.resource_claim_template_name is not None and reference.name not in made:
            yield reference


def _names(pod: Pod) -> Iterable[str]:
    """Return the names of all claims that the pod uses."""
    own = [reference.resource_claim_name for reference in pod.spec.resource_claims]
    made = [status.resource_claim_name for status in pod.status.resource_claim_statuses]
    extended = pod.status.extended_resource_claim_status
    names = (*own, *made, extended.resource_claim_name if extended is not None else None)
    return [name for name in names if name]
