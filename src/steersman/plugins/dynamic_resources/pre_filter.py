# SPDX-License-Identifier: Apache-2.0
"""PreFilter: the pod's claims, looked up and sorted into those that are allocated and those that have to be.

`CycleClaims` is what comes out, and what Filter, Score, Reserve and PreBind of the pod hand on among themselves.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from steersman import api
from steersman.api.node_selectors import NAME_FIELD, AnyTerm, strict
from steersman.clock import Clock
from steersman.errors import InputError
from steersman.framework.device_classes import DeviceClasses
from steersman.framework.handle import Objects
from steersman.framework.status import Status, error, unresolvable
from steersman.plugins.dynamic_resources import extended_resources
from steersman.plugins.dynamic_resources.allocation import Features, PreparedClaim, Supply
from steersman.plugins.dynamic_resources.claims import ClaimProblem, ClaimTracker, pod_claims
from steersman.plugins.dynamic_resources.extended_resources import NodeClaim
from steersman.plugins.dynamic_resources.filter_cache import NodeAllocation, NodeAnswers

REASON_UNKNOWN_GATE = "pod uses devices, and feature gate {} is on, which this version of Steersman cannot follow"


class CycleClaims(msgspec.Struct):
    """The claims of one pod and what the extension points find out about them in one cycle. What-if evaluations share it:
    which pods are on a node does not matter here."""

    #: The pod's claims in the order of the spec; the one for extended resources, if any, comes last.
    claims: list[api.ResourceClaim] = msgspec.field(default_factory=list)
    #: How many of them are users' claims.
    own_count: int = 0
    #: Extended resources that the pod requests, where a class stands behind at least one.
    extended_resources: dict[str, int] = msgspec.field(default_factory=dict)
    #: By position, where claims that are allocated can be used; the others everywhere.
    available_on: dict[int, AnyTerm] = msgspec.field(default_factory=dict)
    #: The only node where one of these claims can be used; "": none of them is tied to a node.
    tied_to: str = ""
    #: What Filter chooses from; None: every claim is allocated.
    supply: Supply | None = None
    #: The users' claims that are to be allocated; None: not looked at yet.
    prepared: list[PreparedClaim] | None = None
    #: The claim for extended resources, by the resources that nodes have to serve by devices.
    extended_claims: dict[tuple[str, ...], tuple[NodeClaim, PreparedClaim]] = msgspec.field(default_factory=dict)
    #: What Filter said of each node; other pods may have asked the same.
    answers: NodeAnswers = msgspec.field(default_factory=NodeAnswers)
    #: When the cycle is postponed; None: it has not begun to look at nodes.
    postponed_at: float | None = None
    #: What Reserve took.
    chosen: NodeAllocation | None = None
    #: By position, the allocations that Reserve made.
    allocations: dict[int, api.AllocationResult] = msgspec.field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not self.claims

    @property
    def extended_claim(self) -> api.ResourceClaim | None:
        return self.claims[self.own_count] if self.own_count < len(self.claims) else None

    @property
    def own_claims(self) -> list[api.ResourceClaim]:
        return self.claims[: self.own_count]

    def to_allocate(self) -> Iterator[tuple[int, api.ResourceClaim]]:
        """The claims without allocation, with their positions."""
        return ((index, claim) for index, claim in enumerate(self.claims) if claim.status.allocation is None)

    def allocation_on(self, node_name: str) -> NodeAllocation | None:
        """The devices that Filter found on the node, known as long as the cycle lasts."""
        known = self.answers.latest(node_name)
        return known if isinstance(known, NodeAllocation) else None


class ClaimPreFilter:
    """Makes the cycle's claims of one pod after the other."""

    def __init__(
        self, objects: Objects, tracker: ClaimTracker, classes: DeviceClasses, features: Features, clock: Clock
    ) -> None:
        self._objects = objects
        self._tracker = tracker
        self._classes = classes
        self._features = features
        self._clock = clock

    def claims_of(self, pod: api.Pod) -> CycleClaims | Status:
        """A Status: the pod cannot be scheduled now, whatever the nodes."""
        try:
            own = pod_claims(pod, self._tracker)
        except ClaimProblem as problem:
            return unresolvable(str(problem))
        cycle = CycleClaims(claims=own, own_count=len(own))
        self._add_extended(cycle, pod)
        if cycle.claims and self._features.unknown_gate:
            return unresolvable(REASON_UNKNOWN_GATE.format(self._features.unknown_gate))
        refusal = self._sort(cycle)
        return cycle if refusal is None else refusal

    def _add_extended(self, cycle: CycleClaims, pod: api.Pod) -> None:
        """A claim that an earlier attempt left behind takes the place of the one in memory, and will be removed."""
        if not self._features.extended_resources:
            return
        cycle.extended_resources = extended_resources.device_backed(pod, self._classes)
        if cycle.extended_resources:
            cycle.claims.append(self._tracker.made_for(pod) or extended_resources.claim_in_memory(pod))

    def _sort(self, cycle: CycleClaims) -> Status | None:
        for index, claim in enumerate(cycle.claims):
            allocation = claim.status.allocation
            if allocation is None:
                refusal = self._refusal(claim, index < cycle.own_count)
                if refusal is not None:
                    return refusal
            elif allocation.node_selector is not None:
                try:
                    cycle.available_on[index] = strict(allocation.node_selector)
                except InputError as problem:
                    return error(problem.message)
                cycle.tied_to = cycle.tied_to or _only_node(allocation.node_selector)
        if any(claim.status.allocation is None for claim in cycle.claims):
            in_use = self._tracker.in_use()
            cycle.supply = Supply(in_use, self._features, self._clock.monotonic)
        return None

    def _refusal(self, claim: api.ResourceClaim, is_own: bool) -> Status | None:
        """Why a claim cannot be allocated now. The one for extended resources is looked at node by node."""
        if self._tracker.pending(claim.metadata.uid) is not None:
            return unresolvable(f"resource claim {api.key(claim)} is in the process of being allocated")
        if is_own:
            for request in claim.spec.devices.requests:
                refusal = self._refusal_of_request(claim, request)
                if refusal is not None:
                    return refusal
        return None

    def _refusal_of_request(self, claim: api.ResourceClaim, request: api.DeviceRequest) -> Status | None:
        if request.exactly is not None:
            return self._refusal_of_class(request.exactly.device_class_name, request.name)
        which = f"resource claim {api.key(claim)}, request {request.name}"
        if not request.first_available:
            return unresolvable(f"{which}: unknown request type")
        if not self._features.prioritized_list:
            return unresolvable(f"{which}: has subrequests, but the DRAPrioritizedList feature is disabled")
        for alternative in request.first_available:
            refusal = self._refusal_of_class(alternative.device_class_name, f"{request.name}/{alternative.name}")
            if refusal is not None:
                return refusal
        return None

    def _refusal_of_class(self, name: str, request: str) -> Status | None:
        if not name:
            return error(f"request {request}: unsupported request type")
        if self._objects.get(api.DeviceClass, name) is None:
            return unresolvable(f"request {request}: device class {name} does not exist")
        return None


def _only_node(selector: api.NodeSelector) -> str:
    """The node that the selector names, as those of local devices do; "" for all others."""
    if len(selector.node_selector_terms) != 1:
        return ""
    (term,) = selector.node_selector_terms
    if term.match_expressions or len(term.match_fields) != 1:
        return ""
    (field,) = term.match_fields
    named = field.key == NAME_FIELD and field.operator == "In" and len(field.values) == 1
    return field.values[0] if named else ""
