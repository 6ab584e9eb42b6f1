# SPDX-License-Identifier: Apache-2.0
"""Pods that all columnar plugins of a profile treat alike share a signature: feasible rows, totals and the best rows.

`row_totals` combines what each node decides by itself. Answers that depend on the whole cluster are asked for in every cycle
and laid on top here:

    penalty, total (`row_totals`)  ─► + cluster filters ─► + cluster scores ─► best rows
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from steersman.engine.best_rows import BestRows, MaskedBest, rows_of_greatest
from steersman.engine.row_totals import RowTotals, Totals
from steersman.engine.totals_digest import DigestedTotals
from steersman.framework.columns import Feasible
from steersman.framework.nodes_view import BoolColumn


class Signature:
    """Which rows are feasible for the pods of a signature, and what each is worth. Every answer is exact for the state of the
    table at the time of the call."""

    def __init__(self, kept: RowTotals) -> None:
        self.kept = kept
        self._table = kept.table
        #: The best rows without those that the filters asked in every cycle reject.
        self._masked: MaskedBest | None = None
        #: The totals by which the rows were last ranked; None: they never were.
        self.ranked: Totals | None = None
        #: Whether `best_in_run` has last found them by groups, so that nothing is `ranked`.
        self._is_by_groups = False

    def made_anew(self) -> Signature:
        """A signature of the same kernels, combined from their columns as these are now: the twin of what is kept here."""
        return Signature(self.kept.made_anew())

    def feasible(self, excluded: BoolColumn | None = None) -> Feasible:
        """The rows that pass every columnar filter and are not `excluded`."""
        self.kept.sync()
        return self._feasible(self._rejected(excluded))

    def _feasible(self, rejected: BoolColumn | None) -> Feasible:
        return Feasible(self.kept.penalty, self.kept.count) if rejected is None else self.without(rejected)

    def _rejected(self, excluded: BoolColumn | None) -> BoolColumn | None:
        """By the filters that are asked in every cycle; None: no row at all."""
        rejected = excluded
        for kernel in self.kept.filters_asked_every_cycle:
            mask = kernel.rejected()
            if mask is not None:
                rejected = mask if rejected is None else rejected | mask
        return rejected

    def is_feasible(self, row: int) -> bool:
        """Whether that one row is feasible; the others are not looked at."""
        if not self.kept.passes(row):
            return False
        for kernel in self.kept.filters_asked_every_cycle:
            rejected = kernel.rejected()
            if rejected is not None and rejected[row]:
                return False
        return True

    def feasible_at(self, row: int | None) -> Feasible:
        """That one row if it is feasible, when no other counts; None: no row does."""
        penalty = np.full(self._table.capacity, -self.kept.loss, self.kept.dtype)
        if row is None or not self.is_feasible(row):
            return Feasible(penalty, 0)
        penalty[row] = 0
        return Feasible.at(row, penalty)

    def without(self, rejected: BoolColumn, feasible: Feasible | None = None) -> Feasible:
        """The feasible rows less the rejected ones."""
        before = Feasible(self.kept.penalty, self.kept.count) if feasible is None else feasible
        # A product is twice as fast here as a choice between two values.
        rest = np.multiply(rejected, self.kept.dtype(-self.kept.loss), dtype=self.kept.dtype)
        rest += before.penalty
        if before.rejected is not None:
            rejected = before.rejected | rejected
        return Feasible(rest, len(rest) - int(np.count_nonzero(rest)), self.kept.penalty, rejected)

    def totals(self, feasible: Feasible) -> Totals:
        """Weighted total by row for these feasible rows; all others are far below zero. Not to be kept or changed: the
        next evaluation may write into it."""
        total: Totals
        if feasible.penalty is self.kept.penalty:
            total, is_own = self.kept.total, False
        else:
            total, is_own = self.kept.base + feasible.penalty, True
            if self.kept.addition is not None:
                total += self.kept.addition.for_rows(feasible.penalty)
        for weight, kernel in self.kept.active_cluster_scores:
            if kernel.skipped(feasible):
                continue
            score = kernel.weighted(feasible, weight)
            if score is None:
                continue
            if is_own:
                total += score
            else:
                total, is_own = total + score, True
        return total

    def is_relative(self, feasible: Feasible) -> bool:
        """Whether a row's total depends on which other rows are feasible."""
        return self.kept.addition is not None or any(
            not kernel.skipped(feasible) for _, kernel in self.kept.active_cluster_scores
        )

    def best(self, feasible: Feasible) -> Sequence[int] | NDArray[np.intp]:
        """The rows with the greatest total, ascending. Not to be kept or changed."""
        kept = self.kept
        if kept.active_cluster_scores or feasible.penalty is not kept.penalty:
            total = self.ranked = self.totals(feasible)
            if total is not kept.total:
                return rows_of_greatest(total)
        self.ranked = kept.total
        if kept.best is None or kept.best.rows is None:
            kept.best = BestRows.of(kept.total)
        return kept.best.rows or ()

    def best_in_run(self) -> tuple[Sequence[int] | NDArray[np.intp], int]:
        """The answer of `best_of_all`, for pods that follow each other closely: by groups of rows where that can be. Nothing is
        `ranked` then, which nobody may look at."""
        kept = self.kept
        kept.sync()
        # Relative scores depend on which rows are feasible, and groups do not tell which of their rows would set the measure.
        if kept.grouped is not None and (kept.addition is None or not kept.filters_asked_every_cycle):
            found = kept.grouped.find(kept.total, self._table.log)
            if found is not None:
                self._is_by_groups = True
                return found
        self._is_by_groups = False
        return self._best_as_of_now()

    @property
    def has_totals_in_run(self) -> bool:
        """Whether `digested_in_run` can tell by which totals `best_in_run` ranks rows."""
        kept = self.kept
        return not kept.active_cluster_scores or kept.grouped is None or kept.has_plain_digest

    def digested(self, row: int) -> DigestedTotals | None:
        """The totals by which the rows were last ranked, of which this one was chosen; None: they never were."""
        ranked = self.ranked
        if ranked is None:
            return None
        return self.kept.digested(row) if ranked is self.kept.total else DigestedTotals.of(ranked, row)

    def digested_in_run(self, row: int) -> DigestedTotals | None:
        """The totals by which `best_in_run` has ranked the rows, of which this one was chosen; None: they were not ranked. They
        are those of `best_of_all`: where no score depends on what is feasible, filters of the whole cluster do not count."""
        kept = self.kept
        if not self._is_by_groups or kept.grouped is None:
            return self.digested(row)
        return kept.grouped.digested(row) if kept.active_cluster_scores else kept.digested(row)

    def best_of_all(self) -> tuple[Sequence[int] | NDArray[np.intp], int]:
        """The rows with the greatest total of all that are feasible; and how many are feasible."""
        self.kept.sync()
        return self._best_as_of_now()

    def _best_as_of_now(self) -> tuple[Sequence[int] | NDArray[np.intp], int]:
        kept = self.kept
        rejected = self._rejected(None) if kept.filters_asked_every_cycle else None
        if kept.active_cluster_scores or (rejected is not None and kept.addition is not None):
            feasible = self._feasible(rejected)
            return self.best(feasible) if feasible.count > 1 else feasible.rows, feasible.count
        self.ranked = kept.total
        if rejected is not None:
            # What a row is worth does not depend on which others are feasible.
            log = self._table.log
            if self._masked is None or not self._masked.follow(kept.total, rejected, log):
                self._masked = MaskedBest(kept.total, rejected, log.end, -kept.loss, -kept.loss // 2)
            return self._masked.rows, self._masked.count
        if kept.best is None or kept.best.rows is None:
            kept.best = BestRows.of(kept.total)
        return kept.best.rows or (), kept.count
