# SPDX-License-Identifier: Apache-2.0
"""Claims of the members of a pod group.

Members of one group share an allocation before it is written: Reserve of the first member makes it,
and PreFilter of the others finds it in `GroupClaims`. A claim that the PodGroup lists as its own is
reserved for the group instead of the pod. If the group cannot be placed, `GroupRelease` frees
claims that keep its members from nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from steersman import api
from steersman.framework import (
    CycleState,
    Handle,
    PodGroupInfo,
    PodInfo,
    PreFilteredMembers,
    Status,
    error,
    unresolvable,
    unschedulable,
)
from steersman.scheduler.plugins.dynamic_resources.allocation import Features
from steersman.scheduler.plugins.dynamic_resources.binding import ClaimBinder
from steersman.scheduler.plugins.dynamic_resources.claims import ClaimTracker, is_reserved_for
from steersman.scheduler.plugins.dynamic_resources.extended_resources import IN_MEMORY
from steersman.scheduler.plugins.dynamic_resources.pre_filter import (
    CLAIMS_STATE_KEY,
    ERR_NO_GROUP,
    ERR_NO_STATE,
    CycleClaims,
)

PLUGIN: Final = "DynamicResources"
TOPOLOGY_GATE: Final = "TopologyAwareWorkloadScheduling"
REASON_COMPLETED: Final = "deallocation and deletion of ResourceClaims completed"
REASON_GROUP_DEALLOCATED: Final = "deallocation of PodGroup ResourceClaim completed"
REASON_GROUP_UNRESERVED: Final = "ResourceClaim unreserved for PodGroup"
ERR_CONFLICT: Final = (
    'Operation cannot be fulfilled on resourceclaims.resource.k8s.io "{}": the object has been modified; '
    "please apply your changes to the latest version and try again"
)

UnavailableClaims = Callable[[CycleClaims, Iterable[str]], list[int]]
"""Returns the positions of allocated claims that are not usable on the nodes."""


class GroupClaims(msgspec.Struct, eq=False):
    """Claims of the members in one cycle of their group: an entry of the state of that cycle."""

    #: Uids of claims whose allocation was made in this cycle.
    pending: set[str] = msgspec.field(default_factory=set)
    #: By pod key, the claims of the members that PreFilter was called for.
    members: dict[str, CycleClaims] = msgspec.field(default_factory=dict)


def group_claims_of(state: CycleState) -> GroupClaims | None:
    """Return the claims of the cycle of the pod's group; None outside of such a cycle."""
    cycle = state.group_cycle
    if cycle is None:
        return None
    known = cycle.read(CLAIMS_STATE_KEY, GroupClaims)
    if known is None:
        known = GroupClaims()
        cycle.write(CLAIMS_STATE_KEY, known)
    return known


