"""The preferred terms for all nodes at once: the vector form of `scoring`.

The pods that matter are counted per domain by `state`, once per term; here each table is multiplied with its weight,
added up per topology, spread to the rows, and scaled between the worst and the best feasible row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from steersman.config import InterPodAffinityArgs
from steersman.framework.columns import (
    AnyIntColumn,
    ClusterScoreKernel,
    DomainCounts,
    Feasible,
    IntColumn,
    NodesView,
    TermKind,
    TermTable,
    Topology,
)
from steersman.framework.plugin import MAX_NODE_SCORE
from steersman.framework.pod_info import PodInfo
from steersman.plugins.inter_pod_affinity.existing_terms import MatchingTerms
from steersman.plugins.inter_pod_affinity.matchers import pods_of_term

Weighted: TypeAlias = tuple[int, DomainCounts | TermTable]


class PreferredTermsKernel(ClusterScoreKernel):
    """What the pod prefers, and what the pods that run prefer about it."""

    def __init__(self, pod: PodInfo, view: NodesView, args: InterPodAffinityArgs) -> None:
        self._view = view
        shape = pod.shape
        self._own: list[Weighted] = [(t.weight, pods_of_term(t, view)) for t in shape.preferred_affinity]
        self._own += [(-t.weight, pods_of_term(t, view)) for t in shape.preferred_anti_affinity]
        self._hard_weight = args.hard_pod_affinity_weight
        self._requiring = MatchingTerms(pod, view, TermKind.REQUIRED_AFFINITY)
        self._liking = MatchingTerms(pod, view, TermKind.PREFERRED_AFFINITY)
        self._disliking = MatchingTerms(pod, view, TermKind.PREFERRED_ANTI_AFFINITY)

    def skipped(self, feasible: Feasible) -> bool:
        return next(self._that_count(), None) is None

    def raw(self, feasible: Feasible) -> IntColumn:
        total = np.zeros(self._view.capacity, np.int64)
        for topology, weights in self._by_topology().items():
            total += topology.gather(weights)
        return total

    def normalized(self, feasible: Feasible) -> AnyIntColumn | None:
        raw = self.raw(feasible)
        infeasible = feasible.penalty != 0
        # Any score of a feasible row keeps the others from setting the bounds, or from leaving them.
        np.putmask(raw, infeasible, raw[infeasible.argmin()])
        worst = int(raw.min())
        span = int(raw.max()) - worst
        if span == 0:
            return None
        raw -= worst
        share = raw / float(span)
        share *= float(MAX_NODE_SCORE)
        return share.astype(np.int32)

    def _that_count(self) -> Iterator[Weighted]:
        """The tables that count a pod, with the weight of each."""
        for entry in self._own:
            if entry[1].total:
                yield entry
        if self._hard_weight > 0:
            for table in self._requiring.tables():
                yield self._hard_weight, table
        for table in self._liking.tables():
            yield table.term.weight, table
        for table in self._disliking.tables():
            yield -table.term.weight, table

    def _by_topology(self) -> dict[Topology, IntColumn]:
        """Sum of weights by domain. Domain 0, the rows without the label, has no weight."""
        sums: dict[Topology, IntColumn] = {}
        for weight, table in self._that_count():
            weights = table.counts * weight
            known = sums.setdefault(table.topology, weights)
            if known is not weights:
                known += weights
        for weights in sums.values():
            weights[0] = 0
        return sums
