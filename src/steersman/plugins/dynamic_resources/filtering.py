# SPDX-License-Identifier: Apache-2.0
"""Filter: whether a node can have all of the pod's claims, those that are allocated and those that have to be.

A node of which nothing is known (`filter_cache`) is searched for devices (`allocation`). Where cycles can be postponed, a
search that takes long goes on after the cycle.

Filter only says that not all claims can be allocated. Explanations say why in numbers: the devices that a request could
choose from, and what is left of them. `unmet_request` looks at one request after the other, each by itself, and tells the first
that finds too few devices; if each would find enough, it is a constraint, or that they want the same devices.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Final, NamedTuple

from steersman import api
from steersman.framework.device_classes import DeviceClasses
from steersman.framework.handle import DevicesHandle
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_info import PodInfo
from steersman.framework.postponement import CyclePostponed, SlicedWork
from steersman.framework.status import Status, error, unresolvable
from steersman.plugins.dynamic_resources import extended_resources
from steersman.plugins.dynamic_resources.allocation import (
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
from steersman.plugins.dynamic_resources.allocation.suitability import are_tolerated
from steersman.plugins.dynamic_resources.claims import DeviceNotBound, are_devices_ready, has_binding_timed_out
from steersman.plugins.dynamic_resources.extended_resources import NodeClaim
from steersman.plugins.dynamic_resources.filter_cache import (
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
from steersman.plugins.dynamic_resources.pre_filter import CycleClaims

#: What the devices of one pod may take in a cycle that can be postponed.
CYCLE_SECONDS: Final = 0.02

REASON_NOT_AVAILABLE = "resourceclaim not available on the node"
REASON_CANNOT_ALLOCATE = "cannot allocate all claims"

_NOT_AVAILABLE = unresolvable(REASON_NOT_AVAILABLE)
_CANNOT_ALLOCATE = unresolvable(REASON_CANNOT_ALLOCATE)


class ClaimFilter:
    """Looks at one node after the other. `timeouts` of filter and binding in seconds: 0 means without limit."""

    def __init__(
        self, handle: DevicesHandle, classes: DeviceClasses, features: Features, timeouts: tuple[float, float]
    ) -> None:
        self._objects = handle.objects
        self._clock = handle.clock
        self._postpones = handle.postpones
        self._classes = classes
        self._features = features
        self._filter_timeout, self._binding_timeout = timeouts
        self._published = PublishedDevices(handle.objects, features.partitionable_devices)
        self._cache = FilterCache(handle.objects, self._published)
        self._postponed = PostponedSearches()

    # -- what is known already ---------------------------------------------------------------------------------------

    def known_answers(self, cycle: CycleClaims, pod: PodInfo, in_use: DevicesInUse) -> NodeAnswers:
        """The answers of earlier cycles that still hold. Pods whose claims are allocated in part have questions of their
        own, which are remembered only while the pod's cycles are postponed."""
        answers = None
        if all(claim.status.allocation is None for claim in cycle.claims):
            shape = pod.shape if cycle.extended_claim is not None else None
            answers = self._cache.answers_to(cycle.own_claims, shape, in_use)
        searches = self._searches_of(cycle, pod)
        if answers is not None:
            return answers
        return NodeAnswers() if searches is None else searches.own_answers(in_use.version, self._cache.slices_version)

    def forget(self, pod: PodInfo) -> None:
        """The pod has its devices: what was found while its cycles were postponed is of no use any more."""
        self._postponed.forget(pod.uid)

    def _searches_of(self, cycle: CycleClaims, pod: PodInfo) -> PodSearches | None:
        """The searches that went on between this cycle and an earlier one of the pod."""
        return self._postponed.of(pod.uid, cycle.own_claims, self._cache.classes_version) if self._postpones else None

    def _found_meanwhile(self, cycle: CycleClaims, pod: PodInfo, node: NodeInfo) -> NodeAnswer | None:
        """The answer of a search that went on after an earlier cycle, if it still holds."""
        searches = self._searches_of(cycle, pod)
        if searches is None or cycle.supply is None:
            return None
        in_use = cycle.supply.in_use
        fickle = has_distinct_attributes(cycle.own_claims)
        return searches.take(
            self._published.of(node.node),
            in_use.version,
            lambda answer, since: self._cache.still_holds(node.name, answer, fickle, since, in_use),
        )

    # -- one node ----------------------------------------------------------------------------------------------------

    def answer(self, cycle: CycleClaims, pod: PodInfo, node: NodeInfo) -> NodeAnswer:
        """The devices that the pod would get on the node; a Status: why it cannot be there. Faults are not kept: they name the
        claim, which is another one for the next pod. CyclePostponed when the search takes too long for a cycle."""
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
        """The time that the search on one node may take."""
        limited = self._features.filter_timeout and self._filter_timeout > 0
        return Pace(self._clock.monotonic, self._filter_timeout if limited else None)

    def _search_for_a_while(
        self, cycle: CycleClaims, pod: PodInfo, node: NodeInfo, steps: Steps, pace: Pace
    ) -> NodeAnswer:
        """CyclePostponed when the cycle has taken long enough and the search has not ended."""
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
        """The rest of the search, which ends with a note for the pod's next cycle."""
        assert cycle.supply is not None
        cycle.supply.freeze()
        usage = cycle.supply.in_use.version
        devices = self._published.of(node.node)
        searches = self._postponed.begin(pod.uid, cycle.own_claims, self._cache.classes_version)
        return in_slices(steps, pace, lambda answer: searches.put(devices, answer, usage))

    def _examine(self, cycle: CycleClaims, pod: api.Pod, node: NodeInfo, pace: Pace) -> Steps:
        """The search itself. Pauses as the pace has it; what is needed of the node is read before the first pause."""
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
        """The request for devices that cannot be met on the node, in numbers; None: it is not about devices."""
        try:
            claims = self._claims_for(cycle, pod, node)
        except AllocationFault:
            return None
        if isinstance(claims, Status) or cycle.supply is None:
            return None
        return unmet_request(claims[0], self._published.of(node.node), cycle.supply)

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
            ready = are_devices_ready(claim)
        except DeviceNotBound:
            return False
        return ready or not has_binding_timed_out(claim, self._clock.now(), self._binding_timeout)

    def _find(
        self, supply: Supply, prepared: list[PreparedClaim], node: api.Node, pace: Pace
    ) -> Generator[None, None, tuple[tuple[FoundDevice, ...], ...] | Status]:
        try:
            found = yield from find_devices_in_steps(prepared, self._published.of(node), supply, pace)
        except NodeFault as fault:
            return unresolvable(str(fault))
        except OutOfTime:
            return error(f"node {node.metadata.name}: timed out trying to allocate devices")
        return _CANNOT_ALLOCATE if found is None else tuple(map(tuple, found))

    # -- the claims that are to be allocated -------------------------------------------------------------------------

    def _claims_for(
        self, cycle: CycleClaims, pod: api.Pod, node: NodeInfo
    ) -> tuple[list[PreparedClaim], NodeClaim | None] | Status:
        """The claims that have to be allocated in order, with the one for extended resources as this node needs it."""
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


# -- why a node cannot have the claims, in numbers ---------------------------------------------------------------------


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


def unmet_request(claims: Iterable[PreparedClaim], node: NodeDevices, supply: Supply) -> DeviceShortfall | None:
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
