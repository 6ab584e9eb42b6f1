# SPDX-License-Identifier: Apache-2.0
"""PodTopologySpread: spreads the pods that match a constraint evenly over topology domains.

This module has the extension points; `constraints` finds the pod's constraints, `filtering` and
`scoring` have the counts and rules, `hints` the requeue decisions. The vector form of the filter is
beside the scalar one. The score has two vector forms with equal results: `row_scores` computes row
by row from the counts of `state`, `score_classes` once per class of equal rows, the usual case.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from functools import cached_property
from typing import Final

from steersman.api import Pod
from steersman.base import InputError
from steersman.config import DefaultingType, PodTopologySpreadArgs
from steersman.framework import (
    SKIP,
    ActionType,
    AnyIntColumn,
    BrokenScoreKernel,
    ClusterEvent,
    ClusterEventWithHint,
    ColumnarFilter,
    ColumnarScore,
    CycleState,
    EnqueueExtensions,
    EventResource,
    Feasible,
    FilterPlugin,
    GroupingScoreKernel,
    Handle,
    IntColumn,
    NodeInfo,
    NodeScore,
    NodesView,
    PerPodFragment,
    PodInfo,
    PreFilterPlugin,
    PreScorePlugin,
    RejectedPodKernel,
    RowFeature,
    ScorePlugin,
    Status,
    StatusTable,
    error,
    fault,
)
from steersman.scheduler.plugins.pod_topology_spread.constraints import (
    DO_NOT_SCHEDULE,
    SCHEDULE_ANYWAY,
    SYSTEM_DEFAULT_CONSTRAINTS,
    ConstraintSource,
    SpreadConstraint,
)
from steersman.scheduler.plugins.pod_topology_spread.default_selector import DefaultSelectorCache
from steersman.scheduler.plugins.pod_topology_spread.filtering import HardConstraintsKernel, SpreadCounts
from steersman.scheduler.plugins.pod_topology_spread.hints import SpreadHints
from steersman.scheduler.plugins.pod_topology_spread.row_scores import SoftConstraints, SpreadRowScores
from steersman.scheduler.plugins.pod_topology_spread.score_classes import MAX_WEIGHT, ScoreClasses
from steersman.scheduler.plugins.pod_topology_spread.scoring import DomainScores

PRE_FILTER_KEY: Final = "PreFilterPodTopologySpread"
PRE_SCORE_KEY: Final = "PreScorePodTopologySpread"
ERR_NO_PRE_FILTER: Final = f'reading "{PRE_FILTER_KEY}" from cycleState: not found'
ERR_NO_PRE_SCORE: Final = f'error reading "{PRE_SCORE_KEY}" from cycleState: not found'
_POD_CHANGES: Final = (
    ActionType.ADD | ActionType.DELETE | ActionType.UPDATE_POD_LABEL | ActionType.UPDATE_POD_TOLERATION
)
_NODE_CHANGES: Final = ActionType.ADD | ActionType.DELETE | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_TAINT


class PodTopologySpread(
    PreFilterPlugin,
    FilterPlugin,
    PreScorePlugin,
    ScorePlugin,
    EnqueueExtensions,
    ColumnarFilter,
    ColumnarScore,
    PerPodFragment,
):
    """Rejects nodes whose domain would become too full; prefers nodes in emptier domains."""

    name = "PodTopologySpread"
    filters_by_cluster = True

    def __init__(self, args: PodTopologySpreadArgs, handle: Handle) -> None:
        self._system_defaults = args.defaulting_type == DefaultingType.SYSTEM
        defaults = SYSTEM_DEFAULT_CONSTRAINTS if self._system_defaults else args.default_constraints
        self._source = ConstraintSource(defaults, handle.objects, handle.gates)
        self._default_selectors = DefaultSelectorCache(handle.objects) if defaults else None
        self._hints = SpreadHints(self._source)
        self._handle = handle
        self.statuses = StatusTable()

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status | None:
        try:
            constraints = self._source.constraints(pod.pod, DO_NOT_SCHEDULE)
        except InputError as wrong:
            return _wrong_hard_constraints(wrong)
        if not constraints:
            return SKIP
        counts = SpreadCounts(constraints, self._comparison_operators)
        counts.count(pod.pod, nodes)
        state.write(PRE_FILTER_KEY, counts)
        return None

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> Status | None:
        return self._update(state, pod, added, node, 1)

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> Status | None:
        return self._update(state, pod, removed, node, -1)

    def _update(self, state: CycleState, pod: PodInfo, changed: PodInfo, node: NodeInfo, delta: int) -> Status | None:
        counts = state.read(PRE_FILTER_KEY, SpreadCounts)
        if counts is None:
            return error(ERR_NO_PRE_FILTER)
        counts.update(pod.pod, changed, node, delta)
        return None

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        counts = state.read(PRE_FILTER_KEY, SpreadCounts)
        return error(ERR_NO_PRE_FILTER) if counts is None else counts.check(pod.labels, node)

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status | None:
        try:
            constraints = self._source.constraints(pod.pod, SCHEDULE_ANYWAY)
        except InputError as wrong:
            return _wrong_soft_constraints(wrong)
        if not constraints:
            return SKIP
        scores = DomainScores(constraints, nodes, require_all_keys=self._requires_all_keys(pod))
        scores.count(pod.pod, self._handle.nodes.all(), self._comparison_operators)
        state.write(PRE_SCORE_KEY, scores)
        return None

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int | Status:
        scores = state.read(PRE_SCORE_KEY, DomainScores)
        return error(ERR_NO_PRE_SCORE) if scores is None else scores.score(pod.pod, node)

    def normalize_scores(self, state: CycleState, pod: PodInfo, scores: Sequence[NodeScore]) -> Status | None:
        domains = state.read(PRE_SCORE_KEY, DomainScores)
        if domains is None:
            return error(ERR_NO_PRE_SCORE)
        domains.normalize(scores)
        return None

    def pod_fragment(self, pod: PodInfo) -> Hashable:
        """Return the labels that `matchLabelKeys` adds to own selectors, or the default one."""
        own = pod.shape.spec.topology_spread_constraints
        if own:
            labels = pod.labels
            return tuple([labels.get(key) for constraint in own for key in constraint.match_label_keys])
        return None if self._default_selectors is None else self._default_selectors.selector_of(pod)

    @property
    def fragment_kinds(self) -> Collection[type[object]]:
        return () if self._default_selectors is None else self._default_selectors.kinds

    def filter_fragment(self, pod: PodInfo) -> None:
        """Do not share kernels: they are cheap compared to their tables, which are shared."""

    def filter_kernel(self, pod: PodInfo, view: NodesView) -> HardConstraintsKernel | RejectedPodKernel | None:
        try:
            constraints = self._source.constraints(pod.pod, DO_NOT_SCHEDULE)
        except InputError as wrong:
            return RejectedPodKernel(_wrong_hard_constraints(wrong), view, self.statuses)
        if not constraints:
            return None
        operators = self._comparison_operators
        return HardConstraintsKernel(constraints, pod, view, self.statuses, comparison_operators=operators)

    def score_fragment(self, pod: PodInfo) -> None:
        """Return None: score kernels are not shared between pods, like the filter's kernels."""

    def score_kernel(self, pod: PodInfo, view: NodesView) -> SoftConstraintsKernel | BrokenScoreKernel | None:
        try:
            constraints = self._source.constraints(pod.pod, SCHEDULE_ANYWAY)
        except InputError as wrong:
            return BrokenScoreKernel(fault("PreScore", self.name, _wrong_soft_constraints(wrong).message))
        if not constraints:
            return None
        return SoftConstraintsKernel(
            constraints,
            pod.pod,
            view,
            require_all_keys=self._requires_all_keys(pod),
            comparison_operators=self._comparison_operators,
        )

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        return (
            ClusterEventWithHint(ClusterEvent(EventResource.POD, _POD_CHANGES), self._hints.after_pod_event),
            ClusterEventWithHint(ClusterEvent(EventResource.NODE, _NODE_CHANGES), self._hints.after_node_event),
        )

    def _requires_all_keys(self, pod: PodInfo) -> bool:
        """Return False for system defaults, which spread over hostnames even without zones."""
        return bool(pod.spec.topology_spread_constraints) or not self._system_defaults

    @property
    def _comparison_operators(self) -> bool:
        return self._handle.gates.enabled("TaintTolerationComparisonOperators")


