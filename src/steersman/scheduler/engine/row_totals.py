# SPDX-License-Identifier: Apache-2.0
"""The totals of a signature: fragment columns combined into one penalty and one sum for every row.

Results that depend on the node alone are combined once and follow the node log; those that depend
on the pods of a node follow the log of changed rows, so that placing a pod updates one row. Rows
rejected by affinity terms of running pods follow the epoch of these terms. `signature` adds the
results of cluster kernels.

    static (NODE kernels)  ─┐
    local  (NODE_PODS)      ├─► penalty, total
    normalised raw scores  ─┘

Infeasible rows have a large negative penalty, so that no masks are needed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steersman.base import CacheSpec, ChangeLog
from steersman.framework import (
    AnyIntColumn,
    BoolColumn,
    ClusterFilterKernel,
    ClusterScoreKernel,
    CycleAborted,
    Depends,
    FilterKernel,
    Normalize,
)
from steersman.scheduler.engine.best_rows import BestRows
from steersman.scheduler.engine.columns import (
    MAX_SCORE,
    MAX_SINGLE_ROWS,
    FragmentColumn,
    RelativeScores,
    ScoreColumn,
    WeightedColumn,
)
from steersman.scheduler.engine.row_groups import GroupedBest
from steersman.scheduler.engine.totals_digest import NO_NODE, DigestedTotals, factors_of, is_incremental, sum_of
from steersman.scheduler.state.node_table import NodeTable

#: Penalty added to infeasible rows. Greater than any total of 32-bit profiles, and of 64-bit ones,
#: since weights have 32 bits. As weights may be negative, a row is feasible if its total is above
#: minus half of this.
PENALTY = 1 << 28
WIDE_PENALTY = 1 << 56

FilterColumn = FragmentColumn[FilterKernel]
Totals = AnyIntColumn
#: With fewer rows, and only cluster scores, columns are faster than groups.
MIN_SCORED_ROWS = 2000

SIGNATURE_TOTALS = CacheSpec(
    name="signature totals",
    attributes=(
        "RowTotals.penalty",
        "RowTotals.base",
        "RowTotals.total",
        "RowTotals._position",
        "RowTotals._node_position",
    ),
    contents="for every row whether it is feasible, and its weighted total",
    key="one for each signature",
    invalidation="positions in the logs of changed rows and of changed nodes",
    limit="one for each signature",
    reference="a `Signature` rebuilt from the same columns",
    is_inline=True,
)


DIGEST_OF_TOTALS = CacheSpec(
    name="digest of totals",
    attributes=("RowTotals._digest_sum",),
    contents="the sum that is the digest of the totals, where attempts are recorded",
    key="one for each signature",
    invalidation="never: updated with every total that changes; rebuilt with the column of totals",
    limit="one for each signature",
    reference="`totals_digest.digest_of`",
)


TERM_REJECTIONS = CacheSpec(
    name="rows rejected by terms",
    attributes=("RowTotals._rows_rejected_by_terms", "RowTotals.active_cluster_scores", "RowTotals._terms_seen"),
    contents="verdicts of cluster kernels that depend on affinity terms only",
    key="one for each signature",
    invalidation="`NodeTable.terms_epoch`: the kernels are called again",
    limit="one for each signature",
    reference="the kernels, called again",
    is_inline=True,
)


class RowTotals:
    """Which rows pass the node-local filters, and their totals; exact as of the last `sync`."""

    def __init__(
        self,
        table: NodeTable,
        filters: list[FilterColumn],
        cluster_filters: list[ClusterFilterKernel],
        scores: list[WeightedColumn],
        cluster_scores: list[tuple[int, ClusterScoreKernel]],
        wide: bool,
    ) -> None:
        self.table = table
        self.dtype: type[np.signedinteger[Any]] = np.int64 if wide else np.int32
        #: Penalty added to infeasible rows.
        self.loss = WIDE_PENALTY if wide else PENALTY
        self._static_filters = [f for f in filters if f.kernel.depends is Depends.NODE]
        self._local_filters = [f for f in filters if f.kernel.depends is Depends.NODE_PODS]
        plain = [s for s in scores if s.normalize is Normalize.NONE]
        self._static_scores = [s for s in plain if s.column.kernel.depends is Depends.NODE]
        self._local_scores = [s for s in plain if s.column.kernel.depends is Depends.NODE_PODS]
        self._relative = [s for s in scores if s.normalize is not Normalize.NONE]
        self._cluster_scores = cluster_scores
        #: Whether totals of feasible rows are never negative and sums of products fit, so that
        #: digests of groups can be added.
        self.has_additive_digest = not wide and all(
            weight >= 0 for weight in (*(part.weight for part in scores), *(weight for weight, _ in cluster_scores))
        )
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
        #: Cluster filters that depend on affinity terms only, and all others.
        self._term_filters = [kernel for kernel in cluster_filters if kernel.follows_terms]
        self.per_cycle_filters = [kernel for kernel in cluster_filters if not kernel.follows_terms]
        #: Rows rejected by the former; None if there are none.
        self._rows_rejected_by_terms: BoolColumn | None = None
        #: Cluster scores that are not skipped until terms change.
        self.active_cluster_scores = cluster_scores
        #: Terms epoch of the two values above.
        self._terms_seen = -1
        #: Best rows of `total`, or None if they must be recomputed.
        self.best: BestRows | None = None
        #: Best rows by groups, or None if a cluster kernel has no features or there are none.
        self.grouped: GroupedBest | None = None
        #: Scores normalised over the feasible rows, or None if there are none.
        self.addition: RelativeScores | None = None
        #: Digest sum of the totals and factors of rows; None until requested for the current
        #: `total`.
        self._digest_sum: int | None = None
        self._digest_factors: Sequence[int] = ()
        #: Positions of the logs at which the combined columns were exact.
        self._position = -1
        self._node_position = -1
        self._combine_all()

    def digested(self, row: int) -> DigestedTotals:
        """Return the digest of the totals, and the total of one row. After the first call the
        digest is updated incrementally."""
        if self._digest_sum is None:
            if not is_incremental(self.total):
                return DigestedTotals.from_totals(self.total, row)
            self._digest_factors = factors_of(len(self.total)).cells
            self._digest_sum = sum_of(self.total)
        return DigestedTotals(f"{self._digest_sum:x}", self._total_cell[row])

    def rebuilt(self) -> RowTotals:
        """Return totals rebuilt from the current columns of the same kernels: the reference for
        validation."""
        filters = [*self._static_filters, *self._local_filters]
        cluster_filters = [*self._term_filters, *self.per_cycle_filters]
        scores = [*self._static_scores, *self._local_scores, *self._relative]
        wide = self.dtype is np.int64
        return RowTotals(self.table, filters, cluster_filters, scores, self._cluster_scores, wide)

    # -- updates ----------------------------------------------------------------------------------

    def passes(self, row: int) -> bool:
        """Return whether the row passes the local filters.

        Fast path for pinned (DaemonSet) pods: evaluates this row only, and does not update columns
        that depend on pods.
        """
        table = self.table
        if self._node_position != table.node_log.end:
            self._combine_all()
        elif table.terms_epoch != self._terms_seen and self._update_term_kernels():
            self._combine_with_terms()
        if self._static_penalty_cell[row]:
            return False
        for column in self._local_filters:  # noqa: SIM110 a generator takes as long as the answers
            if column.answer(row):
                return False
        return True

    def sync(self) -> None:
        """Update from the logs. After an internal error of a kernel everything is combined again,
        so that the error recurs."""
        table = self.table
        log = table.log
        try:
            if self._node_position != table.node_log.end:
                self._combine_all()
            elif table.terms_epoch != self._terms_seen and self._update_term_kernels():
                self._combine_with_terms()
            elif (behind := log.end - self._position) == 1 and table.nodes[log.entries[-1]] is not None:
                self._follow(log.entries[-1])
            elif behind:
                self._catch_up(log)
        except CycleAborted:
            self._node_position = -1
            raise

    def _catch_up(self, log: ChangeLog[int]) -> None:
        """Update any number of changed rows."""
        position, self._position = self._position, log.end
        rows = log.since(position)
        if rows is None or len(rows) > self.table.capacity // 2:
            for column in self._synced_on_change:
                column.sync()
            self._combine_local()
        elif len(rows) <= MAX_SINGLE_ROWS:
            for column in self._synced_on_change:
                column.follow(position, rows)
            self._combine_few(rows)
        else:
            index: NDArray[np.intp] = np.fromiter(rows, np.intp, len(rows))
            for column in self._synced_on_change:
                column.follow(position, index)
            self._combine_some(index)

    def _follow(self, row: int) -> None:
        """Update after the common case: one row changed, because a pod was placed there."""
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
                missed = -self.loss
        for weight, score_column in self._score_columns:
            if score_column.position == position:
                points = score_column.cell[row] = score_column.answer(row)
                score_column.position = following
            else:
                score_column.sync()
                points = score_column.cell[row]
            score += weight * points
        if self._update_row(row, missed, score) or self._relative_columns:
            self._normalise()

    def _update_term_kernels(self) -> bool:
        """Call the kernels that depend on terms; return whether the rejected rows changed. Most
        pods neither have affinity terms nor match any."""
        self._terms_seen = self.table.terms_epoch
        active = [entry for entry in self._cluster_scores if not entry[1].rests()]
        if active != self.active_cluster_scores:
            self.active_cluster_scores, self.grouped = active, self._new_groups(active)
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
        """Return a new grouping, or None if there is too little to compute by group, or a kernel
        has no features."""
        filters = self.per_cycle_filters
        if not filters and (not scores or self.table.capacity < MIN_SCORED_ROWS):
            return None
        return GroupedBest.create(filters, scores, -self.loss // 2)

    def _combine_with_terms(self) -> None:
        """Update after terms reject other rows than before."""
        for column in self._synced_on_change:
            column.sync()
        self._position = self.table.log.end
        self._add_term_rejections()
        self._combine_local()

    def _add_term_rejections(self) -> None:
        self._static_penalty = self._node_penalty
        if self._rows_rejected_by_terms is not None:
            self._static_penalty = np.where(self._rows_rejected_by_terms, self.dtype(-self.loss), self._node_penalty)
        self._static_penalty_cell = self._static_penalty.data

    def _combine_few(self, rows: Collection[int]) -> None:
        """Do what `_combine_local` does for these rows, cell by cell."""
        static_penalty, static_score = self._static_penalty_cell, self._static_score_cell
        outdated = bool(self._relative_columns)
        for row in rows:
            missed = static_penalty[row]
            if not missed:
                for cell in self._local_cells:
                    if cell[row]:
                        missed = -self.loss
                        break
            score = static_score[row]
            for weight, cell in self._score_cells:
                score += weight * cell[row]
            if self._update_row(row, missed, score):
                outdated = True
        if outdated:
            self._normalise()

    def _combine_some(self, rows: NDArray[np.intp]) -> None:
        """Do what `_combine_local` does for these rows, with vector operations."""
        missed, score = self._static_penalty[rows], self._static_score[rows]
        for column in self._local_filters:
            missed[column.values[rows] != 0] = -self.loss
        for weight, score_column in self._score_columns:
            score += np.multiply(score_column.values[rows], weight, dtype=self.dtype)
        self.base[rows] = score
        flipped = missed != self.penalty[rows]
        if flipped.any():
            self.penalty[rows] = missed
            self.count += int(np.count_nonzero(flipped & (missed == 0)) - np.count_nonzero(flipped & (missed != 0)))
        if self._relative_columns or (self.addition is not None and flipped.any()):
            self._normalise()
            return
        score += missed
        if self.addition is not None:
            score += self.addition.values[rows]
        before = self.total[rows]
        self.total[rows] = score
        self._digest_sum = None
        if self.best is not None and not self.best.move_rows(rows, before, score):
            self.best = None

    def _update_row(self, row: int, missed: int, score: int) -> bool:
        """Store the penalty and the sum of unnormalised scores of a row. Returns whether the others
        must be renormalised."""
        self._base_cell[row] = score
        penalty, addition = self.penalty_cell, self.addition
        flipped = missed != penalty[row]
        if flipped:
            penalty[row] = missed
            self.count += 1 if missed == 0 else -1
        score += missed
        if addition is not None:
            score += addition.cell[row]
        total = self._total_cell
        before = total[row]
        if score != before:
            total[row] = score
            if self.best is not None:
                self.best.move(row, before, score)
            if self._digest_sum is not None:
                self._digest_sum += self._digest_factors[row] * (max(score, NO_NODE) - max(before, NO_NODE))
        return flipped and addition is not None

    def _combine_all(self) -> None:
        """Recompute everything from the fragment columns after a node changed."""
        table = self.table
        for column in self._columns:
            column.sync()
        self._node_position = table.node_log.end
        self._position = table.log.end
        missed = ~table.alive
        for filter_column in self._static_filters:
            missed |= filter_column.values != 0
        #: dtype[capacity]: penalty by filters that depend on the node alone.
        self._node_penalty = np.multiply(missed, -self.loss, dtype=self.dtype)
        self._static_score = np.zeros(table.capacity, self.dtype)
        for part in self._static_scores:
            self._static_score += np.multiply(part.column.values, part.weight, dtype=self.dtype)
        self._add_constant_scores()
        self._update_term_kernels()
        self.grouped = self._new_groups(self.active_cluster_scores)
        self._add_term_rejections()
        self._static_score_cell = self._static_score.data
        self._combine_local()

    def _add_constant_scores(self) -> None:
        """Add scores that are 0 on every node, such as without taints: they normalise to a
        constant."""
        self._normalised = []
        for part in self._relative:
            if part.column.kernel.depends is Depends.NODE and not part.column.values.any():
                if part.normalize is Normalize.DEFAULT_REVERSE:
                    self._static_score += self.dtype(MAX_SCORE * part.weight)
            else:
                self._normalised.append(part)

    def _combine_local(self) -> None:
        penalty = self._static_penalty
        for column in self._local_filters:
            penalty = np.where(column.values != 0, self.dtype(-self.loss), penalty)
        base = self._static_score.copy()
        for part in self._local_scores:
            base += np.multiply(part.column.values, part.weight, dtype=self.dtype)
        #: dtype[capacity]: 0 for a locally feasible row, else -`loss`.
        self.penalty = penalty if penalty is not self._static_penalty else penalty.copy()
        #: dtype[capacity]: weighted sum of the unnormalised scores.
        self.base = base
        #: Number of locally feasible rows.
        self.count = int(np.count_nonzero(self.penalty == 0))
        self.penalty_cell = self.penalty.data
        self._base_cell = self.base.data
        self.addition = None
        self._normalise()

    def _normalise(self) -> None:
        """Update `total` after a row became feasible or infeasible."""
        if self._normalised:
            if self.addition is None:
                self.addition = RelativeScores(self._normalised, self.penalty, self.dtype)
            else:
                self.addition.update(self.penalty)
        self.total = self.base + self.penalty
        if self.addition is not None:
            self.total += self.addition.values
        self._total_cell = self.total.data
        self.best = self._digest_sum = None
