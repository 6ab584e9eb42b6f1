# SPDX-License-Identifier: Apache-2.0
"""The totals of a signature: fragment columns combined into one penalty and one weighted sum for every row, kept exact.

What depends on the node alone is combined once and follows the node log; what depends on the pods of a node follows the log of
changed rows, so that after placing a pod one row is looked at again. Rows that affinity terms of running pods reject follow the
epoch of these terms. `signature` asks for what is kept here, and lays on top what the whole cluster decides.

    static (NODE kernels)  ─┐
    local  (NODE_PODS)      ├─► penalty, total
    normalised raw scores  ─┘

Infeasible rows carry a large negative penalty, so that no masks are needed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steersman.change_log import ChangeLog
from steersman.engine.best_rows import BestRows
from steersman.engine.columns import FEW, MAX_SCORE, FragmentColumn, RelativeScores, ScoreColumn, WeightedColumn
from steersman.engine.row_groups import GroupedBest
from steersman.engine.totals_digest import NO_NODE, DigestedTotals, factors_of, is_followed, sum_of
from steersman.framework.columns import ClusterFilterKernel, ClusterScoreKernel, Depends, FilterKernel, Normalize
from steersman.framework.nodes_view import AnyIntColumn, BoolColumn
from steersman.kept import Kept
from steersman.state.node_table import NodeTable

#: Subtracted from the total of a row that does not pass. Greater than any total of 32-bit profiles, and of 64-bit ones: weights
#: have 32 bits. Weights may be negative: a row passes if it has lost less than half of this.
PENALTY = 1 << 28
WIDE_PENALTY = 1 << 56

FilterColumn = FragmentColumn[FilterKernel]
Totals = AnyIntColumn
#: With fewer rows, and nothing but scores to ask of them, columns are faster than groups.
FEWEST_SCORED_ROWS = 2000

SIGNATURE_TOTALS = Kept(
    name="signature totals",
    attributes=(
        "RowTotals.penalty",
        "RowTotals.base",
        "RowTotals.total",
        "RowTotals._position",
        "RowTotals._node_position",
    ),
    holds="for every row whether it is feasible, and its weighted total",
    key="one for each signature",
    stamps="positions in the logs of changed rows and of changed nodes",
    bound="one for each signature",
    twin="a `Signature` made anew from the same columns",
    is_inline=True,
)


DIGEST_OF_TOTALS = Kept(
    name="digest of totals",
    attributes=("RowTotals._digest_sum",),
    holds="the sum that is the digest of the totals, where attempts are recorded",
    key="one for each signature",
    stamps="never: follows every total that changes; made anew with the column of totals",
    bound="one for each signature",
    twin="`totals_digest.digest_of`",
)


TERM_REJECTIONS = Kept(
    name="rows rejected by terms",
    attributes=("RowTotals._rows_rejected_by_terms", "RowTotals.active_cluster_scores", "RowTotals._terms_seen"),
    holds="what cluster kernels say that follow nothing but affinity terms",
    key="one for each signature",
    stamps="`NodeTable.terms_epoch`: the kernels are asked again",
    bound="one for each signature",
    twin="the kernels, asked again",
    is_inline=True,
)


class RowTotals:
    """Which rows pass the filters that look at one node, and what each is worth; exact for the state of the table at the last
    `sync`."""

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
        #: What a row loses that does not pass.
        self.loss = WIDE_PENALTY if wide else PENALTY
        self._static_filters = [f for f in filters if f.kernel.depends is Depends.NODE]
        self._local_filters = [f for f in filters if f.kernel.depends is Depends.NODE_PODS]
        plain = [s for s in scores if s.normalize is Normalize.NONE]
        self._static_scores = [s for s in plain if s.column.kernel.depends is Depends.NODE]
        self._local_scores = [s for s in plain if s.column.kernel.depends is Depends.NODE_PODS]
        self._relative = [s for s in scores if s.normalize is not Normalize.NONE]
        self._cluster_scores = cluster_scores
        #: Whether no total of a feasible row is negative and sums of products fit, so that digests of groups add up.
        self.has_plain_digest = not wide and all(
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
        #: Cluster filters that follow the affinity terms of pods, asked when these change; and all others.
        self._term_filters = [kernel for kernel in cluster_filters if kernel.follows_terms]
        self.filters_asked_every_cycle = [kernel for kernel in cluster_filters if not kernel.follows_terms]
        #: The rows that the former reject; None: none.
        self._rows_rejected_by_terms: BoolColumn | None = None
        #: The cluster scores that are not skipped until the terms change.
        self.active_cluster_scores = cluster_scores
        #: The epoch of the terms for which this is so.
        self._terms_seen = -1
        #: The best rows of `_total`; None: to be looked for.
        self.best: BestRows | None = None
        #: The best rows where all kernels that are asked in every cycle treat rows alike; None: they do not, or there are none.
        self.grouped: GroupedBest | None = None
        #: The scores that are normalised over the feasible rows; None: there are none.
        self.addition: RelativeScores | None = None
        #: The sum that is the digest of the totals, with the factor of each row; None: nobody has asked since `total` was made.
        self._digest_sum: int | None = None
        self._digest_factors: Sequence[int] = ()
        #: Positions of the logs at which the combined columns were exact.
        self._position = -1
        self._node_position = -1
        self._combine_all()

    def digested(self, row: int) -> DigestedTotals:
        """The digest of the totals, and that of one row. From the first time on the digest follows single totals."""
        if self._digest_sum is None:
            if not is_followed(self.total):
                return DigestedTotals.of(self.total, row)
            self._digest_factors = factors_of(len(self.total)).cells
            self._digest_sum = sum_of(self.total)
        return DigestedTotals(f"{self._digest_sum:x}", self._total_cell[row])

    def made_anew(self) -> RowTotals:
        """Totals of the same kernels, combined from their columns as these are now: the twin of what is kept here."""
        filters = [*self._static_filters, *self._local_filters]
        cluster_filters = [*self._term_filters, *self.filters_asked_every_cycle]
        scores = [*self._static_scores, *self._local_scores, *self._relative]
        wide = self.dtype is np.int64
        return RowTotals(self.table, filters, cluster_filters, scores, self._cluster_scores, wide)

    # -- keeping up --------------------------------------------------------------------------------------------------

    def passes(self, row: int) -> bool:
        """Whether the row passes, as `penalty` says after `sync`. The kernels are asked for that row alone, and nothing is
        brought up to date that follows the pods of nodes: for pods of whom each can run on one node only, no other counts."""
        table = self.table
        if self._node_position != table.node_log.end:
            self._combine_all()
        elif table.terms_epoch != self._terms_seen and self._ask_term_kernels():
            self._combine_with_terms()
        if self._static_penalty_cell[row]:
            return False
        for column in self._local_filters:  # noqa: SIM110 a generator takes as long as the answers
            if column.answer(row):
                return False
        return True

    def sync(self) -> None:
        table = self.table
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
        if rows is None or len(rows) > self.table.capacity // 2:
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
                missed = -self.loss
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
        """None: there is nothing to ask of groups, or too little, or not all kernels can be asked so."""
        filters = self.filters_asked_every_cycle
        if not filters and (not scores or self.table.capacity < FEWEST_SCORED_ROWS):
            return None
        return GroupedBest.of(filters, scores, -self.loss // 2)

    def _combine_with_terms(self) -> None:
        """Terms reject other rows than before."""
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
        """Single cells: what `_combine_local` does for the given rows."""
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
            if self._settle(row, missed, score):
                outdated = True
        if outdated:
            self._normalise()

    def _combine_some(self, rows: NDArray[np.intp]) -> None:
        """Vector operations: what `_combine_local` does for the given rows."""
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

    def _settle(self, row: int, missed: int, score: int) -> bool:
        """Puts in what was found for a row: its penalty and the sum of its scores that need no normalisation. Whether the
        others have to be normalised again."""
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
        """From the fragment columns, everything: a node changed."""
        table = self.table
        for column in self._columns:
            column.sync()
        self._node_position = table.node_log.end
        self._position = table.log.end
        missed = ~table.alive
        for filter_column in self._static_filters:
            missed |= filter_column.values != 0
        #: dtype[capacity]: what the nodes themselves decide.
        self._node_penalty = np.multiply(missed, -self.loss, dtype=self.dtype)
        self._static_score = np.zeros(table.capacity, self.dtype)
        for part in self._static_scores:
            self._static_score += np.multiply(part.column.values, part.weight, dtype=self.dtype)
        self._add_constant_scores()
        self._ask_term_kernels()
        self.grouped = self._new_groups(self.active_cluster_scores)
        self._add_term_rejections()
        self._static_score_cell = self._static_score.data
        self._combine_local()

    def _add_constant_scores(self) -> None:
        """Scores that are 0 on every node normalise to a constant: without taints, say, there is nothing to rank."""
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
        #: dtype[capacity]: 0 for a locally feasible row, else -`_loss`.
        self.penalty = penalty if penalty is not self._static_penalty else penalty.copy()
        #: dtype[capacity]: weighted sum of the scores that need no normalisation.
        self.base = base
        #: Number of locally feasible rows.
        self.count = int(np.count_nonzero(self.penalty == 0))
        self.penalty_cell = self.penalty.data
        self._base_cell = self.base.data
        self.addition = None
        self._normalise()

    def _normalise(self) -> None:
        """Brings `total` up to date after a row became feasible or ceased to be."""
        if self._normalised:
            if self.addition is None:
                self.addition = RelativeScores(self._normalised, self.penalty, self.dtype)
            else:
                self.addition.renew(self.penalty)
        self.total = self.base + self.penalty
        if self.addition is not None:
            self.total += self.addition.values
        self._total_cell = self.total.data
        self.best = self._digest_sum = None
