# SPDX-License-Identifier: Apache-2.0
"""The plugin class: delegates to `filtering`, `scoring` and `hints`."""

from __future__ import annotations

from collections.abc import Sequence

from steersman.config import InterPodAffinityArgs
from steersman.framework import (
    SKIP,
    ClusterEventWithHint,
    ColumnarFilter,
    ColumnarScore,
    CycleState,
    EnqueueExtensions,
    FilterPlugin,
    Handle,
    NodeInfo,
    NodeScore,
    NodesView,
    PodInfo,
    PreFilterPlugin,
    PreScorePlugin,
    RejectedPodKernel,
    ScorePlugin,
    Status,
    StatusTable,
    error,
    unresolvable,
)
from steersman.scheduler.plugins.inter_pod_affinity.filtering import (
    FilterState,
    RequiredTermsKernel,
    check,
    fill_counts,
)
from steersman.scheduler.plugins.inter_pod_affinity.hints import registered_events
from steersman.scheduler.plugins.inter_pod_affinity.scoring import (
    PreferredTermsKernel,
    ScoreState,
    fill_scores,
    scale_between_worst_and_best,
    score_of,
)
from steersman.scheduler.plugins.inter_pod_affinity.terms import labels_of_namespace, with_selected_namespaces

FILTER_STATE_KEY = "PreFilterInterPodAffinity"
SCORE_STATE_KEY = "PreScoreInterPodAffinity"

_NO_FILTER_STATE = error(f'error reading "{FILTER_STATE_KEY}" from cycleState: not found')
_NO_SCORE_STATE = error(f'failed to read "{SCORE_STATE_KEY}" from cycleState: not found')


class InterPodAffinity(
    PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin, EnqueueExtensions, ColumnarFilter, ColumnarScore
):
    """Keeps pods near, or apart from, pods with certain labels."""

    name = "InterPodAffinity"
    filters_by_cluster = True

    def __init__(self, args: InterPodAffinityArgs, handle: Handle) -> None:
        self._args = args
        self._handle = handle
        self.statuses = StatusTable()

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status | None:
        if pod.shape.affinity_error:
            return _refusal(pod)
        objects = self._handle.objects
        counted = FilterState(
            pod=pod,
            namespace_labels=labels_of_namespace(pod.namespace, objects),
            affinity_terms=with_selected_namespaces(pod.shape.required_affinity, objects),
            anti_affinity_terms=with_selected_namespaces(pod.shape.required_anti_affinity, objects),
        )
        fill_counts(counted, nodes, self._handle.nodes.with_required_anti_affinity_pods())
        if counted.nothing_to_check:
            return SKIP
        state.write(FILTER_STATE_KEY, counted)
        return None

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> Status | None:
        return self._recount(state, added, node, 1)

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> Status | None:
        return self._recount(state, removed, node, -1)

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        counted = state.read(FILTER_STATE_KEY, FilterState)
        return _NO_FILTER_STATE if counted is None else check(counted, node)

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status | None:
        if pod.shape.affinity_error:
            return error(f"failed to parse pod: {pod.shape.affinity_error}")
        liked = self._fresh_score_state(pod)
        if self._args.ignore_preferred_terms_of_existing_pods and not liked.has_preferences:
            return SKIP
        # Pods on filtered-out nodes count as well: their domain may contain a feasible node.
        fill_scores(liked, self._handle.nodes.all(), self._handle.nodes.with_affinity_pods())
        if not liked.scores:
            return SKIP
        state.write(SCORE_STATE_KEY, liked)
        return None

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int | Status:
        liked = state.read(SCORE_STATE_KEY, ScoreState)
        return _NO_SCORE_STATE if liked is None else score_of(liked.scores, node)

    def normalize_scores(self, state: CycleState, pod: PodInfo, scores: Sequence[NodeScore]) -> Status | None:
        if state.read(SCORE_STATE_KEY, ScoreState) is None:
            return _NO_SCORE_STATE
        scale_between_worst_and_best(scores)
        return None

    def filter_fragment(self, pod: PodInfo) -> None:
        """Do not share kernels: they are cheap compared to their tables, which are shared."""

    def filter_kernel(self, pod: PodInfo, view: NodesView) -> RequiredTermsKernel | RejectedPodKernel:
        if pod.shape.affinity_error:
            return RejectedPodKernel(_refusal(pod), view, self.statuses)
        return RequiredTermsKernel(pod, view, self.statuses)

    def score_fragment(self, pod: PodInfo) -> None:
        """Return None: score kernels are not shared between pods, like the filter's kernels."""

    def score_kernel(self, pod: PodInfo, view: NodesView) -> PreferredTermsKernel | None:
        has_preferences = pod.shape.preferred_affinity or pod.shape.preferred_anti_affinity
        if self._args.ignore_preferred_terms_of_existing_pods and not has_preferences:
            return None
        return PreferredTermsKernel(pod, view, self._args)

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        return registered_events()

    def _recount(self, state: CycleState, other: PodInfo, node: NodeInfo, by: int) -> Status | None:
        counted = state.read(FILTER_STATE_KEY, FilterState)
        if counted is None:
            return _NO_FILTER_STATE
        counted.count_terms_of(other, node, by)
        counted.count_as_target(other, node, by)
        return None

    def _fresh_score_state(self, pod: PodInfo) -> ScoreState:
        objects = self._handle.objects
        return ScoreState(
            pod=pod,
            namespace_labels=labels_of_namespace(pod.namespace, objects),
            affinity_terms=with_selected_namespaces(pod.shape.preferred_affinity, objects),
            anti_affinity_terms=with_selected_namespaces(pod.shape.preferred_anti_affinity, objects),
            hard_pod_affinity_weight=self._args.hard_pod_affinity_weight,
        )


def _refusal(pod: PodInfo) -> Status:
    return unresolvable(f"parsing pod: {pod.shape.affinity_error}")
