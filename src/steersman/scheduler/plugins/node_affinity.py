# SPDX-License-Identifier: Apache-2.0
"""NodeAffinity: places pods on nodes with the required and preferred labels.

PreFilter compiles the pod's requirements. It skips the plugin without any, and restricts the nodes
if the pod names them, as DaemonSet pods do. Filter requires a match of `spec.nodeSelector`, the
required node affinity and the configuration's added affinity. Score sums the weights of matching
preferred terms of both. The vector form: `node_affinity_columns`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from steersman import api
from steersman.api import NAME_FIELD, AnyTerm, Operator, PreferredTerms, RequiredNodeAffinity, node_selectors
from steersman.base import InputError
from steersman.config import NodeAffinityArgs
from steersman.framework import (
    MAX_NODE_SCORE,
    MAX_RAW_SCORE,
    SKIP,
    ActionType,
    BrokenScoreKernel,
    ClusterEvent,
    ClusterEventWithHint,
    ClusterScoreKernel,
    ColumnarFilter,
    ColumnarScore,
    CycleState,
    EnqueueExtensions,
    EventResource,
    FilterKernel,
    FilterPlugin,
    Handle,
    NodeInfo,
    NodeScore,
    NodesView,
    PodInfo,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    QueueingHint,
    ScoreKernel,
    ScorePlugin,
    Status,
    StatusTable,
    changed,
    default_normalize_score,
    error,
    fault,
    unresolvable,
)
from steersman.scheduler.plugins.node_affinity_columns import (
    EVERYTHING,
    Alternatives,
    Preferences,
    PreferredNodes,
    UnboundedPreferences,
    UnmetDemands,
    alternatives,
    demand,
    preferences,
)

ERR_REASON_POD = "node(s) didn't match Pod's node affinity/selector"
ERR_REASON_ENFORCED = "node(s) didn't match scheduler-enforced node affinity"
ERR_REASON_CONFLICT = "pod affinity terms conflict"
FILTER_STATE_KEY = "PreFilterNodeAffinity"
SCORE_STATE_KEY = "PreScoreNodeAffinity"


class NodeAffinity(
    PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin, ColumnarFilter, ColumnarScore, EnqueueExtensions
):
    """Rejects nodes by required node affinity and scores the others by preferred terms."""

    name = "NodeAffinity"

    def __init__(self, args: NodeAffinityArgs, handle: Handle) -> None:
        added = args.added_affinity or api.NodeAffinity()
        self._added_required = _added_required(added)
        self._added_preferred = _added_preferred(added)
        self.statuses = StatusTable()

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> PreFilterResult | Status | None:
        selector = _required_selector(pod.spec)
        if selector is None and self._added_required is None and not pod.spec.node_selector:
            return SKIP
        state.write(FILTER_STATE_KEY, node_selectors.required(pod.pod))
        names = None if selector is None else only_node_names(selector)
        if names is None:
            return None
        return PreFilterResult(names) if names else unresolvable(ERR_REASON_CONFLICT)

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        if self._added_required is not None and not self._added_required.matches(node.labels, node.name):
            return unresolvable(ERR_REASON_ENFORCED)
        demanded = state.read(FILTER_STATE_KEY, RequiredNodeAffinity) or node_selectors.required(pod.pod)
        return None if demanded.matches(node.labels, node.name) else unresolvable(ERR_REASON_POD)

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status | None:
        if not _preferred_terms(pod.spec) and self._added_preferred is None:
            return SKIP
        try:
            state.write(SCORE_STATE_KEY, node_selectors.preferred(_preferred_terms(pod.spec)))
        except InputError as unusable:
            return error(str(unusable))
        return None

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int | Status:
        preferred = state.read(SCORE_STATE_KEY, PreferredTerms)
        if preferred is None:
            try:
                preferred = node_selectors.preferred(_preferred_terms(pod.spec))
            except InputError as unusable:
                return error(str(unusable))
        added = 0 if self._added_preferred is None else self._added_preferred.score(node.labels, node.name)
        return added + preferred.score(node.labels, node.name)

    def normalize_scores(self, state: CycleState, pod: PodInfo, scores: Sequence[NodeScore]) -> Status | None:
        default_normalize_score(MAX_NODE_SCORE, False, scores)
        return None

    def filter_fragment(self, pod: PodInfo) -> Alternatives:
        selector = _required_selector(pod.spec)
        restricted = selector is not None and only_node_names(selector) is not None
        return demand(node_selectors.required(pod.pod), restricted)

    def filter_kernel(self, pod: PodInfo, view: NodesView) -> FilterKernel | None:
        demands: list[tuple[Alternatives, int]] = []
        if self._added_required is not None:
            enforced = self.statuses.id_of(unresolvable(ERR_REASON_ENFORCED))
            demands.append((alternatives(self._added_required), enforced))
        demanded = self.filter_fragment(pod)
        if demanded != EVERYTHING:
            demands.append((demanded, self.statuses.id_of(unresolvable(ERR_REASON_POD))))
        return UnmetDemands(view, demands) if demands else None

    def score_fragment(self, pod: PodInfo) -> Preferences | str | None:
        """Return the preferred terms, an error message, or None without preferred terms."""
        if not _preferred_terms(pod.spec) and self._added_preferred is None:
            return None
        try:
            return preferences(node_selectors.preferred(_preferred_terms(pod.spec)), self._added_preferred)
        except InputError as unusable:
            return str(unusable)

    def score_kernel(self, pod: PodInfo, view: NodesView) -> ScoreKernel | ClusterScoreKernel | None:
        preferred = self.score_fragment(pod)
        if preferred is None:
            return None
        if isinstance(preferred, str):
            return BrokenScoreKernel(fault("PreScore", self.name, preferred))
        weights = [weight for _, weight in preferred]
        if min(weights, default=0) < 0 or sum(weights) > MAX_RAW_SCORE:
            return UnboundedPreferences(view, preferred, self.name)
        return PreferredNodes(view, preferred)

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        node_event = ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL)
        return (ClusterEventWithHint(node_event, self.after_node_change),)

    def after_node_change(self, waiting: api.Pod, old: object, new: object) -> QueueingHint:
        """Queue if the node matches now and is new or did not match the pod before."""
        before, now = changed(api.Node, old, new)
        if self._added_required is not None and not self._added_required.matches(*_seen(now)):
            return QueueingHint.SKIP
        demanded = node_selectors.required(waiting)
        if not _admits(demanded, now) or (before is not None and _admits(demanded, before)):
            return QueueingHint.SKIP
        return QueueingHint.QUEUE


def only_node_names(selector: api.NodeSelector) -> frozenset[str] | None:
    """Return the only node names that the selector can match, or None if names do not limit it."""
    per_term = [_names_of(term) for term in selector.node_selector_terms]
    named = [names for names in per_term if names is not None]
    if not named or len(named) < len(per_term):
        return None
    return frozenset().union(*named)


def _names_of(term: api.NodeSelectorTerm) -> frozenset[str] | None:
    """Return the names common to all name requirements of the term, or None without any."""
    per_requirement = [
        frozenset(requirement.values)
        for requirement in term.match_fields
        if requirement.key == NAME_FIELD and requirement.operator == Operator.IN
    ]
    return reduce(frozenset.intersection, per_requirement) if per_requirement else None


def _admits(demanded: RequiredNodeAffinity, node: api.Node) -> bool:
    """Return whether the node matches; raise `InputError` if this depends on an invalid term."""
    labels, name = _seen(node)
    if demanded.matches(labels, name):
        return True
    selector = demanded.node_selector
    if selector is not None and selector.error is not None and demanded.labels.matches(labels):
        raise InputError(selector.error)
    return False


def _seen(node: api.Node) -> tuple[dict[str, str], str]:
    return node.metadata.labels, node.metadata.name


def _required_selector(spec: api.PodSpec) -> api.NodeSelector | None:
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    return affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None


def _preferred_terms(spec: api.PodSpec) -> tuple[api.PreferredSchedulingTerm, ...]:
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    return affinity.preferred_during_scheduling_ignored_during_execution if affinity is not None else ()


def _added_required(added: api.NodeAffinity) -> AnyTerm | None:
    selector = added.required_during_scheduling_ignored_during_execution
    return None if selector is None else node_selectors.strict(selector)


def _added_preferred(added: api.NodeAffinity) -> PreferredTerms | None:
    terms = added.preferred_during_scheduling_ignored_during_execution
    return node_selectors.preferred(terms) if terms else None
