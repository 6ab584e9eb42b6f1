# SPDX-License-Identifier: Apache-2.0
"""ResourceClaims: the usable claims of a pod, and the devices of all claims.

A claim may be missing, not created yet or another pod's. With the gate DRAWorkloadResourceClaims,
claims of a pod group are usable by its members. Devices may have to be prepared for a node
before a pod is bound: their driver reports binding conditions in the claim's status. Claims with a
failed condition or a timeout can be deallocated.

`ClaimTracker` adds to the watched claims those that were just written (*assumed*, until the watch
shows them) and allocations that are decided but not written yet (*pending*: Reserve makes them,
PreBind or Unreserve ends them). All profiles of a scheduler share one tracker, since they share the
devices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Protocol
from weakref import WeakValueDictionary

from steersman import api
from steersman.api import (
    AllocatedDeviceStatus,
    Condition,
    DeviceRequestAllocationResult,
    ResourceClaim,
    timestamps,
    version_number,
)
from steersman.base import CacheSpec
from steersman.framework import Objects
from steersman.scheduler.plugins.dynamic_resources import extended_resources
from steersman.scheduler.plugins.dynamic_resources.allocation import DevicesInUse

#: API group of PodGroups.
GROUP_API: Final = "scheduling.k8s.io"

# -- claims of a pod ---------------------------------------------------------------------------------------------------


class ClaimProblem(Exception):
    """A claim is missing, not created yet, being deleted or another pod's, in upstream's words."""


class Claims(Protocol):
    """Claims by `namespace/name`, including assumed ones."""

    def get(self, key: str) -> api.ResourceClaim | None: ...


def pod_claims(pod: api.Pod, claims: Claims, *, for_group: bool = False) -> list[api.ResourceClaim]:
    """Return the pod's claims in spec order. Raise `ClaimProblem` if one of them cannot be used.
    With `for_group`, generated claims may belong to the pod's group, too."""
    return [_claim(pod, name, generated, claims, for_group) for name, generated in _claim_names(pod)]


def is_reserved_for(claim: api.ResourceClaim, pod: api.Pod, *, for_group: bool = False) -> bool:
    """Return whether the claim is reserved for the pod or, with `for_group`, for its group."""
    group = group_name(pod) if for_group else None
    return any(
        user.uid == pod.metadata.uid
        or (group is not None and (user.api_group, user.resource, user.name) == (GROUP_API, "podgroups", group))
        for user in claim.status.reserved_for
    )


def group_name(pod: api.Pod) -> str | None:
    return None if pod.spec.scheduling_group is None else pod.spec.scheduling_group.pod_group_name


def consumers_of(pod: api.Pod, group: api.PodGroup | None) -> list[api.ResourceClaimConsumerReference]:
    """Return the consumer of each claim in the pod's spec: the pod, or its group if the group lists
    the same claim."""
    pod_itself = pod_reference(pod)
    if group is None:
        return [pod_itself for _ in pod.spec.resource_claims]
    listed = group.spec.resource_claims
    for claim in listed:
        if claim.resource_claim_name is None and claim.resource_claim_template_name is None:
            raise ClaimProblem(f"PodGroup {api.key(group)} claim {claim.name}: none of the supported fields are set")
    reference = _group_reference(group)
    return [reference if claim in listed else pod_itself for claim in pod.spec.resource_claims]


def pod_reference(pod: api.Pod) -> api.ResourceClaimConsumerReference:
    return api.ResourceClaimConsumerReference(resource="pods", name=pod.metadata.name, uid=pod.metadata.uid)


def _group_reference(group: api.PodGroup) -> api.ResourceClaimConsumerReference:
    name, uid = group.metadata.name, group.metadata.uid
    return api.ResourceClaimConsumerReference(api_group=GROUP_API, resource="podgroups", name=name, uid=uid)


def _claim_names(pod: api.Pod) -> Iterator[tuple[str, bool]]:
    """Yield the claim names, and whether each was generated from a template for this pod."""
    if not pod.spec.resource_claims:
        return
    generated = {status.name: status for status in pod.status.resource_claim_statuses}
    for reference in pod.spec.resource_claims:
        if reference.resource_claim_name is not None:
            yield reference.resource_claim_name, False
        elif reference.resource_claim_template_name is None:
            unset = "none of the supported fields are set"
            raise ClaimProblem(f'pod "{api.key(pod)}", spec.resourceClaim "{reference.name}": {unset}')
        elif reference.name not in generated:
            raise ClaimProblem(f'pod "{api.key(pod)}": ResourceClaim not created yet')
        else:
            name = generated[reference.name].resource_claim_name
            if name is not None:
                yield name, True


