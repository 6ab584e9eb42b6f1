# SPDX-License-Identifier: Apache-2.0
"""Scores of soft constraints, row by row: each domain's count becomes a score for its rows.

The counts come from `state`. Works for every cluster; `score_classes` gives equal scores with less
work where it applies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steersman.api import HOSTNAME_LABEL, Pod
from steersman.framework import (
    MAX_NODE_SCORE,
    AnyIntColumn,
    BoolColumn,
    Column,
    DomainCounts,
    Feasible,
    IntColumn,
    MatchCounts,
    NodesView,
)
from steersman.scheduler.plugins.pod_topology_spread.constraints import SpreadConstraint
from steersman.scheduler.plugins.pod_topology_spread.counting_columns import NodeRules, count_by_domain, matching_pods
from steersman.scheduler.plugins.pod_topology_spread.scoring import NOT_SCORED, topology_weight


class SoftConstraint:
    """One constraint of a pod."""

    def __init__(self, constraint: SpreadConstraint, pods: MatchCounts, rules: NodeRules, view: NodesView) -> None:
        #: Reference that keeps the table, and thus its columns, up to date.
        self._pods = pods
        self.topology = view.topology(constraint.topology_key)
        self.max_skew = constraint.max_skew
        #: Matching pods by row.
        self.per_row: Column = pods.per_row
        #: Matching pods by domain; None for hostnames, where the pods of the node itself count.
        self.by_domain: DomainCounts | None = None
        if constraint.topology_key != HOSTNAME_LABEL:
            self.by_domain = count_by_domain(constraint, pods, rules, view)


class SoftConstraints:
    """All soft constraints of a pod, in their order."""

    def __init__(
        self,
        constraints: Sequence[SpreadConstraint],
        pod: Pod,
        view: NodesView,
        *,
        require_all_keys: bool,
        comparison_operators: bool,
    ) -> None:
        self.view = view
        #: Whether nodes without one of the topology labels are not scored.
        self.require_all_keys = require_all_keys
        keys = [constraint.topology_key for constraint in constraints] if require_all_keys else []
        rules = NodeRules(pod, keys, view, comparison_operators=comparison_operators)
        self.each = tuple(
            SoftConstraint(constraint, pods, rules, view)
            for constraint, pods in zip(constraints, matching_pods(constraints, pod, view), strict=True)
        )

    def rows_with_all_keys(self) -> BoolColumn:
        has = self.view.alive.copy()
        for constraint in self.each:
            has &= constraint.topology.domain != 0
        return has


# -- scores ------------------------------------------------------------------------------------------------------------

FloatColumn = NDArray[np.floating[Any]]

#: The largest number below 0.5: adding it before truncation rounds halves away from zero.
LARGEST_BELOW_HALF = 0.49999999999999994


class SpreadRowScores:
    """Implements `raw` and `normalized` of `ClusterScoreKernel`."""

    def __init__(self, constraints: SoftConstraints) -> None:
        self._constraints = constraints

    def raw(self, feasible: Feasible) -> IntColumn:
        raw = self._rounded_sum(self._scored(feasible))
        if self._constraints.require_all_keys:
            raw[~self._constraints.rows_with_all_keys()] = NOT_SCORED
        return raw

    def normalized(self, feasible: Feasible) -> AnyIntColumn | None:
        scored = self._scored(feasible)
        if not scored.any():
            return None
        raw = self._rounded_sum(scored)
        of_scored = raw[scored]
        least, greatest = int(of_scored.min()), int(of_scored.max())
        if greatest == 0:
            return np.multiply(scored, MAX_NODE_SCORE, dtype=np.int64)
        column: IntColumn = MAX_NODE_SCORE * (greatest + least - raw) // greatest
        return column * scored

    def _scored(self, feasible: Feasible) -> BoolColumn:
        if self._constraints.require_all_keys:
            return feasible.mask & self._constraints.rows_with_all_keys()
        return feasible.mask

    def _rounded_sum(self, scored: BoolColumn) -> IntColumn:
        total: FloatColumn = np.zeros(self._constraints.view.capacity)
        for constraint in self._constraints.each:
            total += _scores(constraint, topology_weight(_domains(constraint, scored)))
        return np.trunc(total + np.copysign(LARGEST_BELOW_HALF, total)).astype(np.int64)


def _domains(constraint: SoftConstraint, scored: BoolColumn) -> int:
    """Count the domains of the scored rows. Unlabelled rows share the empty value's domain."""
    topology = constraint.topology
    if constraint.by_domain is None:
        return int(np.count_nonzero(scored))
    inhabited = np.bincount(topology.domain[scored], minlength=topology.size) > 0
    if topology.empty_value and inhabited[topology.empty_value]:
        inhabited[0] = False
    return int(np.count_nonzero(inhabited))


def _scores(constraint: SoftConstraint, weight: float) -> FloatColumn:
    """Return the constraint's part of the score of each row; 0 where the label is missing."""
    if constraint.by_domain is not None:
        return constraint.topology.gather(_scores_of_domains(constraint, constraint.by_domain, weight))
    scores: FloatColumn = constraint.per_row.values * weight + float(constraint.max_skew - 1)
    scores[constraint.topology.domain == 0] = 0.0
    return scores


def _scores_of_domains(constraint: SoftConstraint, table: DomainCounts, weight: float) -> FloatColumn:
    counts, empty = table.counts, constraint.topology.empty_value
    if empty:
        counts = counts.copy()
        counts[empty] += counts[0]
    scores: FloatColumn = counts * weight + float(constraint.max_skew - 1)
    scores[0] = 0.0
    return scores
