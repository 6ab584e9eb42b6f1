# SPDX-License-Identifier: Apache-2.0
"""Scores of soft constraints, row by row: every domain's count becomes a score and is spread to the rows of the domain.

Works for every cluster; `score_classes` gives the same for less work where it can.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steersman.framework.columns import Feasible
from steersman.framework.nodes_view import (
    AnyIntColumn,
    BoolColumn,
    DomainCounts,
    IntColumn,
)
from steersman.framework.plugin import MAX_NODE_SCORE
from steersman.plugins.pod_topology_spread.scoring import NOT_SCORED, topology_weight
from steersman.plugins.pod_topology_spread.soft_constraints import SoftConstraint, SoftConstraints

FloatColumn = NDArray[np.floating[Any]]

#: The greatest number below a half: added before truncation it rounds halves away from zero, and changes nothing else.
ALMOST_HALF = 0.49999999999999994


class RowScores:
    """`raw` and `normalized` are what `ClusterScoreKernel` asks for."""

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
            return np.multiply(scored, MAX_NODE_SCORE, dtype=np.int32)
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
        return np.trunc(total + np.copysign(ALMOST_HALF, total)).astype(np.int64)


def _domains(constraint: SoftConstraint, scored: BoolColumn) -> int:
    """In how many domains the scored rows are. Those without the label share the domain of the empty value."""
    topology = constraint.topology
    if constraint.by_domain is None:
        return int(np.count_nonzero(scored))
    inhabited = np.bincount(topology.domain[scored], minlength=topology.size) > 0
    if topology.empty_value and inhabited[topology.empty_value]:
        inhabited[0] = False
    return int(np.count_nonzero(inhabited))


def _scores(constraint: SoftConstraint, weight: float) -> FloatColumn:
    """What the constraint adds to the score of each row: nothing where the label is missing."""
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