def _claim(pod: api.Pod, name: str, generated: bool, claims: Claims, for_group: bool) -> api.ResourceClaim:
    key = f"{pod.metadata.namespace}/{name}"
    claim = claims.get(key)
    if claim is None:
        raise ClaimProblem(f'could not find ResourceClaim "{key}"')
    if claim.metadata.deletion_timestamp is not None:
        raise ClaimProblem(f'resourceclaim "{name}" is being deleted')
    owner = next((one for one in claim.metadata.owner_references if one.controller), None)
    group = group_name(pod) if for_group else None
    if generated and (owner is None or owner.uid != pod.metadata.uid) and not _is_group(owner, group):
        who = "Pod is not owner" if group is None else f"neither Pod nor PodGroup {group} is the owner"
        raise ClaimProblem(f"ResourceClaim {key} was not created for Pod {api.key(pod)} ({who})")
    return claim


def _is_group(owner: api.OwnerReference | None, group: str | None) -> bool:
    """Return whether the owner is the PodGroup with this name, of any version of its API."""
    if owner is None or group is None:
        return False
    return owner.kind == "PodGroup" and owner.name == group and owner.api_version.startswith(f"{GROUP_API}/")


# -- binding conditions ------------------------------------------------------------------------------------------------


class DeviceNotBound(Exception):
    """A driver reported a device failure or timed out. The text is upstream's."""


def waits_for_devices(claims: Iterable[ResourceClaim]) -> bool:
    """Return whether any allocated device has binding conditions."""
    return any(result.binding_conditions for claim in claims for result in _results(claim))


def are_devices_ready(claim: ResourceClaim) -> bool:
    """Return whether all binding conditions are met. Raise `DeviceNotBound` if one failed."""
    if claim.status.allocation is None:
        return False
    return all(_device_is_ready(claim, result) for result in _results(claim) if result.binding_conditions)


def has_binding_timed_out(claim: ResourceClaim, now: float, timeout: float) -> bool:
    allocation = claim.status.allocation
    if allocation is None or allocation.allocation_timestamp is None or not waits_for_devices((claim,)):
        return False
    return timestamps.parse(allocation.allocation_timestamp) + timeout < now


def _device_is_ready(claim: ResourceClaim, result: DeviceRequestAllocationResult) -> bool:
    status = _status_of(claim, result)
    if status is None:
        return False
    conditions = {condition.type: condition for condition in reversed(status.conditions)}
    for name in result.binding_failure_conditions:
        failed = conditions.get(name)
        if failed is not None and failed.status == "True":
            raise DeviceNotBound(_failure(claim, failed))
    return all(name in conditions and conditions[name].status == "True" for name in result.binding_conditions)


def _failure(claim: ResourceClaim, failed: Condition) -> str:
    where = f"claim={claim.metadata.name}, reason={failed.reason}"
    return f'device binding failed: {where}, message="{failed.message}"'


def _status_of(claim: ResourceClaim, result: DeviceRequestAllocationResult) -> AllocatedDeviceStatus | None:
    wanted = (result.driver, result.pool, result.device)
    return next((one for one in claim.status.devices if (one.driver, one.pool, one.device) == wanted), None)


def _results(claim: ResourceClaim) -> tuple[DeviceRequestAllocationResult, ...]:
    allocation = claim.status.allocation
    return () if allocation is None else allocation.devices.results


# -- assumed claims and devices in use ---------------------------------------------------------------------------------

DEVICES_IN_USE = CacheSpec(
    name="devices in use",
    attributes=(
        "ClaimTracker._in_use",
        "ClaimTracker._counted",
        "ClaimTracker._made",
        "ClaimTracker._owners",
        "ClaimTracker._version",
    ),
    contents="the devices that claims have, including those of allocations in flight",
    key="claim; device",
    invalidation="position in the log of changed ResourceClaims, and claims assumed since: those are recounted",
    limit="all ResourceClaims",
    reference="the allocations of all claims, added up",
    checked_by="tests/plugins/dynamic_resources/test_claim_tracker.py",
    is_inline=True,
)


