# SPDX-License-Identifier: Apache-2.0
"""PreFilter: the pod's claims, looked up and sorted into those that are allocated and those that have to be."""

from __future__ import annotations

from steersman import api
from steersman.api.node_selectors import NAME_FIELD, strict
from steersman.clock import Clock
from steersman.errors import InputError
from steersman.framework.device_classes import DeviceClasses
from steersman.framework.handle import Objects
from steersman.framework.status import Status, error, unresolvable
from steersman.plugins.dynamic_resources import extended
from steersman.plugins.dynamic_resources.allocation import Features, Supply
from steersman.plugins.dynamic_resources.claims import ClaimProblem, pod_claims
from steersman.plugins.dynamic_resources.cycle import CycleClaims
from steersman.plugins.dynamic_resources.ledger import ClaimLedger

REASON_UNKNOWN_GATE = "pod uses devices, and feature gate {} is on, which this version of Steersman cannot follow"


class Preparing:
    """Makes the cycle's claims of one pod after the other."""

    def __init__(
        self, objects: Objects, ledger: ClaimLedger, classes: DeviceClasses, features: Features, clock: Clock
    ) -> None:
        self._objects = objects
        self._ledger = ledger
        self._classes = classes
        self._features = features
        self._clock = clock

    def claims_of(self, pod: api.Pod) -> CycleClaims | Status:
        """A Status: the pod cannot be scheduled now, whatever the nodes."""
        try:
            own = pod_claims(pod, self._ledger)
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
        cycle.extended_resources = extended.device_backed(pod, self._classes)
        if cycle.extended_resources:
            cycle.claims.append(self._ledger.made_for(pod) or extended.claim_in_memory(pod))

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
            in_use = self._ledger.in_use()
            cycle.supply = Supply(in_use, self._features, self._clock.monotonic)
        return None

    def _refusal(self, claim: api.ResourceClaim, is_own: bool) -> Status | None:
        """Why a claim cannot be allocated now. The one for extended resources is looked at node by node."""
        if self._ledger.pending(claim.metadata.uid) is not None:
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
