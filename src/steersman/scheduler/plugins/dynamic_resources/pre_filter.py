# SPDX-License-Identifier: Apache-2.0
"""PreFilter: looks up the pod's claims and determines those that have to be allocated.

The result is `CycleClaims`, which Filter, Score, Reserve and PreBind of the pod share.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from typing import Final

import msgspec

from steersman import api
from steersman.api import NAME_FIELD, AnyTerm, strict
from steersman.base import InputError
from steersman.framework import DeviceClasses, Handle, Status, error, unresolvable
from steersman.scheduler.plugins.dynamic_resources import extended_resources
from steersman.scheduler.plugins.dynamic_resources.allocation import Features, PreparedClaim, Supply
from steersman.scheduler.plugins.dynamic_resources.claims import (
    ClaimProblem,
    ClaimTracker,
    consumers_of,
    group_name,
    pod_claims,
    pod_reference,
)
from steersman.scheduler.plugins.dynamic_resources.extended_resources import NodeClaim
from steersman.scheduler.plugins.dynamic_resources.filter_cache import NodeAllocation, NodeAnswers

#: Key of `CycleClaims` in the state of a pod's cycle, and of `GroupClaims` in the state of a
#: group's cycle.
CLAIMS_STATE_KEY: Final = "DynamicResources"
ERR_NO_STATE: Final = "not found"
ERR_NO_GROUP: Final = "pod group object not found for pod group podgroup/{}"
REASON_UNKNOWN_GATE = "pod uses devices, and feature gate {} is on, which this version of Steersman cannot follow"


class CycleClaims(msgspec.Struct):
    """The claims of one pod and the results of the extension points in one cycle. What-if
    evaluations share it, because it does not depend on the pods on a node."""

    #: The pod's claims in the order of the spec; the one for extended resources, if any, is last.
    claims: list[api.ResourceClaim] = msgspec.field(default_factory=list)
    #: The number of claims in the pod's spec.
    own_count: int = 0
    #: Requested extended resources, if a class backs at least one of them.
    extended_resources: dict[str, int] = msgspec.field(default_factory=dict)
    #: By position, allocations that an earlier member of the pod's group made, and that are not
    #: written yet.
    shared: dict[int, api.AllocationResult] = msgspec.field(default_factory=dict)
    #: The consumers to reserve the claims in the spec for; empty without the gate
    #: DRAWorkloadResourceClaims.
    consumers: list[api.ResourceClaimConsumerReference] = msgspec.field(default_factory=list)
    #: By node, the devices that Filter found in a cycle of a group: members with equal requests
    #: share `answers`, but not the devices.
    found_on: dict[str, NodeAllocation] = msgspec.field(default_factory=dict)
    #: Names of nodes on which a claim is not usable; noted in cycles of groups.
    rejected: list[Iterable[str]] = msgspec.field(default_factory=list)
    #: Node selectors of allocated claims by position; claims without one are usable everywhere.
    available_on: dict[int, AnyTerm] = msgspec.field(default_factory=dict)
    #: The only node where one of these claims can be used, or "".
    tied_to: str = ""
    #: The devices that Filter chooses from; None if every claim is allocated.
    supply: Supply | None = None
    #: The prepared claims of the spec that are to be allocated; None before the first node.
    prepared: list[PreparedClaim] | None = None
    #: The claim for extended resources, by the resources that devices have to serve on a node.
    extended_claims: dict[tuple[str, ...], tuple[NodeClaim, PreparedClaim]] = msgspec.field(default_factory=dict)
    #: Filter results by node, shared with pods that have equal requests.
    answers: NodeAnswers = msgspec.field(default_factory=NodeAnswers)
    #: The time at which the cycle is postponed; None before the first node.
    postponed_at: float | None = None
    #: The devices that Reserve took.
    chosen: NodeAllocation | None = None
    #: The allocations that Reserve made, by position of the claim.
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
        """Return the claims without allocation, with their positions."""
        return ((index, claim) for index, claim in enumerate(self.claims) if claim.status.allocation is None)

    def consumer(self, index: int, pod: api.Pod) -> api.ResourceClaimConsumerReference:
        """Return the consumer to reserve the claim at this position for."""
        return self.consumers[index] if index < len(self.consumers) else pod_reference(pod)

    def unavailable_nodes(self) -> list[str]:
        """Return the nodes on which a claim is not usable, in a cycle of a group."""
        self.rejected = [list(chain.from_iterable(self.rejected))]
        return list(self.rejected[0])

    def allocation_on(self, node_name: str) -> NodeAllocation | None:
        """Return the devices that Filter found on the node in this cycle, or None."""
        own = self.found_on.get(node_name)
        if own is not None:
            return own
        known = self.answers.latest(node_name)
        return known if isinstance(known, NodeAllocation) else None


class ClaimPreFilter:
    """Creates the `CycleClaims` of a pod."""

    def __init__(
        self,
        handle: Handle,
        tracker: ClaimTracker,
        classes: DeviceClasses,
        features: Features,
    ) -> None:
        self._objects = handle.objects
        self._groups = handle.pod_groups
        self._tracker = tracker
        self._classes = classes
        self._features = features
        self._clock = handle.clock

    def claims_of(self, pod: api.Pod, pending: Collection[str] = ()) -> CycleClaims | Status:
        """Return the claims, or a status if the pod cannot be scheduled on any node now. `pending`
        are the uids of claims that earlier members of the group have allocated."""
        try:
            own = pod_claims(pod, self._tracker, for_group=self._features.workload_claims)
            cycle = CycleClaims(claims=own, own_count=len(own))
            self._add_extended(cycle, pod)
            if self._features.workload_claims:
                cycle.consumers = consumers_of(pod, self._group_of(pod))
        except ClaimProblem as problem:
            return unresolvable(str(problem))
        if cycle.claims and self._features.unknown_gate:
            return unresolvable(REASON_UNKNOWN_GATE.format(self._features.unknown_gate))
        refusal = self._sort(cycle, pending)
        return cycle if refusal is None else refusal

    def _group_of(self, pod: api.Pod) -> api.PodGroup | None:
        name = group_name(pod)
        if name is None or self._groups is None:
            return None
        group = self._groups.pod_group(pod.metadata.namespace, name)
        if group is None:
            raise ClaimProblem(ERR_NO_GROUP.format(f"{pod.metadata.namespace}/{name}"))
        return group

    def _add_extended(self, cycle: CycleClaims, pod: api.Pod) -> None:
        """Add the claim of extended resources. One left by an earlier attempt is deleted later."""
        if not self._features.extended_resources:
            return
        cycle.extended_resources = extended_resources.device_backed(pod, self._classes)
        if cycle.extended_resources:
            cycle.claims.append(self._tracker.made_for(pod) or extended_resources.claim_in_memory(pod))

    def _sort(self, cycle: CycleClaims, pending: Collection[str]) -> Status | None:
        for index, claim in enumerate(cycle.claims):
            allocation = claim.status.allocation
            if allocation is None and claim.metadata.uid in pending:
                allocation = self._tracker.pending(claim.metadata.uid)
                if allocation is not None:
                    cycle.shared[index] = allocation
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
        """Return why a claim cannot be allocated now. Extended resources are checked per node."""
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
    """Return the node that the selector of local devices names, or "" for other selectors."""
    if len(selector.node_selector_terms) != 1:
        return ""
    (term,) = selector.node_selector_terms
    if term.match_expressions or len(term.match_fields) != 1:
        return ""
    (field,) = term.match_fields
    named = field.key == NAME_FIELD and field.operator == "In" and len(field.values) == 1
    return field.values[0] if named else ""
