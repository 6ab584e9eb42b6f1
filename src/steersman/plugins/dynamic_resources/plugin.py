"""The plugin: see the package's text for what it covers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from steersman import api
from steersman.framework.columns import ColumnarScore, Depends, ScoreKernel
from steersman.framework.cycle_state import CycleState
from steersman.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource, QueueingHint
from steersman.framework.handle import Handle
from steersman.framework.hints import changed
from steersman.framework.node_info import NodeInfo
from steersman.framework.nodes_view import IntColumn, NodesView, Rows
from steersman.framework.plugin import (
    EnqueueExtensions,
    FilterPlugin,
    PostFilterPlugin,
    PostFilterResult,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    ReservePlugin,
    ScorePlugin,
)
from steersman.framework.pod_info import PodInfo
from steersman.framework.pod_resources import is_extended
from steersman.framework.status import SKIP, Status, error, unresolvable, unschedulable
from steersman.plugins.dynamic_resources.claims import ClaimProblem, pod_claims

REASON_NO_NEW_CLAIMS = "no new claims to deallocate"
REASON_NO_ALLOCATOR = "pod has resource claims, which this version of Steersman cannot allocate"
ERR_NO_STATE = "not found"

_STATE_KEY = "PreFilterDynamicResources"
_DEVICE_CLASS_PREFIX = "deviceclass.resource.kubernetes.io/"


class NoClaims:
    """PreFilter's note that it looked at the pod and found nothing to allocate."""


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

    def __init__(self, args: object, handle: Handle) -> None:
        self._objects = handle.objects

    # -- phases ------------------------------------------------------------------------------------------------------

    def pre_enqueue(self, pod: PodInfo | api.Pod) -> Status | None:
        try:
            pod_claims(pod.pod if isinstance(pod, PodInfo) else pod, self._objects)
        except ClaimProblem as problem:
            return unresolvable(str(problem))
        return None

    def concerns(self, pod: PodInfo) -> bool:
        """Whether the pod may have anything to allocate."""
        return bool(pod.spec.resource_claims) or any(map(_may_be_device, pod.shape.requests))

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status | None:
        state.write(_STATE_KEY, NoClaims())
        try:
            claims = pod_claims(pod.pod, self._objects)
        except ClaimProblem as problem:
            return unresolvable(str(problem))
        return unresolvable(REASON_NO_ALLOCATOR) if claims or self._wants_devices(pod) else SKIP

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        """PreFilter either skips the pod or rejects it: no node is ever examined."""
        return None

    def post_filter(self, state: CycleState, pod: PodInfo, statuses: object) -> tuple[PostFilterResult | None, Status]:
        if state.read(_STATE_KEY, NoClaims) is None:
            return None, error(ERR_NO_STATE)
        return None, unschedulable(REASON_NO_NEW_CLAIMS)

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        return 0

    def score_fragment(self, pod: PodInfo) -> Hashable:
        return "no claims"

    def score_kernel(self, pod: PodInfo, view: NodesView) -> ScoreKernel:
        return NothingAllocated(view)

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Nothing was allocated."""
        return None

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Nothing was reserved."""

    def pre_bind_pre_flight(self, state: CycleState, pod: PodInfo, node_name: str) -> Status:
        return SKIP

    def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Never asked: the pre-flight says Skip."""
        return None

    def _wants_devices(self, pod: PodInfo) -> bool:
        """Whether an extended resource that the pod requests is backed by a DeviceClass."""
        wanted = {name for name in pod.shape.requests if _may_be_device(name)}
        if not wanted:
            return False
        classes = self._objects.list(api.DeviceClass)
        offered = {c.spec.extended_resource_name for c in classes}
        offered |= {f"{_DEVICE_CLASS_PREFIX}{c.metadata.name}" for c in classes}
        return not wanted.isdisjoint(offered)

    # -- when to try again -------------------------------------------------------------------------------------------

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
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
        before, after = changed(api.ResourceClaim, old, new)
        try:
            uses = any(c.metadata.uid == after.metadata.uid for c in pod_claims(waiting, self._objects))
        except ClaimProblem:
            return QueueingHint.SKIP
        if before is not None and before.status.allocation is not None and after.status.allocation is None:
            return QueueingHint.QUEUE
        if not uses:
            return QueueingHint.SKIP
        relevant = before is None or before.status != after.status
        return QueueingHint.QUEUE if relevant else QueueingHint.SKIP

    def after_pod_change(self, waiting: api.Pod, old: object, new: object) -> QueueingHint:
        _, pod = changed(api.Pod, None, new)
        if pod.metadata.uid != waiting.metadata.uid:
            return QueueingHint.SKIP
        try:
            pod_claims(pod, self._objects)
        except ClaimProblem:
            return QueueingHint.SKIP
        return QueueingHint.QUEUE


class NothingAllocated(ScoreKernel):
    """A pod without claims scores 0 everywhere."""

    depends = Depends.NODE

    def __init__(self, view: NodesView) -> None:
        self._view = view

    def rows(self, rows: Rows) -> IntColumn:
        return np.zeros(len(self._view.alive[rows]), np.int64)

    def row(self, row: int) -> int:
        return 0


def _may_be_device(resource: str) -> bool:
    return is_extended(resource) or resource.startswith(_DEVICE_CLASS_PREFIX)
