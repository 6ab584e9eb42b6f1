# SPDX-License-Identifier: Apache-2.0
"""PreBind: writes the allocations made by Reserve and the reservation for the pod into the claims.

A claim for extended resources is created first. Then devices with binding conditions are awaited.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Protocol

import msgspec

from steersman import api
from steersman.api import timestamps
from steersman.framework import DevicesHandle
from steersman.scheduler.plugins.dynamic_resources.allocation import Features
from steersman.scheduler.plugins.dynamic_resources.claims import (
    ClaimTracker,
    DeviceNotBound,
    are_devices_ready,
    has_binding_timed_out,
    is_reserved_for,
    waits_for_devices,
)
from steersman.scheduler.plugins.dynamic_resources.extended_resources import IN_MEMORY
from steersman.scheduler.plugins.dynamic_resources.pre_filter import CycleClaims

FINALIZER = "resource.kubernetes.io/delete-protection"
#: The interval of checks whether devices are ready.
POLL_SECONDS = 5.0
#: Timeout and interval of checks whether the watch shows a claim that was just created.
APPEARANCE_TIMEOUT_SECONDS = 120.0
APPEARANCE_POLL_SECONDS = 1.0

#: Reason of the event of a pod that waits for its devices.
WAITING = "BindingConditionsPending"
ERR_TIMEOUT = "device binding timeout"

logger = logging.getLogger(__name__)
_replace = msgspec.structs.replace
Change = Callable[[api.ResourceClaim], api.ResourceClaim]


class BindingFault(Exception):
    """The claims cannot be bound: the pod is scheduled again."""

    #: How a wait for devices ended, in metrics.
    status = "error"


class DevicesFailed(BindingFault):
    """A driver reports that a device cannot be prepared."""

    status = "failure"


class DevicesTimedOut(BindingFault):
    """A device was not ready in time."""

    status = "timeout"


class DeviceReports(Protocol):
    """Receives what metrics show of the binding of claims."""

    def claim_created(self, is_success: bool) -> None:
        """A claim for extended resources was created, or could not be."""

    def devices_awaited(self, claims: Iterable[api.ResourceClaim], seconds: float, status: str) -> None:
        """A wait for devices with binding conditions ended: `success`, `failure`, `timeout` or
        `error`."""


class ClaimBinder:
    """Writes claims of pods with a chosen node, and reverts them if binding fails."""

    def __init__(self, handle: DevicesHandle, tracker: ClaimTracker, features: Features, timeout: float) -> None:
        self._handle = handle
        self._tracker = tracker
        self._features = features
        self._timeout = timeout
        self.reports: DeviceReports | None = None

    async def bind(self, cycle: CycleClaims, pod: api.Pod, node_name: str) -> None:
        """Reserve all claims and await their devices. Raise `BindingFault` or API errors."""
        allocated = []
        for index, claim in enumerate(cycle.claims):
            is_reserved = is_reserved_for(claim, pod, for_group=self._features.workload_claims)
            if not is_reserved and not _is_unused(cycle, index):
                cycle.claims[index] = await self._bind_claim(cycle, index, pod, node_name)
                if index in cycle.allocations:
                    allocated.append(claim.metadata.uid)
        if self._features.binding_conditions and waits_for_devices(cycle.claims):
            note = f"waiting for binding conditions for device on node {node_name}"
            self._handle.pods.report_event(pod, WAITING, note)
            await self._wait(cycle)
        # The claims are assumed now. After a failure, Unreserve frees the devices.
        for uid in allocated:
            self._tracker.release(uid, is_written=True)

    # -- writing -----------------------------------------------------------------------------------------------------

    async def _bind_claim(self, cycle: CycleClaims, index: int, pod: api.Pod, node_name: str) -> api.ResourceClaim:
        claim, allocation = cycle.claims[index], cycle.allocations.get(index)
        if claim.metadata.name == IN_MEMORY:
            claim = cycle.claims[index] = await self._create(cycle, node_name)
        consumer = cycle.consumer(index, pod)
        written = await self._handle.resource_claims.change_resource_claim(
            claim, lambda latest: self._reserved(latest, allocation, consumer)
        )
        await self._believe(written, is_new=index >= cycle.own_count)
        if index >= cycle.own_count:
            await self._tell_pod(cycle, pod, written)
        return written

    def _reserved(
        self,
        claim: api.ResourceClaim,
        allocation: api.AllocationResult | None,
        consumer: api.ResourceClaimConsumerReference,
    ) -> api.ResourceClaim:
        """Return the claim with its allocation and reserved for the pod or its group."""
        key, meta, status = api.key(claim), claim.metadata, claim.status
        if meta.deletion_timestamp is not None:
            raise BindingFault(f"claim {key} got deleted in the meantime")
        if allocation is not None:
            if status.allocation is not None:
                raise BindingFault(f"claim {key} got allocated elsewhere in the meantime")
            if FINALIZER not in meta.finalizers:
                meta = _replace(meta, finalizers=(*meta.finalizers, FINALIZER))
            status = _replace(status, allocation=allocation)
        if self._features.binding_conditions:
            status = _replace(status, allocation=self._stamped(status.allocation, key))
        return _replace(claim, metadata=meta, status=_replace(status, reserved_for=(*status.reserved_for, consumer)))

    def _stamped(self, allocation: api.AllocationResult | None, key: str) -> api.AllocationResult:
        """Return the allocation with the time at which the wait for devices begins."""
        if allocation is None:
            raise BindingFault(f"claim {key} got deallocated elsewhere in the meantime")
        if allocation.allocation_timestamp is not None:
            return allocation
        return _replace(allocation, allocation_timestamp=timestamps.render(self._handle.clock.now()))

    async def _create(self, cycle: CycleClaims, node_name: str) -> api.ResourceClaim:
        allocation = cycle.chosen
        if allocation is None or allocation.extended is None:
            raise BindingFault(f"extended resource claim not found for node {node_name}")
        claim = allocation.extended.claim
        meta = _replace(claim.metadata, name="", uid="")
        is_created = False
        try:
            created = await self._handle.resource_claims.create_resource_claim(_replace(claim, metadata=meta))
            is_created = True
        finally:
            if self.reports is not None:
                self.reports.claim_created(is_created)
        return created

    async def _believe(self, claim: api.ResourceClaim, is_new: bool) -> None:
        """Assume the claim; a new claim cannot be assumed before the watch shows it."""
        deadline = self._handle.clock.monotonic() + APPEARANCE_TIMEOUT_SECONDS
        while not self._tracker.assume(claim):
            if not is_new or self._tracker.get(api.key(claim)) is not None:
                return
            if self._handle.clock.monotonic() > deadline:
                return
            await self._handle.sleep(APPEARANCE_POLL_SECONDS)

    async def _tell_pod(self, cycle: CycleClaims, pod: api.Pod, claim: api.ResourceClaim) -> None:
        allocation = cycle.chosen
        mappings = allocation.extended.mappings if allocation is not None and allocation.extended is not None else ()
        status = api.PodExtendedResourceClaimStatus(request_mappings=mappings, resource_claim_name=claim.metadata.name)
        await self._handle.resource_claims.set_extended_resource_claim(pod, status)

    # -- waiting -----------------------------------------------------------------------------------------------------

    async def _wait(self, cycle: CycleClaims) -> None:
        began, status = self._handle.clock.monotonic(), BindingFault.status
        try:
            await self._poll(cycle)
            status = "success"
        except BindingFault as fault:
            status = fault.status
            raise
        finally:
            if self.reports is not None:
                self.reports.devices_awaited(cycle.claims, self._handle.clock.monotonic() - began, status)

    async def _poll(self, cycle: CycleClaims) -> None:
        clock = self._handle.clock
        deadline = clock.monotonic() + self._timeout
        while not self._are_ready(cycle):
            if clock.monotonic() >= deadline:
                raise DevicesTimedOut(f"{ERR_TIMEOUT}: context deadline exceeded")
            await self._handle.sleep(min(POLL_SECONDS, max(deadline - clock.monotonic(), 0.001)))

    def _are_ready(self, cycle: CycleClaims) -> bool:
        for index, claim in enumerate(cycle.claims):
            if claim.metadata.name == IN_MEMORY:
                continue
            current = self._tracker.get(api.key(claim))
            if current is None:
                raise BindingFault(f'could not find ResourceClaim "{api.key(claim)}"')
            cycle.claims[index] = current
            try:
                if are_devices_ready(current):
                    continue
            except DeviceNotBound as failure:
                raise DevicesFailed(str(failure)) from failure
            if has_binding_timed_out(current, self._handle.clock.now(), self._timeout):
                raise DevicesTimedOut(f"{ERR_TIMEOUT}: claim={current.metadata.name}")
            return False
        return True

    # -- reverting ---------------------------------------------------------------------------------------------------

    def deallocate(self, claim: api.ResourceClaim) -> None:
        """Deallocate the claim, so that it can be allocated again."""
        self._handle.spawn(self._change(claim, _deallocated))

    def unreserve(self, claim: api.ResourceClaim, uid: str) -> None:
        """Remove the reservation for the pod or group with this uid from the claim."""
        self._handle.spawn(self._change(claim, lambda latest: _without_user(latest, uid)))

    def delete(self, claim: api.ResourceClaim) -> None:
        self._handle.spawn(self._delete(claim))

    async def _change(self, claim: api.ResourceClaim, change: Change) -> None:
        try:
            await self._handle.resource_claims.change_resource_claim(claim, change)
        except Exception as refusal:
            logger.warning("cannot change claim %s: %s", api.key(claim), refusal)

    async def _delete(self, claim: api.ResourceClaim) -> None:
        try:
            writer = self._handle.resource_claims
            await writer.delete_resource_claim(await writer.change_resource_claim(claim, _unprotected))
        except Exception as refusal:
            logger.warning("cannot delete claim %s: %s", api.key(claim), refusal)


def _is_unused(cycle: CycleClaims, index: int) -> bool:
    """Return whether the claim is not needed: the node itself offers all extended resources."""
    return cycle.claims[index].metadata.name == IN_MEMORY and index not in cycle.allocations


def _deallocated(claim: api.ResourceClaim) -> api.ResourceClaim:
    return _replace(claim, status=api.ResourceClaimStatus())


def _without_user(claim: api.ResourceClaim, uid: str) -> api.ResourceClaim:
    users = tuple(user for user in claim.status.reserved_for if user.uid != uid)
    return _replace(claim, status=_replace(claim.status, reserved_for=users))


def _unprotected(claim: api.ResourceClaim) -> api.ResourceClaim:
    left = tuple(name for name in claim.metadata.finalizers if name != FINALIZER)
    return _replace(claim, metadata=_replace(claim.metadata, finalizers=left))
