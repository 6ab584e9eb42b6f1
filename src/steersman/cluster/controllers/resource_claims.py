# SPDX-License-Identifier: Apache-2.0
"""ResourceClaim controller: creates claims from templates, and deallocates devices.

A pod that references a template gets its own claim, whose name is in
`status.resourceClaimStatuses`; members of a PodGroup that lists the same reference share the
group's claim. Claims without users are deallocated; claims created for a pod or a group are deleted
with it. The rules are kube-controller-manager's.
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
    PodGroup,
    PodGroupResourceClaimStatus,
    PodResourceClaim,
    PodResourceClaimStatus,
    ResourceClaim,
    ResourceClaimStatus,
    ResourceClaimTemplate,
    key,
)
from steersman.cluster.controllers.pod_group_protection import group_of
from steersman.cluster.store import EventType, Store

FINALIZER: Final = "resource.kubernetes.io/delete-protection"

_replace = msgspec.structs.replace
_User = Pod | PodGroup
"""Object that a claim is created and reserved for: a pod or its group."""


class ResourceClaimController:
    """Controller of the ResourceClaims of all pods and, with `has_group_claims`, of pod groups."""

    def __init__(self, store: Store, *, has_group_claims: bool = False) -> None:
        self._store = store
        self._has_group_claims = has_group_claims
        #: Pods and groups with missing templates, and members of groups whose claims are missing.
        self._waiting: dict[tuple[type[_User], str], None] = {}
        store.subscribe(self._on_pod, (Pod,))
        store.subscribe(self._on_template, (ResourceClaimTemplate,))
        if has_group_claims:
            store.subscribe(self._on_group, (PodGroup,))

    # -- events ------------------------------------------------------------------------------------

    def _on_pod(self, _: EventType, old: Object | None, new: Object | None) -> None:
        pod = new if isinstance(new, Pod) else old
        if not isinstance(pod, Pod) or not (pod.spec.resource_claims or pod.status.extended_resource_claim_status):
            return
        if new is None:
            self._waiting.pop((Pod, key(pod)), None)
            self._release(pod, is_gone=True)
        elif pod.status.phase in FINISHED_PHASES:
            self._release(pod, is_gone=False)
        elif old is None:
            self._provide(pod)

    def _on_group(self, _: EventType, old: Object | None, new: Object | None) -> None:
        if isinstance(new, PodGroup):
            self._provide(new)
            if (
                not isinstance(old, PodGroup)
                or old.status.resource_claim_statuses != new.status.resource_claim_statuses
            ):
                self._retry(new.metadata.namespace)
        elif isinstance(old, PodGroup):
            self._waiting.pop((PodGroup, key(old)), None)
            self._release(old, is_gone=True)

    def _on_template(self, _: EventType, __: Object | None, new: Object | None) -> None:
        if isinstance(new, ResourceClaimTemplate):
            self._retry(new.metadata.namespace)

    def _retry(self, namespace: str) -> None:
        for kind, name in list(self._waiting):
            user = self._store.find(kind, name)
            if user is not None and user.metadata.namespace == namespace:
                self._provide(user)

    # -- creation ----------------------------------------------------------------------------------

    def _provide(self, user: _User) -> None:
        """Create the claims from templates; none while a template or a claim of the pod's group is
        missing."""
        waiting = type(user), key(user)
        self._waiting.pop(waiting, None)
        missing = list(_unmade(user))
        if not missing or user.metadata.deletion_timestamp is not None:
            return
        shared = self._shared_claims(user)
        templates = {one.name: self._template(user, one) for one in missing if one.name not in shared}
        if None in shared.values() or None in templates.values():
            self._waiting[waiting] = None
            return
        made = {name: claim for name, claim in shared.items() if claim is not None}
        for reference in missing:
            template = templates.get(reference.name)
            if template is not None:
                made[reference.name] = self._create(user, reference, template)
        self._write_names(user, {reference.name: made[reference.name] for reference in missing})

    def _shared_claims(self, user: _User) -> dict[str, str | None]:
        """Return the claims that the pod shares with its group, by reference; None for claims that
        do not exist yet."""
        if not self._has_group_claims or not isinstance(user, Pod) or not group_of(user):
            return {}
        group = self._store.find(PodGroup, group_of(user))
        if group is None:
            return dict.fromkeys(reference.name for reference in user.spec.resource_claims)
        made = {status.name: status.resource_claim_name for status in group.status.resource_claim_statuses}
        listed = group.spec.resource_claims
        return {one.name: made.get(one.name) for one in _unmade(user) if one in listed}

    def _write_names(self, user: _User, made: dict[str, str]) -> None:
        """Add the names of created claims to the status."""
        if isinstance(user, Pod):
            pod = self._store.get(Pod, key(user))
            added = tuple(PodResourceClaimStatus(name=name, resource_claim_name=claim) for name, claim in made.items())
            names = (*pod.status.resource_claim_statuses, *added)
            self._store.update_status(_replace(pod, status=_replace(pod.status, resource_claim_statuses=names)))
            return
        group = self._store.get(PodGroup, key(user))
        statuses = (
            *group.status.resource_claim_statuses,
            *(PodGroupResourceClaimStatus(name=name, resource_claim_name=claim) for name, claim in made.items()),
        )
        self._store.update_status(_replace(group, status=_replace(group.status, resource_claim_statuses=statuses)))

    def _template(self, user: _User, reference: PodResourceClaim) -> ResourceClaimTemplate | None:
        name = reference.resource_claim_template_name or ""
        return self._store.find(ResourceClaimTemplate, f"{user.metadata.namespace}/{name}")

    def _create(self, user: _User, reference: PodResourceClaim, template: ResourceClaimTemplate) -> str:
        """Create the claim and return its name."""
        owner = OwnerReference(
            api_version=user.API_VERSION,
            kind=user.KIND,
            name=user.metadata.name,
            uid=user.metadata.uid,
            controller=True,
        )
        metadata = ObjectMeta(
            generate_name=f"{user.metadata.name}-{reference.name}-",
            namespace=user.metadata.namespace,
            labels=template.spec.metadata.labels,
            annotations=template.spec.metadata.annotations,
            owner_references=(owner,),
        )
        return self._store.create(ResourceClaim(metadata=metadata, spec=template.spec.spec)).metadata.name

    # -- release -----------------------------------------------------------------------------------

    def _release(self, user: _User, is_gone: bool) -> None:
        for name in _names(user):
            claim = self._store.find(ResourceClaim, f"{user.metadata.namespace}/{name}")
            if claim is None:
                continue
            self._drop_user(claim, user.metadata.uid)
            if is_gone and any(owner.uid == user.metadata.uid for owner in claim.metadata.owner_references):
                self._store.delete(ResourceClaim, key(claim))

    def _drop_user(self, claim: ResourceClaim, uid: str) -> None:
        users = tuple(user for user in claim.status.reserved_for if user.uid != uid)
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


def _unmade(user: _User) -> Iterator[PodResourceClaim]:
    made = {status.name for status in user.status.resource_claim_statuses}
    for reference in user.spec.resource_claims:
        if reference.resource_claim_template_name is not None and reference.name not in made:
            yield reference


def _names(user: _User) -> Iterable[str]:
    """Return the names of all claims that the pod or group uses."""
    own = [reference.resource_claim_name for reference in user.spec.resource_claims]
    made = [status.resource_claim_name for status in user.status.resource_claim_statuses]
    extended = user.status.extended_resource_claim_status if isinstance(user, Pod) else None
    names = (*own, *made, extended.resource_claim_name if extended is not None else None)
    return [name for name in names if name]
