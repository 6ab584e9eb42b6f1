# SPDX-License-Identifier: Apache-2.0
"""The preferred terms: scores of topology domains.

PreScore adds up weights per topology key and value: the pod's own terms for each matching pod, and
existing pods' terms that match the pod; anti-affinity is negative. The score of a node is the sum
over its domains, scaled to 0..100 between the worst and the best node.

In the vector form `state` counts the matching pods per domain and term; the tables are weighted,
added up per topology, spread to the rows, and scaled between the worst and the best feasible row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

import msgspec
import numpy as np

from steersman.config import InterPodAffinityArgs
from steersman.framework import (
    MAX_NODE_SCORE,
    AffinityTerm,
    AnyIntColumn,
    Feasible,
    GroupingScoreKernel,
    IntColumn,
    NodeInfo,
    NodeScore,
    NodesView,
    PodInfo,
    RowFeature,
    TermKind,
    Topology,
)
from steersman.scheduler.plugins.inter_pod_affinity.groups import MIN_ROWS, TermFeatures, Weighted
from steersman.scheduler.plugins.inter_pod_affinity.terms import NO_LABELS, MatchingTerms, pods_of_terms

TopologyScores: TypeAlias = dict[str, dict[str, int]]
"""Topology key → value → sum of weights; domains without a matching term have no entry."""


class ScoreState(msgspec.Struct, frozen=True):
    """The preferred terms of the scheduled pod and the weights of domains, for Score."""

    pod: PodInfo
    namespace_labels: Mapping[str, str]
    #: Preferred terms of `pod` with their namespaces resolved.
    affinity_terms: tuple[AffinityTerm, ...]
    anti_affinity_terms: tuple[AffinityTerm, ...]
    hard_pod_affinity_weight: int
    scores: TopologyScores = msgspec.field(default_factory=dict)

    @property
    def has_preferences(self) -> bool:
        return bool(self.affinity_terms or self.anti_affinity_terms)

    def count(self, existing: PodInfo, node: NodeInfo) -> None:
        """Add the weights of matches between `existing`, on `node`, and the scheduled pod."""
        for term in self.affinity_terms:
            self._add_weight(term, existing, NO_LABELS, node, term.weight)
        for term in self.anti_affinity_terms:
            self._add_weight(term, existing, NO_LABELS, node, -term.weight)
        if self.hard_pod_affinity_weight > 0:
            for term in existing.shape.required_affinity:
                self._add_weight(term, self.pod, self.namespace_labels, node, self.hard_pod_affinity_weight)
        for term in existing.shape.preferred_affinity:
            self._add_weight(term, self.pod, self.namespace_labels, node, term.weight)
        for term in existing.shape.preferred_anti_affinity:
            self._add_weight(term, self.pod, self.namespace_labels, node, -term.weight)

    def _add_weight(
        self, term: AffinityTerm, target: PodInfo, namespace_labels: Mapping[str, str], node: NodeInfo, weight: int
    ) -> None:
        """Add `weight` to the term's domain of `node` if the term matches `target`."""
        value = node.labels.get(term.topology_key)
        if value is not None and term.matches(target, namespace_labels):
            domains = self.scores.setdefault(term.topology_key, {})
            domains[value] = domains.get(value, 0) + weight


def fill_scores(state: ScoreState, nodes: Iterable[NodeInfo], nodes_with_affinity: Iterable[NodeInfo]) -> None:
    """Count all pods in a new state; without preferences only those with affinity."""
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
    """Scale scores in place to 0..100; all nodes get 0 when they are equal."""
    worst = min((entry.score for entry in scores), default=0)
    span = max((entry.score for entry in scores), default=0) - worst
    for entry in scores:
        share = float(entry.score - worst) / float(span) if span > 0 else 0.0
        entry.score = int(float(MAX_NODE_SCORE) * share)


# -- the vector form ---------------------------------------------------------------------------------------------------


