# SPDX-License-Identifier: Apache-2.0
"""The preferred terms for all nodes at once: the vector form of `scoring`.

The pods that matter are counted per domain by `state`, once per term; here each table is multiplied with its weight,
added up per topology, spread to the rows, and scaled between the worst and the best feasible row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from steersman.config import InterPodAffinityArgs
from steersman.framework.columns import ClusterScoreKernel, Feasible
from steersman.framework.nodes_view import (
    AnyIntColumn,
    DomainCounts,
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

    def rests(self) -> bool:
        return not self._own and next(self._that_count(), None) is None

    def skipped(self, feasible: Feasible) -> bool:
        return next(self._that_count(), None) is None

    def raw(self, feasible: Feasible) -> IntColumn:
        columns = [topology.gather(weights) for topology, weights in self._by_topology().items()]
        if not columns:
            return np.zeros(self._view.capacity, np.int64)
        # A gathered column may be a view of the sums, but those were made for this call.
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
            topology = table.topology
            sums[topology] = table.add_weighted(sums.get(topology), weight)
        for weights in sums.values():
            weights[0] = 0
        return sums


def _level_others(raw: IntColumn, feasible: Feasible) -> None:
    """Gives every row that is not feasible the score of one that is: it neither sets the bounds nor leaves them."""
    infeasible = feasible.penalty != 0
    np.putmask(raw, infeasible, raw[infeasible.argmin()])


def _scaled(raw: IntColumn, worst: int, best: int) -> AnyIntColumn | None:
    """To 0..100 between the worst and the best, with the scalar form's order of float operations."""
    span = best - worst
    if span == 0:
        return None
    raw -= worst
    share = raw.astype(np.float64)
    share /= float(span)
    share *= float(MAX_NODE_SCORE)
    return share.astype(np.int32)
