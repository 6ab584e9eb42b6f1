# SPDX-License-Identifier: Apache-2.0
"""Pods that all columnar plugins of a profile treat alike share a signature: feasible rows and totals, kept exact.

A signature combines fragment columns. What depends on the node alone is combined once and follows the node log; what
depends on the pods of a node follows the log of changed rows, so that after placing a pod one row is looked at again. Answers
that depend on the whole cluster are asked for in every cycle and laid on top.

    static (NODE kernels)  ─┐
    local  (NODE_PODS)      ├─► penalty, total  ─► + cluster filters ─► + cluster scores
    normalised raw scores  ─┘

Infeasible rows carry a large negative penalty, so that no masks are needed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steersman.change_log import ChangeLog
from steersman.engine.best_rows import BestRows, MaskedBest, rows_of_greatest
from steersman.engine.columns import FEW, MAX_SCORE, FragmentColumn, RelativeScores, ScoreColumn, WeightedColumn
from steersman.engine.row_groups import GroupedBest
from steersman.framework.columns import (
    ClusterFilterKernel,
    ClusterScoreKernel,
    Depends,
    Feasible,
    FilterKernel,
    Normalize,
)
from steersman.framework.nodes_view import AnyIntColumn, BoolColumn
from steersman.kept import Kept
from steersman.state.node_table import NodeTable

#: Subtracted from the total of a row that does not pass. Greater than any total of 32-bit profiles, and of 64-bit ones: weights
#: have 32 bits. Weights may be negative: a row passes if it has lost less than half of this.
PENALTY = 1 << 28
WIDE_PENALTY = 1 << 56

FilterColumn = FragmentColumn[FilterKernel]
Totals = AnyIntColumn


SIGNATURE_TOTALS = Kept(
    name="signature totals",
    attributes=(
        "Signature._penalty",
        "Signature._base",
        "Signature._total",
        "Signature._position",
        "Signature._node_position",
    ),
    holds="for every row whether it is feasible, and its weighted total",
    key="one for each signature",
    stamps="positions in the logs of changed rows and of changed nodes",
    bound="one for each signature",
    twin="a `Signature` made anew from the same columns",
    is_inline=True,
)


TERM_REJECTIONS = Kept(
    name="rows rejected by terms",
    attributes=("Signature._rows_rejected_by_terms", "Signature._active_cluster_scores", "Signature._terms_seen"),
    holds="what cluster kernels say that follow nothing but affinity terms",
    key="one for each signature",
    stamps="`NodeTable.terms_epoch`: the kernels are asked again",
    bound="one for each signature",
    twin="the kernels, asked again",
    is_inline=True,
)


class Signature:
    """Which rows are feasible for the pods of a signature, and what each is worth. Every answer is exact for the state of the
    table at the time of the call."""

    def __init__(
        self,
        table: NodeTable,
        filters: list[FilterColumn],
        cluster_filters: list[ClusterFilterKernel],
        scores: list[WeightedColumn],
        cluster_scores: list[tuple[int, ClusterScoreKernel]],
        wide: bool,
    ) -> None:
        self._table = table
        self._dtype: type[np.signedinteger[Any]] = np.int64 if wide else np.int32
        #: What a row loses that does not pass.
        self._loss = WIDE_PENALTY if wide else PENALTY
        self._static_filters = [f for f in filters if f.kernel.depends is Depends.NODE]
        self._local_filters = [f for f in filters if f.kernel.depends is Depends.NODE_PODS]
        plain = [s for s in scores if s.normalize is Normalize.NONE]
        self._static_scores = [s for s in plain if s.column.kernel.depends is Depends.NODE]
        self._local_scores = [s for s in plain if s.column.kernel.depends is Depends.NODE_PODS]
        self._relative = [s for s in scores if s.normalize is not Normalize.NONE]
        self._cluster_scores = cluster_scores
        self._columns: list[FilterColumn | ScoreColumn] = [*filters, *(s.column for s in scores)]
        self._local_cells = [f.cell for f in self._local_filters]
        self._score_cells = [(s.weight, s.column.cell) for s in self._local_scores]
        self._score_columns = [(s.weight, s.column) for s in self._local_scores]
        self._relative_columns = [s.column for s in self._relative if s.column.kernel.depends is Depends.NODE_PODS]
        self._synced_on_change: list[FilterColumn | ScoreColumn] = [
            *self._local_filters,
            *(s.column for s in self._local_scores),
            *self._relative_columns,
        ]
        #: Cluster filters that follow the affinity terms of pods, asked when these change; and all others.
        self._term_filters = [kernel for kernel in cluster_filters if kernel.follows_terms]
        self._filters_asked_every_cycle = [kernel for kernel in cluster_filters if not kernel.follows_terms]
        #: The rows that the former reject; None: none.
        self._rows_rejected_by_terms: BoolColumn | None = None
        #: The cluster scores that are not skipped until the terms change.
        self._active_cluster_scores = cluster_scores
        #: The epoch of the terms for which this is so.
        self._terms_seen = -1
        #: The best rows of `_total`; None: to be looked for.
        self._best: BestRows | None = None
        #: The best rows without those that the filters asked in every cycle reject.
        self._masked: MaskedBest | None = None
        #: The totals by which the rows were last ranked; None: they never were.
        self.ranked: Totals | None = None
        #: The best rows where all kernels that are asked in every cycle treat rows alike; None: they do not, or there are none.
        self._grouped: GroupedBest | None = None
        #: The scores that are normalised over the feasible rows; None: there are none.
        self._addition: RelativeScores | None = None
        #: Positions of the logs at which the combined columns were exact.
        self._position = -1
        self._node_position = -1
        self._combine_all()

    def made_anew(self) -> Signature:
        """A signature of the same kernels, combined from their columns as these are now: the twin of what is kept here."""
        wide = self._dtype is np.int64
        filters = [*self._static_filters, *self._local_filters]
        cluster_filters = [*self._term_filters, *self._filters_asked_every_cycle]
        scores = [*self._static_scores, *self._local_scores, *self._relative]
        return Signature(self._table, filters, cluster_filters, scores, self._cluster_scores, wide)

    # -- asking ------------------------------------------------------------------------------------------------------

    def feasible(self, excluded: BoolColumn | None = None) -> Feasible:
        """The rows that pass every columnar filter and are not `excluded`."""
        self._sync()
        return self._feasible(self._rejected(excluded))

    def _feasible(self, rejected: BoolColumn | None) -> Feasible:
        return Feasible(self._penalty, self._count) if rejected is None else self.without(rejected)

    def _rejected(self, excluded: BoolColumn | None) -> BoolColumn | None:
        """By the filters that are asked in every cycle; None: no row at all."""
        rejected = excluded
        for kernel in self._filters_asked_every_cycle:
            mask = kernel.rejected()
            if mask is not None:
                rejected = mask if rejected is None else rejected | mask
        return rejected

    def feasible_at(self, row: int | None) -> Feasible:
        """Whether that one row is feasible, when no other counts; None: no row is."""
        self._sync()
        penalty = np.full(self._table.capacity, -self._loss, self._dtype)
        if (
            row is None
            or self._penalty_cell[row]
            or any(_rejects(kernel, row) for kernel in self._filters_asked_every_cycle)
        ):
            return Feasible(penalty, 0)
        penalty[row] = 0
        return Feasible.at(row, penalty)

    def without(self, rejected: BoolColumn, feasible: Feasible | None = None) -> Feasible:
        """The feasible rows less the rejected ones."""
        before = Feasible(self._penalty, self._count) if feasible is None else feasible
        # A product is twice as fast here as a choice between two values.
        rest = np.multiply(rejected, self._dtype(-self._loss), dtype=self._dtype)
        rest += before.penalty
        if before.rejected is not None:
            rejected = before.rejected | rejected
        return Feasible(rest, len(rest) - int(np.count_nonzero(rest)), self._penalty, rejected)

    def totals(self, feasible: Feasible) -> Totals:
        """Weighted total by row for these feasible rows; all others are far below zero. Not to be kept or changed: the
        next evaluation may write into it."""
        total: Totals
        if feasible.penalty is self._penalty:
            total, is_own = self._total, False
        else:
            total, is_own = self._base + feasible.penalty, True
            if self._addition is not None:
                total += self._addition.for_rows(feasible.penalty)
        for weight, kernel in self._active_cluster_scores:
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
        return self._addition is not None or any(
            not kernel.skipped(feasible) for _, kernel in self._active_cluster_scores
        )

    def best(self, feasible: Feasible) -> Sequence[int] | NDArray[np.intp]:
        """The rows with the greatest total, ascending. Not to be kept or changed."""
        if self._active_cluster_scores or feasible.penalty is not self._penalty:
            total = self.ranked = self.totals(feasible)
            if total is not self._total:
                return rows_of_greatest(total)
        self.ranked = self._total
        if self._best is None or self._best.rows is None:
            self._best = BestRows.of(self._total)
        return self._best.rows or ()

    def best_in_run(self) -> tuple[Sequence[int] | NDArray[np.intp], int]:
        """What `best_of_all` says, for pods that follow each other closely: by groups of rows where that can be. Nothing is
        `ranked` then, which nobody may look at."""
        self._sync()
        # Relative scores depend on which rows are feasible, and groups do not tell which of their rows would set the measure.
        if self._grouped is not None and (self._addition is None or not self._filters_asked_every_cycle):
            found = self._grouped.find(self._total, self._table.log)
            if found is not None:
                return found
        return self.best_of_all()

    def best_of_all(self) -> tuple[Sequence[int] | NDArray[np.intp], int]:
        """The rows with the greatest total of all that are feasible; and how many are feasible."""
        self._sync()
        rejected = self._rejected(None) if self._filters_asked_every_cycle else None
        if self._active_cluster_scores or (rejected is not None and self._addition is not None):
            feasible = self._feasible(rejected)
            return self.best(feasible) if feasible.count > 1 else feasible.rows, feasible.count
        self.ranked = self._total
        if rejected is not None:
            # What a row is worth does not depend on which others are feasible.
            log = self._table.log
            if self._masked is None or not self._masked.follow(self._total, rejected, log):
                self._masked = MaskedBest(self._total, rejected, log.end, -self._loss, -self._loss // 2)
            return self._masked.rows, self._masked.count
        if self._best is None or self._best.rows is None:
            self._best = BestRows.of(self._total)
        return self._best.rows or (), self._count

    # -- keeping up --------------------------------------------------------------------------------------------------

    def _sync(self) -> None:
        table = self._table
        log = table.log
        if self._node_position != table.node_log.end:
            self._combine_all()
        elif table.terms_epoch != self._terms_seen and self._ask_term_kernels():
            self._combine_with_terms()
        elif (behind := log.end - self._position) == 1 and table.nodes[log.entries[-1]] is not None:
            self._follow(log.entries[-1])
        elif behind:
            self._catch_up(log)

    def _catch_up(self, log: ChangeLog[int]) -> None:
        """Any number of rows changed."""
        position, self._position = self._position, log.end
        rows = log.since(position)
        if rows is None or len(rows) > self._table.capacity // 2:
            for column in self._synced_on_change:
                column.sync()
            self._combine_local()
        elif len(rows) <= FEW:
            for column in self._synced_on_change:
                column.follow(position, rows)
            self._combine_few(rows)
        else:
            index: NDArray[np.intp] = np.fromiter(rows, np.intp, len(rows))
            for column in self._synced_on_change:
                column.follow(position, index)
            self._combine_some(index)

    def _follow(self, row: int) -> None:
        """The usual case: one row changed, because a pod was placed there."""
        position = self._position
        self._position = following = position + 1
        for column in self._relative_columns:
            column.sync()
        missed, score = self._static_penalty_cell[row], self._static_score_cell[row]
        for filter_column in self._local_filters:
            if filter_column.position == position:
                reason = filter_column.cell[row] = filter_column.answer(row)
                filter_column.position = following
            else:
                filter_column.sync()
                reason = filter_column.cell[row]
            if reason:
                missed = -self._loss
        for weight, score_column in self._score_columns:
            if score_column.position == position:
                points = score_column.cell[row] = score_column.answer(row)
                score_column.position = following
            else:
                score_column.sync()
                points = score_column.cell[row]
            score += weight * points
        if self._settle(row, missed, score) or self._relative_columns:
            self._normalise()

    def _ask_term_kernels(self) -> bool:
        """Asks the kernels that follow the terms; whether they reject other rows now. Most pods have no affinity terms, and
        no term speaks of them."""
        self._terms_seen = self._table.terms_epoch
        active = [entry for entry in self._cluster_scores if not entry[1].rests()]
        if active != self._active_cluster_scores:
            self._active_cluster_scores, self._grouped = active, self._new_groups(active)
        before = self._rows_rejected_by_terms
        rejected_by_terms: BoolColumn | None = None
        for kernel in self._term_filters:
            rejected = kernel.rejected()
            if rejected is not None:
                rejected_by_terms = rejected if rejected_by_terms is None else rejected_by_terms | rejected
        self._rows_rejected_by_terms = rejected_by_terms
        if before is None or rejected_by_terms is None:
            return before is not rejected_by_terms
        return not np.array_equal(before, rejected_by_terms)

    def _new_groups(self, scores: Sequence[tuple[int, ClusterScoreKernel]]) -> GroupedBest | None:
        """None: there is nothing to ask of groups, or not all kernels can be asked so."""
        if not scores and not self._filters_asked_every_cycle:
            return None
        return GroupedBest.of(self._filters_asked_every_cycle, scores, -self._loss // 2)

    def _combine_with_terms(self) -> None:
        """Other rows are rejected_by_terms than before."""
        for column in self._synced_on_change:
            column.sync()
        self._position = self._table.log.end
        self._add_term_rejections()
        self._combine_local()

    def _add_term_rejections(self) -> None:
        self._static_penalty = self._node_penalty
        if self._rows_rejected_by_terms is not None:
            self._static_penalty = np.where(self._rows_rejected_by_terms, self._dtype(-self._loss), self._node_penalty)
        self._static_penalty_cell = self._static_penalty.data

    def _combine_few(self, rows: Collection[int]) -> None:
        """Single cells: what `_combine_local` does for the given rows."""
        static_penalty, static_score = self._static_penalty_cell, self._static_score_cell
        outdated = bool(self._relative_columns)
        for row in rows:
            missed = static_penalty[row]
            if not missed:
                for cell in self._local_cells:
                    if cell[row]:
                        missed = -self._loss
                        break
            score = static_score[row]
            for weight, cell in self._score_cells:
                score += weight * cell[row]
            if self._settle(row, missed, score):
                outdated = True
        if outdated:
            self._normalise()

    def _combine_some(self, rows: NDArray[np.intp]) -> None:
        """Vector operations: what `_combine_local` does for the given rows."""
        missed, score = self._static_penalty[rows], self._static_score[rows]
        for column in self._local_filters:
            missed[column.values[rows] != 0] = -self._loss
        for weight, score_column in self._score_columns:
            score += np.multiply(score_column.values[rows], weight, dtype=self._dtype)
        self._base[rows] = score
        flipped = missed != self._penalty[rows]
        if flipped.any():
            self._penalty[rows] = missed
            self._count += int(np.count_nonzero(flipped & (missed == 0)) - np.count_nonzero(flipped & (missed != 0)))
        if self._relative_columns or (self._addition is not None and flipped.any()):
            self._normalise()
            return
        score += missed
        if self._addition is not None:
            score += self._addition.values[rows]
        before = self._total[rows]
        self._total[rows] = score
        if self._best is not None and not self._best.move_rows(rows, before, score):
            self._best = None

    def _settle(self, row: int, missed: int, score: int) -> bool:
        """Puts in what was found for a row: its penalty and the sum of its scores that need no normalisation. Whether the
        others have to be normalised again."""
        self._base_cell[row] = score
        penalty, addition = self._penalty_cell, self._addition
        flipped = missed != penalty[row]
        if flipped:
            penalty[row] = missed
            self._count += 1 if missed == 0 else -1
        score += missed
        if addition is not None:
            score += addition.cell[row]
        total = self._total_cell
        before = total[row]
        if score != before:
            total[row] = score
            if self._best is not None:
                self._best.move(row, before, score)
        return flipped and addition is not None

    def _combine_all(self) -> None:
        """From the fragment columns, everything: a node changed."""
        table = self._table
        for column in self._columns:
            column.sync()
        self._node_position = table.node_log.end
        self._position = table.log.end
        missed = ~table.alive
        for filter_column in self._static_filters:
            missed |= filter_column.values != 0
        #: dtype[capacity]: what the nodes themselves decide.
        self._node_penalty = np.multiply(missed, -self._loss, dtype=self._dtype)
        self._static_score = np.zeros(table.capacity, self._dtype)
        for part in self._static_scores:
            self._static_score += np.multiply(part.column.values, part.weight, dtype=self._dtype)
        self._add_constant_scores()
        self._ask_term_kernels()
        self._grouped = self._new_groups(self._active_cluster_scores)
        self._add_term_rejections()
        self._static_score_cell = self._static_score.data
        self._combine_local()

    def _add_constant_scores(self) -> None:
        """Scores that are 0 on every node normalise to a constant: without taints, say, there is nothing to rank."""
        self._normalised = []
        for part in self._relative:
            if part.column.kernel.depends is Depends.NODE and not part.column.values.any():
                if part.normalize is Normalize.DEFAULT_REVERSE:
                    self._static_score += self._dtype(MAX_SCORE * part.weight)
            else:
                self._normalised.append(part)

    def _combine_local(self) -> None:
        penalty = self._static_penalty
        for column in self._local_filters:
            penalty = np.where(column.values != 0, self._dtype(-self._loss), penalty)
        base = self._static_score.copy()
        for part in self._local_scores:
            base += np.multiply(part.column.values, part.weight, dtype=self._dtype)
        #: dtype[capacity]: 0 for a locally feasible row, else -`_loss`.
        self._penalty = penalty if penalty is not self._static_penalty else penalty.copy()
        #: dtype[capacity]: weighted sum of the scores that need no normalisation.
        self._base = base
        #: Number of locally feasible rows.
        self._count = int(np.count_nonzero(self._penalty == 0))
        self._penalty_cell = self._penalty.data
        self._base_cell = self._base.data
        self._addition = None
        self._normalise()

    def _normalise(self) -> None:
        """Brings `total` up to date after a row became feasible or ceased to be."""
        if self._normalised:
            if self._addition is None:
                self._addition = RelativeScores(self._normalised, self._penalty, self._dtype)
            else:
                self._addition.renew(self._penalty)
        self._total = self._base + self._penalty
        if self._addition is not None:
            self._total += self._addition.values
        self._total_cell = self._total.data
        self._best = None


def _rejects(kernel: ClusterFilterKernel, row: int) -> bool:
    rejected = kernel.rejected()
    return rejected is not None and bool(rejected[row])
