# SPDX-License-Identifier: Apache-2.0
"""ResourceClaims: which of them a pod uses, whether these can be used, and the devices that all of them take.

A claim may be missing, not created yet or another pod's. Devices may have to be made ready for a node before a pod is bound:
binding conditions, which a driver reports in the claim's status. A failure, or too long a wait, makes the claim worth
deallocating.

`ClaimTracker` has the claims as the scheduler believes them to be. On top of what the API server last showed come claims that
were just written (*assumed*, until the watch shows them) and allocations that are decided but not written yet (*pending*:
Reserve makes them, PreBind or Unreserve ends them). All profiles of a scheduler share one tracker, since they share the
devices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol
from weakref import WeakValueDictionary

from steersman import api
from steersman.api import AllocatedDeviceStatus, Condition, DeviceRequestAllocationResult, ResourceClaim, timestamps
from steersman.api.meta import version_number
from steersman.framework.handle import Objects
from steersman.kept import Kept
from steersman.plugins.dynamic_resources import extended_resources
from steersman.plugins.dynamic_resources.allocation import DevicesInUse

# -- the claims of a pod -----------------------------------------------------------------------------------------------


class ClaimProblem(Exception):
    """A claim is missing, not created yet, being deleted, or belongs to another pod. The text is upstream's."""


class Claims(Protocol):
    """Claims by `namespace/name`, as they are believed to be."""

    def get(self, key: str) -> api.ResourceClaim | None: ...


def pod_claims(pod: api.Pod, claims: Claims) -> list[api.ResourceClaim]:
    """The pod's claims in the order of the spec. ClaimProblem when one of them cannot be used."""
    return [_claim(pod, name, generated, claims) for name, generated in _claim_names(pod)]


def is_reserved_for(claim: api.ResourceClaim, pod: api.Pod) -> bool:
    return any(user.uid == pod.metadata.uid for user in claim.status.reserved_for)


def _claim_names(pod: api.Pod) -> Iterator[tuple[str, bool]]:
    """Names of the claims, and whether each was generated from a template for this pod."""
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


def _claim(pod: api.Pod, name: str, generated: bool, claims: Claims) -> api.ResourceClaim:
    key = f"{pod.metadata.namespace}/{name}"
    claim = claims.get(key)
    if claim is None:
        raise ClaimProblem(f'could not find ResourceClaim "{key}"')
    if claim.metadata.deletion_timestamp is not None:
        raise ClaimProblem(f'resourceclaim "{name}" is being deleted')
    if generated and not _is_owned_by(claim, pod):
        raise ClaimProblem(f"ResourceClaim {key} was not created for Pod {api.key(pod)} (Pod is not owner)")
    return claim


def _is_owned_by(claim: api.ResourceClaim, pod: api.Pod) -> bool:
    return any(o.controller and o.uid == pod.metadata.uid for o in claim.metadata.owner_references)


# -- binding conditions ------------------------------------------------------------------------------------------------


class DeviceNotBound(Exception):
    """A driver has given up on a device, or has taken too long. The text is upstream's."""


def waits_for_devices(claims: Iterable[ResourceClaim]) -> bool:
    """Whether any allocated device has conditions at all."""
    return any(result.binding_conditions for claim in claims for result in _results(claim))


def are_devices_ready(claim: ResourceClaim) -> bool:
    """All conditions are met, or there are none; DeviceNotBound when one of them failed."""
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


# -- claims as they are believed to be, and devices in use -------------------------------------------------------------

DEVICES_IN_USE = Kept(
    name="devices in use",
    attributes=(
        "ClaimTracker._in_use",
        "ClaimTracker._counted",
        "ClaimTracker._made",
        "ClaimTracker._owners",
        "ClaimTracker._version",
    ),
    holds="the devices that claims have, those of allocations under way included",
    key="claim; device",
    stamps="position in the log of changed ResourceClaims, and claims assumed since: those are counted again",
    bound="claims that there are",
    twin="the allocations of all claims, added up",
    held_equal="tests/plugins/dynamic_resources/test_claim_tracker.py",
    is_inline=True,
)


class ClaimTracker:
    """The claims of all objects of one store, with the devices that they take."""

    def __init__(self, objects: Objects, consumable: bool) -> None:
        self._objects = objects
        self._consumable = consumable
        self._assumed: dict[str, api.ResourceClaim] = {}
        self._pending: dict[str, api.AllocationResult] = {}
        self._in_use = DevicesInUse(consumable)
        #: By claim, the allocation that is part of `_in_use`.
        self._counted: dict[str, api.AllocationResult] = {}
        #: Claims for extended resources: their keys by the uid of the pod, and the other way round.
        self._made: dict[str, str] = {}
        self._owners: dict[str, str] = {}
        self._version: int | None = None
        #: Claims that were assumed or restored since the tracker was brought up to date.
        self._touched: set[str] = set()

    # -- claims ------------------------------------------------------------------------------------------------------

    def get(self, key: str) -> api.ResourceClaim | None:
        shown = self._objects.get(api.ResourceClaim, key)
        assumed = self._assumed.get(key)
        if assumed is None or shown is None:
            return shown
        return shown if _version(shown) > _version(assumed) else assumed

    def made_for(self, pod: api.Pod) -> api.ResourceClaim | None:
        """The claim that an earlier attempt made for the pod's extended resources."""
        self._catch_up()
        key = self._made.get(pod.metadata.uid)
        return None if key is None else self.get(key)

    def assume(self, claim: api.ResourceClaim) -> bool:
        """Believes in what the API server answered. False: the watch has not shown the claim yet, or something newer."""
        key = api.key(claim)
        shown = self._objects.get(api.ResourceClaim, key)
        if shown is None or _version(shown) > _version(claim):
            return False
        self._assumed[key] = claim
        self._touched.add(key)
        return True

    def restore(self, key: str) -> None:
        """Back to what the API server last showed."""
        if self._assumed.pop(key, None) is not None:
            self._touched.add(key)

    # -- allocations under way ---------------------------------------------------------------------------------------

    def pending(self, uid: str) -> api.AllocationResult | None:
        return self._pending.get(uid)

    def signal(self, uid: str, allocation: api.AllocationResult) -> None:
        """The claim's devices are taken from now on."""
        if uid not in self._pending:
            self._pending[uid] = allocation
            self._in_use.add(allocation)

    def release(self, uid: str) -> bool:
        """The allocation is written, or given up. False: there was none. Where it is written, the devices are not free
        for a moment in between."""
        self._catch_up()
        allocation = self._pending.pop(uid, None)
        if allocation is not None:
            self._in_use.remove(allocation)
        return allocation is not None

    # -- devices -----------------------------------------------------------------------------------------------------

    def in_use(self) -> DevicesInUse:
        """The devices in use as of now, which change with the next claim that does."""
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
        """Drops an assumed claim that the watch has shown by now."""
        shown, assumed = self._objects.get(api.ResourceClaim, key), self._assumed.get(key)
        if assumed is not None and (shown is None or _version(shown) >= _version(assumed)):
            del self._assumed[key]


#: By the id of the objects, which a tracker refers to: as long as it is here, nothing else has that id.
_trackers: WeakValueDictionary[int, ClaimTracker] = WeakValueDictionary()


def claim_tracker_of(objects: Objects, consumable: bool) -> ClaimTracker:
    """The one tracker of everybody who sees these objects."""
    known = _trackers.get(id(objects))
    if known is None:
        known = _trackers[id(objects)] = ClaimTracker(objects, consumable)
    return known


def _version(claim: api.ResourceClaim) -> int:
    return version_number(claim.metadata.resource_version)
