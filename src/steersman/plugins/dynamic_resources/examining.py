# SPDX-License-Identifier: Apache-2.0
"""Filter: whether a node can have all of the pod's claims, those that are allocated and those that have to be."""

from __future__ import annotations

from collections.abc import Generator

from steersman import api
from steersman.clock import Clock
from steersman.framework.device_classes import DeviceClasses
from steersman.framework.handle import Objects
from steersman.framework.node_info import NodeInfo
from steersman.framework.status import Status, error, unresolvable
from steersman.plugins.dynamic_resources import extended, readiness
from steersman.plugins.dynamic_resources.allocation import (
    AllocationFault,
    Features,
    FoundDevice,
    NodeFault,
    OutOfTime,
    Pace,
    PreparedClaim,
    PublishedDevices,
    Supply,
    find_devices_in_steps,
    prepare,
)
from steersman.plugins.dynamic_resources.answers import NOTHING_TO_ALLOCATE, Answer, NodeAllocation
from steersman.plugins.dynamic_resources.cycle import CycleClaims
from steersman.plugins.dynamic_resources.extended import NodeClaim

REASON_NOT_AVAILABLE = "resourceclaim not available on the node"
REASON_CANNOT_ALLOCATE = "cannot allocate all claims"

_NOT_AVAILABLE = unresolvable(REASON_NOT_AVAILABLE)
_CANNOT_ALLOCATE = unresolvable(REASON_CANNOT_ALLOCATE)


class Examining:
    """Looks at one node after the other. Seconds: 0 means without limit."""

    def __init__(
        self, objects: Objects, classes: DeviceClasses, features: Features, clock: Clock, timeouts: tuple[float, float]
    ) -> None:
        self._objects = objects
        self._classes = classes
        self._features = features
        self._clock = clock
        self._filter_timeout, self._binding_timeout = timeouts
        self.published = PublishedDevices(objects, features.partitionable_devices)

    def new_pace(self) -> Pace:
        """For one node."""
        limited = self._features.filter_timeout and self._filter_timeout > 0
        return Pace(self._clock.monotonic, self._filter_timeout if limited else None)

    def examine(self, cycle: CycleClaims, pod: api.Pod, node: NodeInfo, pace: Pace) -> Generator[None, None, Answer]:
        """What the pod would get on the node; a Status: why it cannot be there. Pauses as the pace has it; what is needed
        of the node is read before the first pause."""
        examined = node.node
        try:
            claims = self._claims_for(cycle, pod, node)
            if isinstance(claims, Status):
                return claims
            prepared, extended_claim = claims
            if extended_claim is None and not cycle.own_count:
                return NOTHING_TO_ALLOCATE
            found: tuple[tuple[FoundDevice, ...], ...] | Status = ()
            if cycle.supply is not None:
                found = yield from self._find(cycle.supply, prepared, examined, pace)
        except AllocationFault as fault:
            return error(str(fault))
        if isinstance(found, Status):
            return found
        if self.unavailable(cycle, examined):
            return _NOT_AVAILABLE
        return NodeAllocation(tuple(prepared), found, extended_claim)

    def unavailable(self, cycle: CycleClaims, node: api.Node) -> set[int]:
        """The claims, by position, that are allocated but cannot be used on the node, or not any more."""
        return {
            index
            for index, claim in enumerate(cycle.claims)
            if claim.status.allocation is not None and not self._is_usable(cycle, index, claim, node)
        }

    def _is_usable(self, cycle: CycleClaims, index: int, claim: api.ResourceClaim, node: api.Node) -> bool:
        where = cycle.available_on.get(index)
        if where is not None and not where.matches(node.metadata.labels, node.metadata.name):
            return False
        if not self._features.binding_conditions:
            return True
        try:
            ready = readiness.is_ready(claim)
        except readiness.DeviceNotBound:
            return False
        return ready or not readiness.has_timed_out(claim, self._clock.now(), self._binding_timeout)

    def _find(
        self, supply: Supply, prepared: list[PreparedClaim], node: api.Node, pace: Pace
    ) -> Generator[None, None, tuple[tuple[FoundDevice, ...], ...] | Status]:
        try:
            found = yield from find_devices_in_steps(prepared, self.published.of(node), supply, pace)
        except NodeFault as fault:
            return unresolvable(str(fault))
        except OutOfTime:
            return error(f"node {node.metadata.name}: timed out trying to allocate devices")
        return _CANNOT_ALLOCATE if found is None else tuple(map(tuple, found))

    # -- the claims that are to be allocated -------------------------------------------------------------------------

    def _claims_for(
        self, cycle: CycleClaims, pod: api.Pod, node: NodeInfo
    ) -> tuple[list[PreparedClaim], NodeClaim | None] | Status:
        """In order, with the one for extended resources as this node needs it."""
        asked = self._extended_for(cycle, pod, node)
        if isinstance(asked, Status):
            return asked
        if cycle.prepared is None:
            own = [claim for index, claim in cycle.to_allocate() if index < cycle.own_count]
            cycle.prepared = self._prepare(own)
        return (cycle.prepared, None) if asked is None else ([*cycle.prepared, asked[1]], asked[0])

    def _extended_for(
        self, cycle: CycleClaims, pod: api.Pod, node: NodeInfo
    ) -> tuple[NodeClaim, PreparedClaim] | Status | None:
        claim = cycle.extended_claim
        if claim is None:
            return None
        if claim.spec.devices.requests:
            return unresolvable(extended.REASON_STALE)
        served = extended.served_by_devices(cycle.extended_resources, node, self._classes)
        if served is None:
            return unresolvable(extended.REASON_NOT_OFFERED)
        if not served:
            return None
        known = cycle.extended_claims.get(tuple(served))
        if known is None:
            made = extended.claim_for_node(claim, pod, served, self._classes)
            known = cycle.extended_claims[tuple(served)] = made, self._prepare([made.claim])[0]
        return known

    def _prepare(self, claims: list[api.ResourceClaim]) -> list[PreparedClaim]:
        return prepare(claims, lambda name: self._objects.get(api.DeviceClass, name), self._features)
