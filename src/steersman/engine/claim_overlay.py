# SPDX-License-Identifier: Apache-2.0
"""The signature of a pod with volume claims: what it shares with the others of its shape, and what its claims decide.

Each of its claims is another object; where it may go follows from the volumes behind them. Kernels for that are made for one
pod and laid on top of a `Signature`, which stays exact from pod to pod.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from steersman.engine.best_rows import rows_of_greatest
from steersman.engine.row_totals import Totals
from steersman.engine.signature import Signature
from steersman.engine.totals_digest import DigestedTotals
from steersman.framework.columns import ClusterFilterKernel, ClusterScoreKernel, Feasible
from steersman.framework.nodes_view import BoolColumn


class ClaimOverlay:
    """Answers like a `Signature`."""

    __slots__ = ("_filters", "_scores", "_shared", "ranked")

    def __init__(
        self,
        shared: Signature,
        filters: Sequence[ClusterFilterKernel],
        scores: Sequence[tuple[int, ClusterScoreKernel]],
    ) -> None:
        self._shared = shared
        self._filters = filters
        self._scores = scores
        #: The totals by which the rows were last ranked; None: they never were.
        self.ranked: Totals | None = None

    def feasible(self, excluded: BoolColumn | None = None) -> Feasible:
        rejected = excluded
        for kernel in self._filters:
            mask = kernel.rejected()
            if mask is not None:
                rejected = mask if rejected is None else rejected | mask
        return self._shared.feasible(rejected)

    def feasible_at(self, row: int | None) -> Feasible:
        if row is None:
            return self._shared.feasible_at(None)
        rejected = any((mask := kernel.rejected()) is not None and mask[row] for kernel in self._filters)
        return self._shared.feasible_at(None if rejected else row)

    def without(self, rejected: BoolColumn, feasible: Feasible | None = None) -> Feasible:
        return self._shared.without(rejected, feasible)

    def totals(self, feasible: Feasible) -> Totals:
        total = self._shared.totals(feasible)
        for weight, kernel in self._scores:
            score = None if kernel.skipped(feasible) else kernel.weighted(feasible, weight)
            if score is not None:
                total = total + score
        return total

    def is_relative(self, feasible: Feasible) -> bool:
        return bool(self._scores) or self._shared.is_relative(feasible)

    def best(self, feasible: Feasible) -> Sequence[int] | NDArray[np.intp]:
        if self._scores:
            self.ranked = self.totals(feasible)
            return rows_of_greatest(self.ranked)
        best = self._shared.best(feasible)
        self.ranked = self._shared.ranked
        return best

    def best_in_run(self) -> tuple[Sequence[int] | NDArray[np.intp], int]:
        """Claims tell rows apart in more than groups know."""
        return self.best_of_all()

    @property
    def has_totals_in_run(self) -> bool:
        return True

    def digested_in_run(self, row: int) -> DigestedTotals | None:
        return self.digested(row)

    def digested(self, row: int) -> DigestedTotals | None:
        ranked = self.ranked
        if ranked is None or ranked is self._shared.ranked:
            return None if ranked is None else self._shared.digested(row)
        return DigestedTotals.of(ranked, row)

    def best_of_all(self) -> tuple[Sequence[int] | NDArray[np.intp], int]:
        feasible = self.feasible()
        return self.best(feasible) if feasible.count > 1 else feasible.rows, feasible.count
