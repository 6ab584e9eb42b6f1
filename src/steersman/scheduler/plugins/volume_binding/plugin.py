# SPDX-License-Identifier: Apache-2.0
"""The plugin's extension points.

PreFilter groups the claims, Filter checks one node, Reserve assumes Filter's results, PreBind
writes and waits. If the vector form ran instead of Filter, Reserve runs Filter for the chosen node.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import msgspec

from steersman.api import PersistentVolumeClaim, Pod, StorageClass
from steersman.base import CacheSpec, Memo
from steersman.config import VolumeBindingArgs
from steersman.framework import (
    SKIP,
    ClusterEventWithHint,
    ClusterFilterKernel,
    ClusterScoreKernel,
    ColumnarFilter,
    ColumnarScore,
    CycleState,
    EnqueueExtensions,
    FilterPlugin,
    NodeInfo,
    NodesView,
    PodInfo,
    PreBindHandle,
    PreBindPlugin,
    PreFilterPlugin,
    PreScorePlugin,
    ReservePlugin,
    ScoreKernel,
    ScorePlugin,
    Status,
    StatusTable,
    ZeroScores,
    error,
    unresolvable,
)
from steersman.scheduler.plugins.volume_binding.assume_cache import AssumedObjects, AssumedVolumes
from steersman.scheduler.plugins.volume_binding.binding import VolumeBinder
from steersman.scheduler.plugins.volume_binding.claims import (
    PodClaims,
    VolumeFault,
    all_bound,
    prepare,
)
from steersman.scheduler.plugins.volume_binding.columns import ScoredRows, UsableRows
from steersman.scheduler.plugins.volume_binding.hints import registered_events
from steersman.scheduler.plugins.volume_binding.row_finder import RowFinder
from steersman.scheduler.plugins.volume_binding.scoring import CapacityScorer
from steersman.scheduler.plugins.volume_binding.volume_finder import PodVolumes, VolumeFinder

ERR_NO_VOLUMES_FOR_NODE = 'no pod volume found for node "{}"'
VOLUMES_STATE_KEY = "VolumeBinding"


class CycleVolumes(msgspec.Struct):
    """The volumes of one pod, passed from PreFilter to PreBind. What-if evaluations share them,
    because they do not depend on the pods on a node."""

    claims: PodClaims = msgspec.field(default_factory=PodClaims)
    #: The bindings and provisions for each node that passed the filter.
    by_node: dict[str, PodVolumes] = msgspec.field(default_factory=dict)
    #: All claims are bound: there is nothing to write or wait for.
    all_bound: bool = False


PREPARED_CLAIMS = CacheSpec(
    name="claims of the latest pod",
    attributes=("VolumeBinding._prepared",),
    contents="the pod's claims, or the reason for rejecting them",
    key="the pod object",
    invalidation="version of the assumed claims and volumes (`Memo`)",
    limit="one pod",
    reference="`prepare` of the pod",
    checked_by="tests/plugins/volume_binding/test_claims_of_a_pod.py",
)


class VolumeBinding(
    PreFilterPlugin,
    FilterPlugin,
    ColumnarFilter,
    PreScorePlugin,
    ScorePlugin,
    ColumnarScore,
    ReservePlugin,
    PreBindPlugin,
    EnqueueExtensions,
):
    """Rejects nodes where the pod's volumes are not available, and binds them."""

    name = "VolumeBinding"
    filters_by_cluster = True
    reads_claims = True

    def __init__(self, args: VolumeBindingArgs, handle: PreBindHandle) -> None:
        self._objects = handle.objects
        self._nodes = handle.nodes
        self._claims = AssumedObjects(PersistentVolumeClaim, handle.objects)
        self._volumes = AssumedVolumes(handle.objects)
        self.finder = VolumeFinder(handle.objects, self._volumes)
        self._binder = VolumeBinder(handle, self._claims, self._volumes, self.finder, args.bind_timeout_seconds)
        scores = handle.gates.enabled("StorageCapacityScoring")
        self._scorer = CapacityScorer(args.shape or ()) if scores else None
        self.statuses = StatusTable()
        self._rows: RowFinder | None = None
        #: The last result of `_prepare` with its pod, a reference that keeps the pod's id unique.
        self._prepared: Memo[tuple[Pod, PodClaims | Status]] = Memo()

    def concerns(self, pod: PodInfo) -> bool:
        """Return whether there is anything to bind. Pods without claims still score 0."""
        return pod.shape.has_claims

    # -- scheduling cycle --------------------------------------------------------------------------------------------

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status | None:
        if not pod.shape.has_claims:
            state.write(VOLUMES_STATE_KEY, CycleVolumes())
            return SKIP
        claims = self._prepare(pod)
        if isinstance(claims, Status):
            return claims
        state.write(VOLUMES_STATE_KEY, CycleVolumes(claims))
        return None

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        volumes = state.read(VOLUMES_STATE_KEY, CycleVolumes)
        if volumes is None:
            return error("not found")
        try:
            found = self.finder.find(volumes.claims, node.node)
        except VolumeFault as problem:
            return error(str(problem))
        if not isinstance(found, PodVolumes):
            return unresolvable(*found)
        volumes.by_node[node.name] = found
        return None

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status | None:
        return SKIP if self._scorer is None else None

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        volumes = state.read(VOLUMES_STATE_KEY, CycleVolumes)
        found = volumes.by_node.get(node.name) if volumes is not None else None
        return 0 if self._scorer is None or found is None else self._scorer.score(found)

    # -- the vector form ---------------------------------------------------------------------------------------------

    def filter_fragment(self, pod: PodInfo) -> None:
        return None

    def filter_kernel(self, pod: PodInfo, view: NodesView) -> ClusterFilterKernel | None:
        if not pod.shape.has_claims:
            return None
        return UsableRows(
            prepare=lambda: self._prepare(pod),
            believed=self._believed,
            rows=self._row_finder(view),
            objects=self._objects,
            statuses=self.statuses,
        )

    def score_fragment(self, pod: PodInfo) -> Hashable:
        return None if pod.shape.has_claims or self._scorer is None else "no claims"

    def score_kernel(self, pod: PodInfo, view: NodesView) -> ScoreKernel | ClusterScoreKernel | None:
        if self._scorer is None:
            return None
        if not pod.shape.has_claims:
            return ZeroScores(view)
        return ScoredRows(lambda row: self._score_row(pod, view, row), view.capacity)

    def _row_finder(self, view: NodesView) -> RowFinder:
        rows = self._rows
        if rows is None or rows.view is not view or rows.generation != view.generation:
            rows = self._rows = RowFinder(view, self._objects, self._volumes, self.finder)
        return rows

    def _score_row(self, pod: PodInfo, view: NodesView, row: int) -> int:
        """Return the score of one row by running Filter and Score."""
        state, node = CycleState(), view.info(row)
        if self.pre_filter(state, pod, ()) is None:
            self.filter(state, pod, node)
        return self.score(state, pod, node)

    # -- Reserve and PreBind -----------------------------------------------------------------------------------------

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        if not pod.shape.has_claims:
            return None
        volumes = self._volumes_of_cycle(state, pod, node_name)
        if isinstance(volumes, Status):
            return volumes
        volumes.all_bound = all_bound(pod.pod, self._claims)
        if volumes.all_bound:
            return None
        try:
            self._binder.assume(volumes.by_node[node_name], node_name)
        except VolumeFault as problem:
            return error(str(problem))
        return None

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Revert the assumed objects, if any. Idempotent."""
        volumes = state.read(VOLUMES_STATE_KEY, CycleVolumes)
        if volumes is not None and node_name in volumes.by_node:
            self._binder.revert(volumes.by_node[node_name])

    def pre_bind_pre_flight(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        if not pod.shape.has_claims:
            return SKIP
        volumes = state.read(VOLUMES_STATE_KEY, CycleVolumes)
        if volumes is not None and volumes.all_bound:
            return SKIP
        return (
            None if self._to_bind(volumes, node_name) is not None else error(ERR_NO_VOLUMES_FOR_NODE.format(node_name))
        )

    async def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        volumes = state.read(VOLUMES_STATE_KEY, CycleVolumes)
        if not pod.shape.has_claims or (volumes is not None and volumes.all_bound):
            return None
        assumed = self._to_bind(volumes, node_name)
        if assumed is None:
            return error(ERR_NO_VOLUMES_FOR_NODE.format(node_name))
        try:
            await self._binder.bind(pod, node_name, assumed)
        except VolumeFault as problem:
            return error(str(problem))
        return None

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        return registered_events()

    # -- internals ---------------------------------------------------------------------------------------------------

    def _believed(self) -> Hashable:
        return self._claims.version, self._volumes.version, self._objects.version(StorageClass)

    def _prepare(self, pod: PodInfo) -> PodClaims | Status:
        """Return the pod's claims, cached from Filter to Reserve unless something has changed."""
        as_of = (id(pod.pod), self._believed())
        return self._prepared.get(as_of, lambda: (pod.pod, prepare(pod.pod, self._claims, self._objects)))[1]

    def _volumes_of_cycle(self, state: CycleState, pod: PodInfo, node_name: str) -> CycleVolumes | Status:
        """Return the volumes of the cycle, including those for the chosen node."""
        if state.read(VOLUMES_STATE_KEY, CycleVolumes) is None:
            status = self.pre_filter(state, pod, ())
            if status is not None:
                return status
        volumes = state.read(VOLUMES_STATE_KEY, CycleVolumes)
        node = self._nodes.get(node_name)
        if volumes is None or node is None:
            return error(ERR_NO_VOLUMES_FOR_NODE.format(node_name))
        if node_name not in volumes.by_node:
            status = self.filter(state, pod, node)
            if status is not None:
                return status
        return volumes

    def _to_bind(self, volumes: CycleVolumes | None, node_name: str) -> PodVolumes | None:
        return None if volumes is None else volumes.by_node.get(node_name)
