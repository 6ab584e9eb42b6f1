# SPDX-License-Identifier: Apache-2.0
"""Soft constraints for all nodes at once: the vector form of `scoring`.

`state` keeps the matching pods counted, per row and per domain. `row_scores` makes scores of them row by row,
`score_classes` the same once per class of equal rows, which is what usually happens.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from steersman.api import Pod
from steersman.framework.columns import Feasible, GroupingScoreKernel, RowFeature
from steersman.framework.nodes_view import AnyIntColumn, IntColumn, NodesView
from steersman.plugins.pod_topology_spread.constraints import SpreadConstraint
from steersman.plugins.pod_topology_spread.row_scores import SoftConstraints, SpreadRowScores
from steersman.plugins.pod_topology_spread.score_classes import MOST_WEIGHT, ScoreClasses


class SoftConstraintsKernel(GroupingScoreKernel):
    """All soft constraints of one pod. Nothing is counted before nodes are scored for the first time: pods that fit on one
    node only, those of a DaemonSet for example, never get there."""

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
        """Few classes are multiplied, not many rows."""
        classes = self._by_class
        inhabited = classes.inhabited(feasible) if abs(weight) <= MOST_WEIGHT else None
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
