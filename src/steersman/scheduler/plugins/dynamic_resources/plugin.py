# SPDX-License-Identifier: Apache-2.0
"""The plugin's extension points.

PreFilter looks up the claims, Filter searches each node for devices, Reserve takes those of the
chosen node, PreBind writes them. PostFilter deallocates claims that keep the pod from being placed.
`hints` decides when a pod that waits for devices is requeued.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Protocol

from steersman import api
from steersman.config import DynamicResourcesArgs, Rule
from steersman.framework import (
    MAX_NODE_SCORE,
    SKIP,
    ClusterEventWithHint,
    ClusterScoreKernel,
    ColumnarScore,
    CyclePostponed,
    CycleState,
    DeviceClasses,
    DevicesHandle,
    EnqueueExtensions,
    FilterPlugin,
    NodeInfo,
    NodeScore,
    NodesView,
    PodGroupInfo,
    PodGroupPostFilterPlugin,
    PodGroupPostFilterResult,
    PodInfo,
    PostFilterPlugin,
    PostFilterResult,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    ReservePlugin,
    ScheduleGroup,
    ScoreKernel,
    ScorePlugin,
    Status,
    ZeroScores,
    default_normalize_score,
    error,
    may_be_devices,
    unresolvable,
    unschedulable,
)
from steersman.scheduler.plugins.dynamic_resources import scoring
from steersman.scheduler.plugins.dynamic_resources.allocation import (
    AllocationFault,
    Features,
    allocation_of,
)
from steersman.scheduler.plugins.dynamic_resources.binding import BindingFault, ClaimBinder, DeviceReports
from steersman.scheduler.plugins.dynamic_resources.claims import (
    ClaimProblem,
    claim_tracker_of,
    is_reserved_for,
    pod_claims,
)
from steersman.scheduler.plugins.dynamic_resources.extended_resources import IN_MEMORY, in_memory_uid
from steersman.scheduler.plugins.dynamic_resources.filter_cache import (
    NodeAllocation,
    RowIndex,
)
from steersman.scheduler.plugins.dynamic_resources.filtering import REASON_NOT_AVAILABLE, ClaimFilter, DeviceShortfall
from steersman.scheduler.plugins.dynamic_resources.group_claims import GroupClaims, GroupRelease, group_claims_of
from steersman.scheduler.plugins.dynamic_resources.hints import ClaimHints
from steersman.scheduler.plugins.dynamic_resources.pre_filter import (
    CLAIMS_STATE_KEY,
    ERR_NO_STATE,
    ClaimPreFilter,
    CycleClaims,
)

REASON_NO_NEW_CLAIMS = "no new claims to deallocate"
REASON_DEALLOCATED = "deallocation of ResourceClaim completed"
REASON_DELETED = "deletion of ResourceClaim completed"
REASON_STILL_NOT = "still not schedulable"
ERR_NO_ALLOCATION = "claim allocation not found for node"
NO_ROW = -1


class Statuses(Protocol):
    """The names of rejected nodes by status."""

    @property
    def groups(self) -> Mapping[Status, Sequence[str]]: ...


class DynamicResources(
    PreEnqueuePlugin,
    PreFilterPlugin,
    FilterPlugin,
    PostFilterPlugin,
    ScorePlugin,
    ColumnarScore,
    ReservePlugin,
    PreBindPlugin,
    PodGroupPostFilterPlugin,
    EnqueueExtensions,
):
    name = "DynamicResources"

    def __init__(self, args: DynamicResourcesArgs, handle: DevicesHandle) -> None:
        features = self._features = Features.from_gates(handle.gates)
        self._reports_inaction = handle.gates.has_rule(Rule.DEALLOCATION_IS_REPORTED)
        self._nodes = handle.nodes
        self._rng = handle.rng
        classes = DeviceClasses(handle.objects)
        self._tracker = claim_tracker_of(handle.objects, features.consumable_capacity)
        filter_timeout = args.filter_timeout.seconds if args.filter_timeout is not None else 0.0
        binding_timeout = args.binding_timeout.seconds if args.binding_timeout is not None else 600.0
        self._pre_filter = ClaimPreFilter(handle, self._tracker, classes, features)
        self._filter = ClaimFilter(handle, classes, features, (filter_timeout, binding_timeout))
        self._binder = ClaimBinder(handle, self._tracker, features, binding_timeout)
        self._release = GroupRelease(handle, self._tracker, self._binder, features, self._unavailable)
        self._hints = ClaimHints(self._tracker, features, handle.gates.has_rule(Rule.CLAIM_DELETION_REQUEUES))
        #: The last filtered cycle: the score depends on its results.
        self._latest: CycleClaims | None = None

    def report_to(self, reports: DeviceReports) -> None:
        """Report created claims and waits for devices, for metrics."""
        self._binder.reports = reports

    # -- PreEnqueue and PreFilter ------------------------------------------------------------------------------------

    def pre_enqueue(self, pod: PodInfo | api.Pod) -> Status | None:
        try:
            candidate = pod.pod if isinstance(pod, PodInfo) else pod
            pod_claims(candidate, self._tracker, for_group=self._features.workload_claims)
        except ClaimProblem as problem:
            return unresolvable(str(problem))
        return None

    def concerns(self, pod: PodInfo) -> bool:
        """Return whether the pod may have anything to allocate."""
        return bool(pod.spec.resource_claims) or any(map(may_be_devices, pod.shape.requests))

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status | None:
        group = group_claims_of(state)
        self._write(state, pod, CycleClaims())
        cycle = self._pre_filter.claims_of(pod.pod, () if group is None else group.pending)
        if isinstance(cycle, Status):
            return cycle
        if cycle.supply is not None:
            cycle.answers = self._filter.known_answers(cycle, pod, cycle.supply.in_use)
        self._write(state, pod, cycle)
        self._latest = cycle
        return SKIP if cycle.is_empty else None

    def _write(self, state: CycleState, pod: PodInfo, cycle: CycleClaims) -> None:
        state.write(CLAIMS_STATE_KEY, cycle)
        group = group_claims_of(state)
        if group is not None:
            group.members[pod.key] = cycle

    # -- Filter and Score --------------------------------------------------------------------------------------------

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        cycle = state.read(CLAIMS_STATE_KEY, CycleClaims)
        if cycle is None:
            return error(ERR_NO_STATE)
        if cycle.is_empty:
            return None
        self._latest = cycle
        answer = self._filter.answer(cycle, pod, node)
        if not isinstance(answer, Status):
            if state.group_cycle is not None:
                cycle.found_on[node.name] = answer
            return None
        if state.group_cycle is not None and answer.reasons == (REASON_NOT_AVAILABLE,):
            cycle.rejected.append((node.name,))
        return answer

    def shortfall(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> DeviceShortfall | None:
        """Return the unsatisfiable device request, for explanations, or None for other reasons."""
        cycle = state.read(CLAIMS_STATE_KEY, CycleClaims)
        return None if cycle is None or cycle.is_empty else self._filter.shortfall(cycle, pod.pod, node)

    def cached_verdicts(
        self, state: CycleState, pod: PodInfo, rows: RowIndex, view: NodesView
    ) -> tuple[RowIndex, RowIndex]:
        cycle = state.read(CLAIMS_STATE_KEY, CycleClaims)
        if cycle is None or cycle.is_empty:
            return rows[:0], rows
        self._latest = cycle
        if cycle.supply is None and cycle.tied_to:
            row = view.row_of(cycle.tied_to)
            here = rows == (NO_ROW if row is None else row)
            elsewhere = rows[~here]
            if state.group_cycle is not None:
                cycle.rejected.append(view.info(row).name for row in elsewhere.tolist())
            return elsewhere, rows[here]
        return cycle.answers.sorted_rows(rows, view)

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        cycle = state.read(CLAIMS_STATE_KEY, CycleClaims)
        return 0 if cycle is None or not self._features.prioritized_list else scoring.score(cycle, node.name)

    def normalize_scores(self, state: CycleState, pod: PodInfo, scores: Sequence[NodeScore]) -> None:
        default_normalize_score(MAX_NODE_SCORE, False, scores)

    def score_fragment(self, pod: PodInfo) -> Hashable:
        return None if self.concerns(pod) else "no claims"

    def score_kernel(self, pod: PodInfo, view: NodesView) -> ScoreKernel | ClusterScoreKernel:
        if not self.concerns(pod) or not self._features.prioritized_list:
            return ZeroScores(view)
        return scoring.AlternativeScores(view, lambda: self._latest)

    # -- PostFilter --------------------------------------------------------------------------------------------------

    def post_filter(
        self, state: CycleState, pod: PodInfo, statuses: Statuses
    ) -> tuple[PostFilterResult | None, Status]:
        cycle = state.read(CLAIMS_STATE_KEY, CycleClaims)
        if cycle is None:
            return None, error(ERR_NO_STATE)
        if cycle.is_empty:
            return None, self._nothing_done(REASON_NO_NEW_CLAIMS)
        done = self._deallocate_unusable(cycle, pod.pod, statuses)
        return None, unschedulable(done) if done else self._nothing_done(REASON_STILL_NOT)

    def _nothing_done(self, reason: str) -> Status:
        """Return the status if nothing was deallocated; since v1.37 it has no reason."""
        return unschedulable(reason) if self._reports_inaction else unschedulable()

    def _deallocate_unusable(self, cycle: CycleClaims, pod: api.Pod, statuses: Statuses) -> str:
        """Deallocate an unusable claim that no other pod uses. Return what was done, or ""."""
        claim = self._release.freeable(cycle, pod, _nodes_rejected_for(statuses, self.name))
        if claim is not None:
            self._binder.deallocate(claim)
            return REASON_DEALLOCATED
        left_behind = cycle.extended_claim
        if left_behind is not None and left_behind.metadata.name != IN_MEMORY:
            self._binder.delete(left_behind)
            return REASON_DELETED
        return ""

    def _unavailable(self, cycle: CycleClaims, nodes: Iterable[str]) -> list[int]:
        """Return the positions of claims that are not usable on the nodes."""
        if all(claim.status.allocation is None for claim in cycle.claims) and not cycle.shared:
            return []
        found: set[int] = set()
        for name in nodes:
            node = self._nodes.get(name)
            if node is not None:
                found |= self._filter.unavailable(cycle, node.node)
        return sorted(found)

    def pod_group_post_filter(
        self, state: CycleState, group: PodGroupInfo, schedule: ScheduleGroup
    ) -> tuple[PodGroupPostFilterResult | None, Status]:
        return None, self._release.run(state, group)

    # -- Reserve and PreBind -----------------------------------------------------------------------------------------

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        cycle = self._cycle_claims(state, pod)
        if isinstance(cycle, Status):
            return cycle
        if not any(cycle.to_allocate()):
            return None
        allocation = self._on_node(state, cycle, pod, node_name)
        if allocation is None:
            return error(ERR_NO_ALLOCATION)
        self._filter.forget(pod)
        try:
            self._take(cycle, allocation, node_name, group_claims_of(state))
        except AllocationFault as fault:
            return error(str(fault))
        return None

    def _take(self, cycle: CycleClaims, allocation: NodeAllocation, node_name: str, group: GroupClaims | None) -> None:
        """Mark the devices of the allocation as taken by the claims."""
        cycle.chosen = allocation
        made = [
            allocation_of(prepared, found, node_name, self._features, self._new_share_id)
            for prepared, found in zip(allocation.claims, allocation.found, strict=False)
        ]
        # As in v1.37.1, allocations of other members come last, so that claims get each other's
        # devices if a shared one is not the last in the spec.
        made += cycle.shared.values()
        for (index, claim), one in zip(cycle.to_allocate(), made, strict=False):
            cycle.allocations[index] = one
            self._tracker.signal(claim, one)
            if group is not None:
                group.pending.add(claim.metadata.uid)

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Release the reservations, if any. Idempotent."""
        cycle = state.read(CLAIMS_STATE_KEY, CycleClaims)
        if cycle is None:
            return
        group = group_claims_of(state)
        for claim in cycle.own_claims:
            if self._tracker.release(claim.metadata.uid):
                self._tracker.restore(api.key(claim))
                if group is not None:
                    group.pending.discard(claim.metadata.uid)
            if claim.status.allocation is not None and is_reserved_for(claim, pod.pod):
                self._binder.unreserve(claim, pod.uid)
        self._unreserve_extended(cycle, pod.pod)
        cycle.allocations.clear()

    def pre_bind_pre_flight(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        cycle = state.read(CLAIMS_STATE_KEY, CycleClaims)
        if cycle is None:
            return error(ERR_NO_STATE)
        return SKIP if cycle.is_empty else None

    async def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        cycle = state.read(CLAIMS_STATE_KEY, CycleClaims)
        if cycle is None:
            return error(ERR_NO_STATE)
        try:
            await self._binder.bind(cycle, pod.pod, node_name)
        except BindingFault as fault:
            return error(str(fault))
        return None

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        return self._hints.events()

    # -- internals ---------------------------------------------------------------------------------------------------

    def _cycle_claims(self, state: CycleState, pod: PodInfo) -> CycleClaims | Status:
        cycle = state.read(CLAIMS_STATE_KEY, CycleClaims)
        if cycle is None:
            status = self.pre_filter(state, pod, ())
            if status is not None and status != SKIP:
                return status
            cycle = state.read(CLAIMS_STATE_KEY, CycleClaims)
        return error(ERR_NO_STATE) if cycle is None else cycle

    def _on_node(self, state: CycleState, cycle: CycleClaims, pod: PodInfo, node_name: str) -> NodeAllocation | None:
        """Run Filter, which a nominated node may have skipped, and return the devices."""
        node = self._nodes.get(node_name)
        if node is not None and node_name not in cycle.found_on:
            try:
                self.filter(state, pod, node)
            except CyclePostponed as postponed:
                # The pod is already assumed. It is tried again, and the result is available then.
                postponed.work.close()
        return cycle.allocation_on(node_name)

    def _unreserve_extended(self, cycle: CycleClaims, pod: api.Pod) -> None:
        claim = cycle.extended_claim
        if claim is None:
            return
        self._tracker.release(in_memory_uid(pod))
        if claim.metadata.name != IN_MEMORY:
            self._binder.delete(claim)

    def _new_share_id(self) -> str:
        """Return a new share id in the form of a UUID."""
        digits = "".join("0123456789abcdef"[self._rng.randrange(16)] for _ in range(32))
        return "-".join((digits[:8], digits[8:12], f"4{digits[13:16]}", f"8{digits[17:20]}", digits[20:]))


def _nodes_rejected_for(statuses: Statuses, plugin: str) -> Iterable[str]:
    for status, names in statuses.groups.items():
        if status.plugin == plugin and status.reasons == (REASON_NOT_AVAILABLE,):
            yield from names
