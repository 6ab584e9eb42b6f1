# SPDX-License-Identifier: Apache-2.0
"""Devices that have to be made ready for a node before a pod may be bound: the conditions that say so.

A driver reports them in the claim's status. A failure, or too long a wait, makes the claim worth deallocating.
"""

from __future__ import annotations

from collections.abc import Iterable

from steersman.api import AllocatedDeviceStatus, Condition, DeviceRequestAllocationResult, ResourceClaim, timestamps


class DeviceNotBound(Exception):
    """A driver has given up on a device, or has taken too long. The text is upstream's."""


def waits_for_devices(claims: Iterable[ResourceClaim]) -> bool:
    """Whether any allocated device has conditions at all."""
    return any(result.binding_conditions for claim in claims for result in _results(claim))


def is_ready(claim: ResourceClaim) -> bool:
    """All conditions are met, or there are none; DeviceNotBound when one of them failed."""
    if claim.status.allocation is None:
        return False
    return all(_device_is_ready(claim, result) for result in _results(claim) if result.binding_conditions)


def has_timed_out(claim: ResourceClaim, now: float, timeout: float) -> bool:
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