class GroupRelease:
    """Deallocates or unreserves claims for a group that could not be placed."""

    def __init__(
        self, handle: Handle, tracker: ClaimTracker, binder: ClaimBinder, features: Features, find: UnavailableClaims
    ) -> None:
        self._groups = handle.pod_groups
        self._respects_topology = handle.gates.enabled(TOPOLOGY_GATE)
        self._tracker = tracker
        self._binder = binder
        self._features = features
        self._unavailable = find
        #: Keys of claims that were deallocated since `run` began.
        self._deallocated: set[str] = set()

    def run(self, state: CycleState, group: PodGroupInfo) -> Status:
        """Free claims, and return what was done; the group is tried again when they have
        changed."""
        if group.is_composite or (self._respects_topology and _is_constrained(group)):
            return unschedulable()
        members = PreFilteredMembers.of_cycle(state)
        without_claims = {pod.key for pod in group.unscheduled_pods if members.is_skipped(pod, PLUGIN)}
        claims = state.read(CLAIMS_STATE_KEY, GroupClaims) or GroupClaims()
        if not claims.members and not without_claims:
            return error(ERR_NO_STATE)
        self._deallocated.clear()
        does_nothing_for_some = bool(without_claims - claims.members.keys())
        for pod in group.unscheduled_pods:
            cycle = claims.members.get(pod.key)
            if cycle is not None:
                done = self._free_for_member(cycle, pod)
                if isinstance(done, Status):
                    return done
                does_nothing_for_some |= not done
        if does_nothing_for_some and self._features.workload_claims:
            status = self._free_for_group(claims, group)
            if status is not None:
                return status
        return unschedulable(REASON_COMPLETED)

    def _free_for_member(self, cycle: CycleClaims, pod: PodInfo) -> bool | Status:
        """Free a claim that keeps the member from nodes, and return whether there was one."""
        claim = self.freeable(cycle, pod.pod, cycle.unavailable_nodes())
        if claim is not None:
            return self._deallocate(claim) or True
        left_behind = cycle.extended_claim
        if left_behind is None or left_behind.metadata.name == IN_MEMORY:
            return False
        self._binder.delete(left_behind)
        return True

    def freeable(self, cycle: CycleClaims, pod: api.Pod, nodes: Iterable[str]) -> api.ResourceClaim | None:
        """Return a claim that is not usable on these nodes and that no other pod uses."""
        for index in self._unavailable(cycle, nodes):
            claim = cycle.claims[index]
            if index < cycle.own_count and _is_reserved_at_most_for(claim, pod.metadata.uid):
                return claim
        return None

    def _free_for_group(self, claims: GroupClaims, group: PodGroupInfo) -> Status | None:
        key = group.key
        groups = self._groups
        if groups is None or groups.state(key.namespace, key.name).scheduled_count:
            return None
        pod_group = groups.pod_group(key.namespace, key.name)
        if pod_group is None:
            return error(ERR_NO_GROUP.format(f"{key.namespace}/{key.name}"))
        for cycle in claims.members.values():
            for index in self._unavailable(cycle, cycle.unavailable_nodes()):
                claim = cycle.claims[index]
                if _is_reserved_at_most_for(claim, pod_group.metadata.uid):
                    return self._deallocate(claim) or unschedulable(REASON_GROUP_DEALLOCATED)
        return self._unreserve(pod_group, group.unscheduled_pods[0].pod)

    def _unreserve(self, pod_group: api.PodGroup, member: api.Pod) -> Status | None:
        """Remove the group's reservation from the first allocated claim that it lists."""
        names = {status.name: status.resource_claim_name for status in pod_group.status.resource_claim_statuses}
        where = f"PodGroup {api.key(pod_group)}"
        for reference in pod_group.spec.resource_claims:
            name = reference.resource_claim_name
            if name is None and reference.resource_claim_template_name is None:
                return error(f"{where}, spec.resourceClaim {reference.name}: none of the supported fields are set")
            if name is None and reference.name not in names:
                return error(f"{where}: ResourceClaim not created yet")
            is_generated = name is None
            name = names[reference.name] if name is None else name
            if name is None:
                continue
            claim = self._tracker.get(f"{pod_group.metadata.namespace}/{name}")
            if claim is None:
                return error(f'could not find ResourceClaim "{pod_group.metadata.namespace}/{name}"')
            if is_generated and not _is_controlled_by(claim, pod_group):
                continue
            if claim.status.allocation is not None and is_reserved_for(claim, member, for_group=True):
                self._binder.unreserve(claim, pod_group.metadata.uid)
                return unresolvable(REASON_GROUP_UNRESERVED)
        return None

    def _deallocate(self, claim: api.ResourceClaim) -> Status | None:
        """Deallocate the claim. A second time is a conflict, as on the API server: the claim has
        changed."""
        key = api.key(claim)
        if key in self._deallocated:
            return error(ERR_CONFLICT.format(claim.metadata.name))
        self._deallocated.add(key)
        self._binder.deallocate(claim)
        return None


def _is_constrained(group: PodGroupInfo) -> bool:
    return group.group is not None and group.group.spec.scheduling_constraints is not None


def _is_reserved_at_most_for(claim: api.ResourceClaim, uid: str) -> bool:
    return all(user.uid == uid for user in claim.status.reserved_for) and len(claim.status.reserved_for) <= 1


def _is_controlled_by(claim: api.ResourceClaim, group: api.PodGroup) -> bool:
    return any(owner.controller and owner.uid == group.metadata.uid for owner in claim.metadata.owner_references)
