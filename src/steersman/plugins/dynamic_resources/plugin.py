# SPDX-License-Identifier: Apache-2.0
"""The plugin's extension points.

PreFilter looks up the claims, Filter searches each node for devices, Reserve takes those of the chosen node, PreBind
writes them down. PostFilter gives back devices that keep the pod from being placed. Hints say when a pod that waits for
devices is worth another attempt.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np

from steersman import api
from steersman.config import DynamicResourcesArgs
from steersman.framework.columns import ClusterScoreKernel, ColumnarScore, Depends, ScoreKernel
from steersman.framework.cycle_state import CycleState
from steersman.framework.device_classes import DeviceClasses, may_be_devices
from steersman.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource, QueueingHint
from steersman.framework.handle import DevicesHandle
from steersman.framework.hints import changed
from steersman.framework.node_info import NodeInfo
from steersman.framework.nodes_view import IntColumn, NodesView, Rows
from steersman.framework.plugin import (
    MAX_NODE_SCORE,
    EnqueueExtensions,
    FilterPlugin,
    NodeScore,
    PostFilterPlugin,
    PostFilterResult,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    ReservePlugin,
    ScorePlugin,
    default_normalize_score,
)
from steersman.framework.pod_info import PodInfo
from steersman.framework.postponement import CyclePostponed
from steersman.framework.status import SKIP, Status, error, unresolvable, unschedulable
from steersman.plugins.dynamic_resources import scoring
from steersman.plugins.dynamic_resources.allocation import (
    AllocationFault,
    Features,
    allocation_of,
)
from steersman.plugins.dynamic_resources.binding import BindingFault, ClaimBinder
from steersman.plugins.dynamic_resources.claims import (
    ClaimProblem,
    Claims,
    claim_tracker_of,
    is_reserved_for,
    pod_claims,
)
from steersman.plugins.dynamic_resources.extended_resources import IN_MEMORY, in_memory_uid
from steersman.plugins.dynamic_resources.filter_cache import (
    NodeAllocation,
    RowIndex,
)
from steersman.plugins.dynamic_resources.filtering import REASON_NOT_AVAILABLE, ClaimFilter, DeviceShortfall
from steersman.plugins.dynamic_resources.pre_filter import ClaimPreFilter, CycleClaims

REASON_NO_NEW_CLAIMS = "no new claims to deallocate"
REASON_DEALLOCATED = "deallocation of ResourceClaim completed"
REASON_DELETED = "deletion of ResourceClaim completed"
REASON_STILL_NOT = "still not schedulable"
ERR_NO_STATE = "not found"
ERR_NO_ALLOCATION = "claim allocation not found for node"

STATE_KEY = "DynamicResources"
NO_ROW = -1


class Statuses(Protocol):
    """Why nodes did not pass: their names by status."""

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
    EnqueueExtensions,
):
    name = "DynamicResources"

    def __init__(self, args: DynamicResourcesArgs, handle: DevicesHandle) -> None:
        features = self._features = Features.of(handle.gates)
        self._nodes = handle.nodes
        self._rng = handle.rng
        classes = DeviceClasses(handle.objects)
        self._tracker = claim_tracker_of(handle.objects, features.consumable_capacity)
        filter_timeout = args.filter_timeout.seconds if args.filter_timeout is not None else 0.0
        binding_timeout = args.binding_timeout.seconds if args.binding_timeout is not None else 600.0
        self._pre_filter = ClaimPreFilter(handle.objects, self._tracker, classes, features, handle.clock)
        self._filter = ClaimFilter(handle, classes, features, (filter_timeout, binding_timeout))
        self._binder = ClaimBinder(handle, self._tracker, features, binding_timeout)
        self._hints = ClaimHints(self._tracker)
        #: The cycle of the pod whose nodes are being, or were last, looked at: the score depends on what was found there.
        self._latest: CycleClaims | None = None

    # -- before the nodes --------------------------------------------------------------------------------------------

    def pre_enqueue(self, pod: PodInfo | api.Pod) -> Status | None:
        try:
            pod_claims(pod.pod if isinstance(pod, PodInfo) else pod, self._tracker)
        except ClaimProblem as problem:
            return unresolvable(str(problem))
        return None

    def concerns(self, pod: PodInfo) -> bool:
        """Whether the pod may have anything to allocate."""
        return bool(pod.spec.resource_claims) or any(map(may_be_devices, pod.shape.requests))

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status | None:
        state.write(STATE_KEY, CycleClaims())
        cycle = self._pre_filter.claims_of(pod.pod)
        if isinstance(cycle, Status):
            return cycle
        if cycle.supply is not None:
            cycle.answers = self._filter.known_answers(cycle, pod, cycle.supply.in_use)
        state.write(STATE_KEY, cycle)
        self._latest = cycle
        return SKIP if cycle.is_empty else None

    # -- the nodes ---------------------------------------------------------------------------------------------------

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        cycle = state.read(STATE_KEY, CycleClaims)
        if cycle is None:
            return error(ERR_NO_STATE)
        if cycle.is_empty:
            return None
        self._latest = cycle
        answer = self._filter.answer(cycle, pod, node)
        return answer if isinstance(answer, Status) else None

    def shortfall(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> DeviceShortfall | None:
        """For explanations: the request for devices that cannot be met on the node; None: it is not about devices."""
        cycle = state.read(STATE_KEY, CycleClaims)
        return None if cycle is None or cycle.is_empty else self._filter.shortfall(cycle, pod.pod, node)

    def known_rows(self, state: CycleState, pod: PodInfo, rows: RowIndex, view: NodesView) -> tuple[RowIndex, RowIndex]:
        cycle = state.read(STATE_KEY, CycleClaims)
        if cycle is None or cycle.is_empty:
            return rows[:0], rows
        self._latest = cycle
        if cycle.supply is None and cycle.tied_to:
            row = view.row_of(cycle.tied_to)
            here = rows == (NO_ROW if row is None else row)
            return rows[~here], rows[here]
        return cycle.answers.sorted_rows(rows, view)

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        cycle = state.read(STATE_KEY, CycleClaims)
        return 0 if cycle is None or not self._features.prioritized_list else scoring.score(cycle, node.name)

    def normalize_scores(self, state: CycleState, pod: PodInfo, scores: Sequence[NodeScore]) -> None:
        default_normalize_score(MAX_NODE_SCORE, False, scores)

    def score_fragment(self, pod: PodInfo) -> Hashable:
        return None if self.concerns(pod) else "no claims"

    def score_kernel(self, pod: PodInfo, view: NodesView) -> ScoreKernel | ClusterScoreKernel:
        if not self.concerns(pod) or not self._features.prioritized_list:
            return NothingAllocated(view)
        return scoring.AlternativeScores(view, lambda: self._latest)

    # -- no node fits ------------------------------------------------------------------------------------------------

    def post_filter(
        self, state: CycleState, pod: PodInfo, statuses: Statuses
    ) -> tuple[PostFilterResult | None, Status]:
        cycle = state.read(STATE_KEY, CycleClaims)
        if cycle is None:
            return None, error(ERR_NO_STATE)
        if cycle.is_empty:
            return None, unschedulable(REASON_NO_NEW_CLAIMS)
        return None, unschedulable(self._make_way(cycle, pod.pod, statuses))

    def _make_way(self, cycle: CycleClaims, pod: api.Pod, statuses: Statuses) -> str:
        """Gives up an allocation that cannot be used anywhere, if nobody else uses it. What was done."""
        for index in self._unavailable(cycle, statuses):
            claim = cycle.claims[index]
            if index < cycle.own_count and len(claim.status.reserved_for) <= is_reserved_for(claim, pod):
                self._binder.deallocate(claim)
                return REASON_DEALLOCATED
        left_behind = cycle.extended_claim
        if left_behind is not None and left_behind.metadata.name != IN_MEMORY:
            self._binder.delete(left_behind)
            return REASON_DELETED
        return REASON_STILL_NOT

    def _unavailable(self, cycle: CycleClaims, statuses: Statuses) -> list[int]:
        """The claims that kept the pod from a node."""
        if all(claim.status.allocation is None for claim in cycle.claims):
            return []
        found: set[int] = set()
        for name in _nodes_rejected_for(statuses, self.name):
            node = self._nodes.get(name)
            if node is not None:
                found |= self._filter.unavailable(cycle, node.node)
        return sorted(found)

    # -- after the choice --------------------------------------------------------------------------------------------

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        cycle = self._of_cycle(state, pod)
        if isinstance(cycle, Status):
            return cycle
        if not any(cycle.to_allocate()):
            return None
        allocation = self._on_node(state, cycle, pod, node_name)
        if allocation is None:
            return error(ERR_NO_ALLOCATION)
        self._filter.forget(pod)
        try:
            self._take(cycle, allocation, node_name)
        except AllocationFault as fault:
            return error(str(fault))
        return None

    def _take(self, cycle: CycleClaims, allocation: NodeAllocation, node_name: str) -> None:
        """The devices belong to the claims from now on."""
        cycle.chosen = allocation
        for (index, claim), prepared, found in zip(
            cycle.to_allocate(), allocation.claims, allocation.found, strict=False
        ):
            made = allocation_of(prepared, found, node_name, self._features, self._new_share_id)
            cycle.allocations[index] = made
            self._tracker.signal(claim.metadata.uid, made)

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """May come again, and also when nothing was reserved."""
        cycle = state.read(STATE_KEY, CycleClaims)
        if cycle is None:
            return
        for claim in cycle.own_claims:
            if self._tracker.release(claim.metadata.uid):
                self._tracker.restore(api.key(claim))
            if claim.status.allocation is not None and is_reserved_for(claim, pod.pod):
                self._binder.unreserve(claim, pod.pod)
        self._unreserve_extended(cycle, pod.pod)
        cycle.allocations.clear()

    def pre_bind_pre_flight(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        cycle = state.read(STATE_KEY, CycleClaims)
        if cycle is None:
            return error(ERR_NO_STATE)
        return SKIP if cycle.is_empty else None

    async def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        cycle = state.read(STATE_KEY, CycleClaims)
        if cycle is None:
            return error(ERR_NO_STATE)
        try:
            await self._binder.bind(cycle, pod.pod, node_name)
        except BindingFault as fault:
            return error(str(fault))
        return None

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        return self._hints.events()

    # -- inside ------------------------------------------------------------------------------------------------------

    def _of_cycle(self, state: CycleState, pod: PodInfo) -> CycleClaims | Status:
        cycle = state.read(STATE_KEY, CycleClaims)
        if cycle is None:
            status = self.pre_filter(state, pod, ())
            if status is not None and status != SKIP:
                return status
            cycle = state.read(STATE_KEY, CycleClaims)
        return error(ERR_NO_STATE) if cycle is None else cycle

    def _on_node(self, state: CycleState, cycle: CycleClaims, pod: PodInfo, node_name: str) -> NodeAllocation | None:
        """The devices that Filter finds on the node; it was not asked where only the nominated node was looked at."""
        node = self._nodes.get(node_name)
        if node is not None:
            try:
                self.filter(state, pod, node)
            except CyclePostponed as postponed:
                # The pod is assumed by now. It is tried again, and finds the answer then.
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
        """A new share id in the form of a UUID."""
        digits = "".join("0123456789abcdef"[self._rng.randrange(16)] for _ in range(32))
        return "-".join((digits[:8], digits[8:12], f"4{digits[13:16]}", f"8{digits[17:20]}", digits[20:]))


def _nodes_rejected_for(statuses: Statuses, plugin: str) -> Iterable[str]:
    for status, names in statuses.groups.items():
        if status.plugin == plugin and status.reasons == (REASON_NOT_AVAILABLE,):
            yield from names


class NothingAllocated(ScoreKernel):
    """A pod without claims scores 0 everywhere."""

    depends = Depends.NODE

    def __init__(self, view: NodesView) -> None:
        self._view = view

    def rows(self, rows: Rows) -> IntColumn:
        return np.zeros(len(self._view.alive[rows]), np.int64)

    def row(self, row: int) -> int:
        return 0


class ClaimHints:
    """Hints for pods that wait for devices: claims and pods are looked at; nodes, classes and slices always help."""

    def __init__(self, claims: Claims) -> None:
        self._claims = claims

    def events(self) -> tuple[ClusterEventWithHint, ...]:
        add, update = ActionType.ADD, ActionType.UPDATE
        nodes = add | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_ALLOCATABLE
        generated = ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM
        return (
            ClusterEventWithHint(ClusterEvent(EventResource.NODE, nodes)),
            ClusterEventWithHint(ClusterEvent(EventResource.RESOURCE_CLAIM, add | update), self.after_claim_change),
            ClusterEventWithHint(ClusterEvent(EventResource.POD, generated), self.after_pod_change),
            ClusterEventWithHint(ClusterEvent(EventResource.DEVICE_CLASS, add | update)),
            ClusterEventWithHint(ClusterEvent(EventResource.RESOURCE_SLICE, add | update)),
        )

    def after_claim_change(self, waiting: api.Pod, old: object, new: object) -> QueueingHint:
        """Devices that were given back help everybody, other changes only the pods that use the claim."""
        before, after = changed(api.ResourceClaim, old, new)
        try:
            uses = any(c.metadata.uid == after.metadata.uid for c in pod_claims(waiting, self._claims))
        except ClaimProblem:
            return QueueingHint.SKIP
        if before is not None and before.status.allocation is not None and after.status.allocation is None:
            return QueueingHint.QUEUE
        if not uses:
            return QueueingHint.SKIP
        relevant = before is None or before.status != after.status
        return QueueingHint.QUEUE if relevant else QueueingHint.SKIP

    def after_pod_change(self, waiting: api.Pod, old: object, new: object) -> QueueingHint:
        """The pod got the names of its claims."""
        _, pod = changed(api.Pod, None, new)
        if pod.metadata.uid != waiting.metadata.uid:
            return QueueingHint.SKIP
        try:
            pod_claims(pod, self._claims)
        except ClaimProblem:
            return QueueingHint.SKIP
        return QueueingHint.QUEUE
