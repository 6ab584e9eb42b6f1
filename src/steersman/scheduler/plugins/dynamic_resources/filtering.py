# SPDX-License-Identifier: Apache-2.0
"""Filter: whether a node can satisfy all of the pod's claims, allocated or not.

Nodes without a cached result (`filter_cache`) are searched for devices (`allocation`). Where cycles
can be postponed, a long search continues after the cycle.

Filter only reports that not all claims can be allocated. Explanations have numbers: the devices
that match a request, and those that are free. `unmet_request` returns the first request with too
few devices by itself; if there is none, the reason is a constraint or competition.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Final, NamedTuple

from steersman import api
from steersman.framework import (
    CyclePostponed,
    DeviceClasses,
    DevicesHandle,
    NodeInfo,
    PodInfo,
    SlicedWork,
    Status,
    error,
    unresolvable,
)
from steersman.scheduler.plugins.dynamic_resources import extended_resources
from steersman.scheduler.plugins.dynamic_resources.allocation import (
    AllocationFault,
    DeviceRequirement,
    DevicesInUse,
    Features,
    FoundDevice,
    NodeDevices,
    NodeFault,
    OutOfTime,
    Pace,
    PreparedClaim,
    PublishedDevice,
    PublishedDevices,
    Supply,
    find_devices_in_steps,
    prepare,
    run_to_end,
)
from steersman.scheduler.plugins.dynamic_resources.allocation.suitability import are_tolerated
from steersman.scheduler.plugins.dynamic_resources.claims import (
    DeviceNotBound,
    are_devices_ready,
    has_binding_timed_out,
)
from steersman.scheduler.plugins.dynamic_resources.extended_resources import NodeClaim
from steersman.scheduler.plugins.dynamic_resources.filter_cache import (
    NOTHING_TO_ALLOCATE,
    FilterCache,
    NodeAllocation,
    NodeAnswer,
    NodeAnswers,
    PodSearches,
    PostponedSearches,
    Steps,
    has_distinct_attributes,
    in_slices,
)
from steersman.scheduler.plugins.dynamic_resources.pre_filter import CycleClaims

#: The time that a search may take within a cycle that can be postponed.
CYCLE_SECONDS: Final = 0.02

REASON_NOT_AVAILABLE = "resourceclaim not available on the node"
REASON_CANNOT_ALLOCATE = "cannot allocate all claims"

_NOT_AVAILABLE = unresolvable(REASON_NOT_AVAILABLE)
_CANNOT_ALLOCATE = unresolvable(REASON_CANNOT_ALLOCATE)


class ClaimFilter:
    """Checks nodes for pods. `timeouts` of filter and binding are in seconds; 0 means no limit."""

    def __init__(
        self, handle: DevicesHandle, classes: DeviceClasses, features: Features, timeouts: tuple[float, float]
    ) -> None:
        self._objects = handle.objects
        self._clock = handle.clock
        self._postpones = handle.postpones
        self._classes = classes
        self._features = features
        self._filter_timeout, self._binding_timeout = timeouts
        self._published = PublishedDevices(handle.objects, features.partitionable_devices, features.device_taint_rules)
        self._cache = FilterCache(handle.objects, self._published)
        self._postponed = PostponedSearches()

    # -- cached results ----------------------------------------------------------------------------------------------

    def known_answers(self, cycle: CycleClaims, pod: PodInfo, in_use: DevicesInUse) -> NodeAnswers:
        """Return the valid results of earlier cycles. Pods with partly allocated claims have
        results of their own, stored only while the pod's cycles are postponed."""
        answers = None
        if not cycle.shared and all(claim.status.allocation is None for claim in cycle.claims):
            shape = pod.shape if cycle.extended_claim is not None else None
            answers = self._cache.answers_to(cycle.own_claims, shape, in_use)
        searches = self._searches_of(cycle, pod)
        if answers is not None:
            return answers
        return NodeAnswers() if searches is None else searches.own_answers(in_use.version, self._cache.slices_version)

    def forget(self, pod: PodInfo) -> None:
        """Drop the results of postponed cycles of a pod that has its devices."""
        self._postponed.forget(pod.uid)

    def _searches_of(self, cycle: CycleClaims, pod: PodInfo) -> PodSearches | None:
        """Return the searches that continued since an earlier cycle of the pod."""
        return (
            self._postponed.searches_of(pod.uid, cycle.own_claims, self._cache.classes_version)
            if self._postpones
            else None
        )

    def _found_meanwhile(self, cycle: CycleClaims, pod: PodInfo, node: NodeInfo) -> NodeAnswer | None:
        """Return the valid result of a search that continued after an earlier cycle, or None."""
        searches = self._searches_of(cycle, pod)
        if searches is None or cycle.supply is None:
            return None
        in_use = cycle.supply.in_use
        fickle = has_distinct_attributes(cycle.own_claims)
        return searches.take(
            self._published.devices_of(node.node),
            in_use.version,
            lambda answer, since: self._cache.still_holds(node.name, answer, fickle, since, in_use),
        )

    # -- one node ----------------------------------------------------------------------------------------------------

    def answer(self, cycle: CycleClaims, pod: PodInfo, node: NodeInfo) -> NodeAnswer:
        """Return the pod's devices on the node, or a rejecting status. Errors name the claim and
        are not cached. Raise `CyclePostponed` if the search is too long for a cycle."""
        known = cycle.answers.get(node.name, node.node)
        if known is not None:
            return known
        answer = self._found_meanwhile(cycle, pod, node)
        if answer is None:
            answer = self._search(cycle, pod, node)
        if not isinstance(answer, Status) or answer.is_rejected:
            cycle.answers.put(node.name, node.node, answer)
        return answer

    def _search(self, cycle: CycleClaims, pod: PodInfo, node: NodeInfo) -> NodeAnswer:
        pace = self._new_pace()
        steps = self._examine(cycle, pod.pod, node, pace)
        return self._search_for_a_while(cycle, pod, node, steps, pace) if self._postpones else run_to_end(steps)

    def _new_pace(self) -> Pace:
        """Return the pace with the time limit of a search on one node."""
        limited = self._features.filter_timeout and self._filter_timeout > 0
        return Pace(self._clock.monotonic, self._filter_timeout if limited else None)

    def _search_for_a_while(
        self, cycle: CycleClaims, pod: PodInfo, node: NodeInfo, steps: Steps, pace: Pace
    ) -> NodeAnswer:
        """Search until the cycle's time is over, then raise `CyclePostponed`."""
        if cycle.postponed_at is None:
            cycle.postponed_at = self._clock.monotonic() + CYCLE_SECONDS
        pace.resume(cycle.postponed_at - self._clock.monotonic())
        try:
            next(steps)
        except StopIteration as end:
            answer: NodeAnswer = end.value
            return answer
        raise CyclePostponed(self._search_on(cycle, pod, node, steps, pace))

    def _search_on(self, cycle: CycleClaims, pod: PodInfo, node: NodeInfo, steps: Steps, pace: Pace) -> SlicedWork:
        """Return the rest of the search, which stores its result for the pod's next cycle."""
        assert cycle.supply is not None
        cycle.supply.freeze()
        usage = cycle.supply.in_use.version
        devices = self._published.devices_of(node.node)
        searches = self._postponed.begin(pod.uid, cycle.own_claims, self._cache.classes_version)
        return in_slices(steps, pace, lambda answer: searches.put(devices, answer, usage))

    def _examine(self, cycle: CycleClaims, pod: api.Pod, node: NodeInfo, pace: Pace) -> Steps:
        """Search for devices. Reads all data of the node before the first pause."""
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

    def shortfall(self, cycle: CycleClaims, pod: api.Pod, node: NodeInfo) -> DeviceShortfall | None:
        """Return the unsatisfiable device request with numbers, or None for other reasons."""
        try:
            claims = self._claims_for(cycle, pod, node)
        except AllocationFault:
            return None
        if isinstance(claims, Status) or cycle.supply is None:
            return None
        return unmet_request(claims[0], self._published.devices_of(node.node), cycle.supply)

    def unavailable(self, cycle: CycleClaims, node: api.Node) -> set[int]:
        """Return the positions of allocated claims that are not usable on the node."""
        return {
            index
            for index, claim in enumerate(cycle.claims)
            if (claim.status.allocation is not None or index in cycle.shared)
            and not self._is_usable(cycle, index, claim, node)
        }

    def _is_usable(self, cycle: CycleClaims, index: int, claim: api.ResourceClaim, node: api.Node) -> bool:
        where = cycle.available_on.get(index)
        if where is not None and not where.matches(node.metadata.labels, node.metadata.name):
            return False
        if not self._features.binding_conditions or claim.status.allocation is None:
            return True
        try:
            ready = are_devices_ready(claim)
        except DeviceNotBound:
            return False
        return ready or not has_binding_timed_out(claim, self._clock.now(), self._binding_timeout)

    def _find(
        self, supply: Supply, prepared: list[PreparedClaim], node: api.Node, pace: Pace
    ) -> Generator[None, None, tuple[tuple[FoundDevice, ...], ...] | Status]:
        try:
            found = yield from find_devices_in_steps(prepared, self._published.devices_of(node), supply, pace)
        except NodeFault as fault:
            return unresolvable(str(fault))
        except OutOfTime:
            return error(f"node {node.metadata.name}: timed out trying to allocate devices")
        return _CANNOT_ALLOCATE if found is None else tuple(map(tuple, found))

    # -- claims to allocate ------------------------------------------------------------------------------------------

    def _claims_for(
        self, cycle: CycleClaims, pod: api.Pod, node: NodeInfo
    ) -> tuple[list[PreparedClaim], NodeClaim | None] | Status:
        """Return the claims to allocate, in order, with the node's claim for extended resources."""
        extended = self._extended_for(cycle, pod, node)
        if isinstance(extended, Status):
            return extended
        if cycle.prepared is None:
            own = [c for index, c in cycle.to_allocate() if index < cycle.own_count and index not in cycle.shared]
            cycle.prepared = self._prepare(own)
        return (cycle.prepared, None) if extended is None else ([*cycle.prepared, extended[1]], extended[0])

    def _extended_for(
        self, cycle: CycleClaims, pod: api.Pod, node: NodeInfo
    ) -> tuple[NodeClaim, PreparedClaim] | Status | None:
        claim = cycle.extended_claim
        if claim is None:
            return None
        if claim.spec.devices.requests:
            return unresolvable(extended_resources.REASON_STALE)
        served = extended_resources.served_by_devices(cycle.extended_resources, node, self._classes)
        if served is None:
            return unresolvable(extended_resources.REASON_NOT_OFFERED)
        if not served:
            return None
        known = cycle.extended_claims.get(tuple(served))
        if known is None:
            made = extended_resources.claim_for_node(claim, pod, served, self._classes)
            known = cycle.extended_claims[tuple(served)] = made, self._prepare([made.claim])[0]
        return known

    def _prepare(self, claims: list[api.ResourceClaim]) -> list[PreparedClaim]:
        return prepare(claims, lambda name: self._objects.get(api.DeviceClass, name), self._features)


# -- unmet requests, for explanations ----------------------------------------------------------------------------------


class DeviceShortfall(NamedTuple):
    """A request of a claim on one node, in numbers."""

    #: The claim as `namespace/name`.
    claim: str
    request: str
    device_class: str
    wants: int
    #: Devices of the node of any class; those that match the class and selectors of the request;
    #: and those of them that are free with tolerated taints.
    devices: int
    matching: int
    free: int
    #: The attributes that must be equal or distinct on the devices of the claim.
    constraints: tuple[str, ...]


def unmet_request(claims: Iterable[PreparedClaim], node: NodeDevices, supply: Supply) -> DeviceShortfall | None:
    """Return the request that cannot be met on the node, or None if unknown."""
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
