# SPDX-License-Identifier: Apache-2.0
"""Why a node cannot have a pod's claims, in numbers: the devices that a request could choose from, and what is left of them.

Filter only says that not all claims can be allocated. `shortfall` looks at one request after the other, each by itself, and
tells the first that finds too few devices; if each would find enough, it is a constraint, or that they want the same devices.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from steersman.plugins.dynamic_resources.allocation import (
    AllocationFault,
    DeviceRequirement,
    NodeDevices,
    PreparedClaim,
    PublishedDevice,
    Supply,
)
from steersman.plugins.dynamic_resources.allocation.suitability import are_tolerated


class DeviceShortfall(NamedTuple):
    """A request of a claim on one node."""

    #: `namespace/name` of the claim.
    claim: str
    request: str
    device_class: str
    wants: int
    #: Devices that the node has, of any class; those that class and selectors of the request choose; and those of them that are
    #: free and whose taints are tolerated.
    devices: int
    matching: int
    free: int
    #: The attributes that the devices of the claim have to share or to differ in.
    constraints: tuple[str, ...]


def shortfall(claims: Iterable[PreparedClaim], node: NodeDevices, supply: Supply) -> DeviceShortfall | None:
    """The request that cannot be met on the node; None: nothing can be said."""
    first: DeviceShortfall | None = None
    for claim in claims:
        for alternatives in claim.requests:
            found = [_counted(claim, request, node, supply) for request in alternatives]
            if all(each.free < each.wants for each in found):
                return found[0]
            first = first or (found[0] if found[0].constraints or found[0].wants > 1 else None)
    return first


def _counted(claim: PreparedClaim, request: DeviceRequirement, node: NodeDevices, supply: Supply) -> DeviceShortfall:
    devices = [device for device, _ in node.candidates]
    matching = [device for device in devices if _matches(device, request, supply)]
    free = [device for device in matching if _is_free(device, request, supply)]
    return DeviceShortfall(
        claim.key,
        request.full_name,
        request.device_class.metadata.name,
        max(1, len(matching)) if request.wants_all else request.count,
        len(devices),
        len(matching),
        len(free),
        tuple(_constraints(claim)),
    )


def _matches(device: PublishedDevice, request: DeviceRequirement, supply: Supply) -> bool:
    try:
        return supply.selectors.select(device, request)
    except AllocationFault:
        return False


def _is_free(device: PublishedDevice, request: DeviceRequirement, supply: Supply) -> bool:
    if device.taints and supply.features.device_taints and not are_tolerated(device.taints, request.tolerations):
        return False
    return request.admin_access or device.id not in supply.in_use.devices


def _constraints(claim: PreparedClaim) -> Iterable[str]:
    for constraint in claim.claim.spec.devices.constraints:
        if constraint.match_attribute is not None:
            yield f"the same {constraint.match_attribute}"
        elif constraint.distinct_attribute is not None:
            yield f"distinct {constraint.distinct_attribute}"