def _wrong_hard_constraints(wrong: InputError) -> Status:
    return error(f"get constraints from pod: obtaining pod's hard topology spread constraints: {wrong}")


def _wrong_soft_constraints(wrong: InputError) -> Status:
    return error(f"calculating preScoreState: obtaining pod's soft topology spread constraints: {wrong}")


class SoftConstraintsKernel(GroupingScoreKernel):
    """All soft constraints of one pod, for all nodes at once. Counts on first use: pods that fit on
    one node only, such as those of a DaemonSet, are never scored."""

    def __init__(
        self,
        constraints: Sequence[SpreadConstraint],
        pod: Pod,
        view: NodesView,
        *,
        require_all_keys: bool,
        comparison_operators: bool,
    ) -> None:
        self._given = constraints
        self._pod = pod
        self._view = view
        self._require_all_keys = require_all_keys
        self._comparison_operators = comparison_operators

    def skipped(self, feasible: Feasible) -> bool:
        return False

    def raw(self, feasible: Feasible) -> IntColumn:
        return self._by_row.raw(feasible)

    def normalized(self, feasible: Feasible) -> AnyIntColumn | None:
        return self.weighted(feasible, 1)

    def weighted(self, feasible: Feasible, weight: int) -> AnyIntColumn | None:
        """Return weighted scores: multiplied by class where possible, or else by row."""
        classes = self._by_class
        inhabited = classes.inhabited(feasible) if abs(weight) <= MAX_WEIGHT else None
        if inhabited is not None:
            return classes.column(inhabited, weight)
        score = self._by_row.normalized(feasible)
        return None if score is None else score * weight

    def features(self) -> Sequence[RowFeature] | None:
        return self._by_class.features()

    def group_scores(self, groups: Sequence[tuple[int, ...]], counts: Sequence[int]) -> Sequence[int] | None:
        return self._by_class.group_scores(groups, counts)

    @cached_property
    def _constraints(self) -> SoftConstraints:
        return SoftConstraints(
            self._given,
            self._pod,
            self._view,
            require_all_keys=self._require_all_keys,
            comparison_operators=self._comparison_operators,
        )

    @cached_property
    def _by_row(self) -> SpreadRowScores:
        return SpreadRowScores(self._constraints)

    @cached_property
    def _by_class(self) -> ScoreClasses:
        return ScoreClasses(self._constraints)