class PreferredTermsKernel(GroupingScoreKernel):
    """The preferred terms of the pod, and terms of existing pods that match it."""

    def __init__(self, pod: PodInfo, view: NodesView, args: InterPodAffinityArgs) -> None:
        self._view = view
        shape = pod.shape
        liked = pods_of_terms(shape.preferred_affinity, view, preferred=True)
        disliked = pods_of_terms(shape.preferred_anti_affinity, view, preferred=True)
        self._own: list[Weighted] = [(pods.weight, pods.table) for pods in liked]
        self._own += [(-pods.weight, pods.table) for pods in disliked]
        self._hard_weight = args.hard_pod_affinity_weight
        self._requiring = MatchingTerms(pod, view, TermKind.REQUIRED_AFFINITY)
        self._liking = MatchingTerms(pod, view, TermKind.PREFERRED_AFFINITY)
        self._disliking = MatchingTerms(pod, view, TermKind.PREFERRED_ANTI_AFFINITY)
        terms = (self._requiring, self._liking, self._disliking)
        self._counting_tables = partial(_counting_tables, self._own, self._hard_weight, *terms)
        self._features = TermFeatures(view, self._counting_tables)

    def rests(self) -> bool:
        return not self._own and next(self._counting_tables(), None) is None

    def skipped(self, feasible: Feasible) -> bool:
        return next(self._counting_tables(), None) is None

    def raw(self, feasible: Feasible) -> IntColumn:
        columns = [topology.gather(weights) for topology, weights in self._by_topology().items()]
        if not columns:
            return np.zeros(self._view.capacity, np.int64)
        # A gathered column may be a view of the sums, which were created for this call.
        total = columns[0]
        for column in columns[1:]:
            total += column
        return total

    def normalized(self, feasible: Feasible) -> AnyIntColumn | None:
        raw = self.raw(feasible)
        worst, best = int(raw.argmin()), int(raw.argmax())
        if feasible.penalty[worst] or feasible.penalty[best]:
            _level_others(raw, feasible)
            worst, best = int(raw.argmin()), int(raw.argmax())
        return _scaled(raw, int(raw[worst]), int(raw[best]))

    def features(self) -> Sequence[RowFeature] | None:
        return None if self._view.capacity < MIN_ROWS else self._features.features(self._own)

    def has_current_features(self) -> bool:
        return self._features.are_current()

    def group_scores(self, groups: Sequence[tuple[int, ...]], counts: Sequence[int]) -> Sequence[int] | None:
        raw = self._features.sums_of(groups)
        feasible = [score for score, count in zip(raw, counts, strict=True) if count]
        worst = min(feasible)
        span = float(max(feasible) - worst)
        if not span:
            return None
        # Scores of groups without feasible rows may be out of range.
        return [int((score - worst) / span * float(MAX_NODE_SCORE)) for score in raw]

    def _by_topology(self) -> dict[Topology, IntColumn]:
        """Return the sum of weights by domain; 0 for domain 0, the rows without the label."""
        sums: dict[Topology, IntColumn] = {}
        for weight, table in self._counting_tables():
            topology = table.topology
            sums[topology] = table.add_weighted(sums.get(topology), weight)
        for weights in sums.values():
            weights[0] = 0
        return sums


def _counting_tables(
    own: Sequence[Weighted], hard_weight: int, requiring: MatchingTerms, liking: MatchingTerms, disliking: MatchingTerms
) -> Iterator[Weighted]:
    """Yield the tables that count a pod, with their weights. A function: a method would make a
    reference cycle."""
    for entry in own:
        if entry[1].total:
            yield entry
    if hard_weight > 0:
        for table in requiring.tables():
            yield hard_weight, table
    for table in liking.tables():
        yield table.term.weight, table
    for table in disliking.tables():
        yield -table.term.weight, table


def _level_others(raw: IntColumn, feasible: Feasible) -> None:
    """Give infeasible rows the score of a feasible one, so that they do not affect the bounds."""
    infeasible = feasible.penalty != 0
    np.putmask(raw, infeasible, raw[infeasible.argmin()])


def _scaled(raw: IntColumn, worst: int, best: int) -> AnyIntColumn | None:
    """Scale to 0..100 from worst to best, with the scalar form's order of float operations."""
    span = best - worst
    if span == 0:
        return None
    raw -= worst
    share = raw.astype(np.float64)
    share /= float(span)
    share *= float(MAX_NODE_SCORE)
    return share.astype(np.int32)