class ClaimTracker:
    """The claims of one object store, including assumed ones, and the devices in use."""

    def __init__(self, objects: Objects, consumable: bool) -> None:
        self._objects = objects
        self._assumed: dict[str, api.ResourceClaim] = {}
        self._pending: dict[str, api.AllocationResult] = {}
        #: Number of pods with the pending allocation, if several members of a group share it.
        self._sharers: dict[str, int] = {}
        self._in_use = DevicesInUse(consumable)
        #: By claim, the allocation that is part of `_in_use`.
        self._counted: dict[str, api.AllocationResult] = {}
        #: Claims for extended resources: claim key by pod uid, and pod uid by claim key.
        self._made: dict[str, str] = {}
        self._owners: dict[str, str] = {}
        self._version: int | None = None
        #: Claims that were assumed or restored since the last update of the tracker.
        self._touched: set[str] = set()

    # -- claims ------------------------------------------------------------------------------------------------------

    def get(self, key: str) -> api.ResourceClaim | None:
        shown = self._objects.get(api.ResourceClaim, key)
        assumed = self._assumed.get(key)
        if assumed is None or shown is None:
            return shown
        return shown if _version(shown) > _version(assumed) else assumed

    def made_for(self, pod: api.Pod) -> api.ResourceClaim | None:
        """Return the claim that an earlier attempt created for the pod's extended resources."""
        self._catch_up()
        key = self._made.get(pod.metadata.uid)
        return None if key is None else self.get(key)

    def assume(self, claim: api.ResourceClaim) -> bool:
        """Assume a written claim. Return False if the watch lacks it or shows a newer version."""
        key = api.key(claim)
        shown = self._objects.get(api.ResourceClaim, key)
        if shown is None or _version(shown) > _version(claim):
            return False
        self._assumed[key] = claim
        self._touched.add(key)
        return True

    def restore(self, key: str) -> None:
        """Return to the claim that the API server last showed."""
        if self._assumed.pop(key, None) is not None:
            self._touched.add(key)

    # -- pending allocations -----------------------------------------------------------------------------------------

    def pending(self, uid: str) -> api.AllocationResult | None:
        return self._pending.get(uid)

    def signal(self, claim: api.ResourceClaim, allocation: api.AllocationResult) -> None:
        """Mark the devices of the allocation as in use before the claim is written. If there is a
        pending allocation, the pod shares it."""
        uid = claim.metadata.uid
        if uid in self._pending:
            self._sharers[uid] = self._sharers.get(uid, 1) + 1
            return
        known = self.get(api.key(claim))
        if known is None or known.metadata.uid != uid or known.status.allocation is None:
            self._pending[uid] = allocation
            self._in_use.add(allocation)

    def release(self, uid: str, *, is_written: bool = False) -> bool:
        """End a pending allocation, and return whether it has ended: one that pods share ends with
        the last of them, or when the claim was written. Then its devices stay in use."""
        self._catch_up()
        sharers = self._sharers.pop(uid, 1)
        if sharers > 1 and not is_written:
            self._sharers[uid] = sharers - 1
            return False
        allocation = self._pending.pop(uid, None)
        if allocation is not None:
            self._in_use.remove(allocation)
        return allocation is not None

    # -- devices -----------------------------------------------------------------------------------------------------

    def in_use(self) -> DevicesInUse:
        """Return the current devices in use, a live object."""
        self._catch_up()
        return self._in_use

    def _catch_up(self) -> None:
        version = self._objects.version(api.ResourceClaim)
        if version != self._version or self._touched:
            for key in self._changed():
                self._count(key)
                self._note_owner(key)
            self._version = version
            self._touched.clear()

    def _changed(self) -> set[str]:
        known = None if self._version is None else self._objects.changed_since(api.ResourceClaim, self._version)
        if known is None:
            known = {*self._counted, *self._owners, *map(api.key, self._objects.list(api.ResourceClaim))}
        return {*known, *self._touched}

    def _count(self, key: str) -> None:
        self._forget_confirmed(key)
        claim, counted = self.get(key), self._counted.pop(key, None)
        allocation = None if claim is None else claim.status.allocation
        if allocation is not None and counted is not None and allocation.devices == counted.devices:
            self._counted[key] = counted
            return
        if counted is not None:
            self._in_use.remove(counted)
        if allocation is not None:
            self._in_use.add(allocation)
            self._counted[key] = allocation

    def _note_owner(self, key: str) -> None:
        claim, known = self.get(key), self._owners.pop(key, None)
        if known is not None and self._made.get(known) == key:
            del self._made[known]
        owner = None if claim is None else extended_resources.owner_of(claim)
        if owner is not None:
            self._owners[key] = owner
            self._made[owner] = key

    def _forget_confirmed(self, key: str) -> None:
        """Drop an assumed claim if the watch has shown this version or a newer one."""
        shown, assumed = self._objects.get(api.ResourceClaim, key), self._assumed.get(key)
        if assumed is not None and (shown is None or _version(shown) >= _version(assumed)):
            del self._assumed[key]


#: Trackers by the id of their objects. A tracker refers to its objects, so the id stays unique.
_trackers: WeakValueDictionary[int, ClaimTracker] = WeakValueDictionary()


def claim_tracker_of(objects: Objects, consumable: bool) -> ClaimTracker:
    """Return the tracker that all users of these objects share."""
    known = _trackers.get(id(objects))
    if known is None:
        known = _trackers[id(objects)] = ClaimTracker(objects, consumable)
    return known


def _version(claim: api.ResourceClaim) -> int:
    return version_number(claim.metadata.resource_version)
