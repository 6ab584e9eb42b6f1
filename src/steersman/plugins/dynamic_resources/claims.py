# SPDX-License-Identifier: Apache-2.0
"""Which ResourceClaims a pod uses, why one of them cannot be used yet, and whether its devices are ready.

Devices may have to be made ready for a node before a pod is bound: binding conditions, which a driver reports in the claim's
status. A failure, or too long a wait, makes the claim worth deallocating.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from steersman import api
from steersman.api import AllocatedDeviceStatus, Condition, DeviceRequestAllocationResult, ResourceClaim, timestamps


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
