# SPDX-License-Identifier: Apache-2.0
"""The preferred terms: how much each topology domain is liked.

PreScore adds up weights per topology key and value: those of the pod's own terms for every pod that matches them, and
those of the terms of running pods that the pod being scheduled matches; anti-affinity counts negative. The score of a
node is the sum over its domains, scaled to 0..100 between the worst and the best node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from steersman.framework.node_info import NodeInfo
from steersman.framework.plugin import MAX_NODE_SCORE, NodeScore
from steersman.framework.pod_info import AffinityTerm, PodInfo
from steersman.plugins.inter_pod_affinity.namespaces import NO_LABELS

TopologyScores: TypeAlias = dict[str, dict[str, int]]
"""Topology key → value → sum of weights; a domain that no term speaks of has no entry."""


@dataclass(frozen=True, slots=True)
class ScoreState:
    """From PreScore to Score: the preferred terms of the pod being scheduled, and the weight of each domain."""

    pod: PodInfo
    namespace_labels: Mapping[str, str]
    #: Preferred terms of `pod` with their namespaces resolved.
    affinity_terms: tuple[AffinityTerm, ...]
    anti_affinity_terms: tuple[AffinityTerm, ...]
    hard_pod_affinity_weight: int
    scores: TopologyScores = field(default_factory=dict)

    @property
    def has_preferences(self) -> bool:
        return bool(self.affinity_terms or self.anti_affinity_terms)

    def count(self, existing: PodInfo, node: NodeInfo) -> None:
        """Adds what `existing`, on `node`, means to the pod being scheduled, and the other way round."""
        for term in self.affinity_terms:
            self._like(term, existing, NO_LABELS, node, term.weight)
        for term in self.anti_affinity_terms:
            self._like(term, existing, NO_LABELS, node, -term.weight)
        if self.hard_pod_affinity_weight > 0:
            for term in existing.shape.required_affinity:
                self._like(term, self.pod, self.namespace_labels, node, self.hard_pod_affinity_weight)
        for term in existing.shape.preferred_affinity:
            self._like(term, self.pod, self.namespace_labels, node, term.weight)
        for term in existing.shape.preferred_anti_affinity:
            self._like(term, self.pod, self.namespace_labels, node, -term.weight)

    def _like(
        self, term: AffinityTerm, target: PodInfo, namespace_labels: Mapping[str, str], node: NodeInfo, weight: int
    ) -> None:
        """Adds `weight` to the domain of `node`, if it is in one of the term's and the term speaks of `target`."""
        value = node.labels.get(term.topology_key)
        if value is not None and term.matches(target, namespace_labels):
            domains = self.scores.setdefault(term.topology_key, {})
            domains[value] = domains.get(value, 0) + weight


def fill_scores(state: ScoreState, nodes: Iterable[NodeInfo], nodes_with_affinity: Iterable[NodeInfo]) -> None:
    """Counts every pod that matters into a fresh state: all of them only if the pod has preferences of its own."""
    if state.has_preferences:
        for node in nodes:
            for existing in node.pods:
                state.count(existing, node)
        return
    for node in nodes_with_affinity:
        for existing in node.pods_with_affinity:
            state.count(existing, node)


def score_of(scores: TopologyScores, node: NodeInfo) -> int:
    return sum(domains.get(node.labels[key], 0) for key, domains in scores.items() if key in node.labels)


def scale_between_worst_and_best(scores: Sequence[NodeScore]) -> None:
    """Scales in place to 0..100; all nodes get 0 when they are equally good."""
    worst = min((entry.score for entry in scores), default=0)
    span = max((entry.score for entry in scores), default=0) - worst
    for entry in scores:
        share = float(entry.score - worst) / float(span) if span > 0 else 0.0
        entry.score = int(float(MAX_NODE_SCORE) * share)
