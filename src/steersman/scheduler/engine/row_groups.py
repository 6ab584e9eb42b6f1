# SPDX-License-Identifier: Apache-2.0
"""The best rows by groups: one verdict and one score for all rows that cluster kernels treat alike.

The result of a spread constraint for a row follows from a few numbers: its domain, or the number of
matching pods on it (`RowFeature`). Rows with equal numbers form a group. Placing a pod moves one
row; in every cycle the kernels evaluate a handful of groups instead of all rows. `Signature` uses
groups for sequences of similar pods, and columns, the reference, otherwise.

    row ─► features ─► group ─► its best rows by total
    best of all: greatest total + score among the groups that pass
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Self, TypeAlias

import numpy as np

from steersman.base import CacheSpec, ChangeLog
from steersman.framework import AnyIntColumn, GroupingFilterKernel, GroupingScoreKernel, RowFeature
from steersman.scheduler.engine.best_rows import BestRows
from steersman.scheduler.engine.columns import MAX_SINGLE_ROWS
from steersman.scheduler.engine.totals_digest import DigestedTotals, factors_of

#: Maximum number of groups; with more, columns are as fast.
MAX_GROUPS = 96
#: Maximum number of changed rows to move one by one; with more, a rebuild costs as much.
_MAX_MOVED_ROWS = 128
#: Total of a row that is not in a group: lower than any.
_NOWHERE = -(1 << 62)
_NO_ROWS = np.zeros(0, np.intp)
#: Maximum product of feature ranges that fits in 64 bits.
_MAX_CODES = 1 << 62
#: Number of rows of each group that are sorted to find one of them.
_NEAR = 24

FeatureValues: TypeAlias = tuple[tuple[int, ...], ...]
"""Feature values that determine the kernels' results, by kernel."""


ROW_GROUPS = CacheSpec(
    name="groups of rows",
    attributes=("GroupedRows._numbers", "GroupedRows._by_values", "GroupedRows._position"),
    contents="rows that all cluster kernels treat alike, with the best rows of each group",
    key="one for each signature",
    invalidation="position in the log of changed rows: those are regrouped; a changed node: rebuilt",
    limit="96 groups for each signature; beyond that, totals are computed by columns",
    reference="`rows_of_greatest` of the totals by columns",
    is_inline=True,
)


class RowGroup:
    """Rows with the same features."""

    __slots__ = ("best", "count", "factors", "number", "products", "values")

    def __init__(self, number: int, values: FeatureValues, count: int, best: BestRows | None) -> None:
        self.number = number
        self.values = values
        #: Number of its locally feasible rows.
        self.count = count
        #: Its best rows, or None if they must be recomputed.
        self.best = best
        #: Sum of the factors of its feasible rows, and of their products with the totals, if
        #: digests are used (`totals_digest`).
        self.factors = self.products = 0


class GroupedRows:
    """Invariant: as of `_position`, `_numbers` has the group number of every row, and `_seen` its
    total."""

    def __init__(
        self, total: AnyIntColumn, parts: Sequence[Sequence[RowFeature]], position: int, threshold: int = -1
    ) -> None:
        """`total` changes in place only on rows in the log after `position`; feasible rows have
        more than `threshold`."""
        self._threshold = threshold
        self._total = total
        self._total_cell = total.data
        self._seen = total.copy()
        self._seen_cell = self._seen.data
        self._parts = [[feature.value for feature in part] for part in parts]
        self._follows_pods = any(feature.follows_pods for part in parts for feature in part)
        self._position = position
        codes = _codes([feature.column() for part in parts for feature in part])
        _, first, numbers = np.unique(codes, return_index=True, return_inverse=True)
        #: intp[capacity]: group number by row.
        self._numbers = numbers
        self._number_cell = numbers.data
        counts = np.bincount(numbers[total > threshold], minlength=len(first)).tolist()
        self._groups = [
            RowGroup(number, self._values_of(row), counts[number], None) for number, row in enumerate(first.tolist())
        ]
        self._by_values = {group.values: group for group in self._groups}
        #: Groups with locally feasible rows, or None if they must be recomputed.
        self._nonempty: list[RowGroup] | None = None
        #: Factors of rows in a digest; None until a digest is requested.
        self._factors: Sequence[int] | None = None

    def total_at(self, row: int) -> tuple[RowGroup, int]:
        """Return the group of a row, and its total."""
        return self._groups[self._number_cell[row]], self._seen_cell[row]

    def enable_digests(self) -> None:
        """Maintain the digest sums of groups from now on."""
        if self._factors is not None:
            return
        factors = factors_of(len(self._seen))
        self._factors = factors.cells
        feasible = np.where(self._seen > self._threshold, factors.column, 0)
        sums, products = np.zeros((2, len(self._groups)), np.int64)
        np.add.at(sums, self._numbers, feasible)
        np.add.at(products, self._numbers, feasible * (self._seen.astype(np.int64) + 1))
        for group, of_factors, of_products in zip(self._groups, sums.tolist(), products.tolist(), strict=True):
            group.factors, group.products = of_factors, of_products

    @property
    def size(self) -> int:
        """Number of groups, including empty ones."""
        return len(self._groups)

    def nonempty_groups(self) -> list[RowGroup]:
        """Return the groups with locally feasible rows; an identical object means identical
        groups."""
        if self._nonempty is None:
            self._nonempty = [group for group in self._groups if group.count]
        return self._nonempty

    def best_of(self, group: RowGroup) -> BestRows:
        """Return the best rows of a non-empty group."""
        best = group.best
        if best is None or best.rows is None:
            best = group.best = BestRows.among((self._numbers == group.number).nonzero()[0], self._seen)
        return best

    def follow(self, total: AnyIntColumn, log: ChangeLog[int]) -> bool:
        """Update from the log; return False if it must be rebuilt instead."""
        rows = log.since(self._position) if total is self._total else None
        if rows is None or len(rows) > _MAX_MOVED_ROWS or len(self._groups) > MAX_GROUPS:
            return False
        self._position = log.end
        for row in rows:
            self._update_row(row)
        return True

    def _update_row(self, row: int) -> None:
        """Update a row whose total or features may have changed."""
        before, now, threshold = self._seen_cell[row], self._total_cell[row], self._threshold
        self._seen_cell[row] = now
        left = self._groups[self._number_cell[row]]
        entered = self._group_of(row) if self._follows_pods else left
        if self._factors is not None:
            factor = self._factors[row]
            if before > threshold:
                left.factors -= factor
                left.products -= factor * (before + 1)
            if now > threshold:
                entered.factors += factor
                entered.products += factor * (now + 1)
        if left is entered:
            if now != before:
                self._count(left, (now > threshold) - (before > threshold))
                if left.best is not None:
                    left.best.move(row, before, now)
            return
        self._number_cell[row] = entered.number
        self._count(left, -(before > threshold))
        self._count(entered, now > threshold)
        if left.best is not None:
            left.best.move(row, before, _NOWHERE)
        if entered.best is not None:
            entered.best.move(row, _NOWHERE, now)

    def _count(self, group: RowGroup, difference: int) -> None:
        if difference:
            was_inhabited = group.count > 0
            group.count += difference
            if was_inhabited is not (group.count > 0):
                self._nonempty = None

    def _group_of(self, row: int) -> RowGroup:
        values = self._values_of(row)
        group = self._by_values.get(values)
        if group is None:
            group = RowGroup(len(self._groups), values, 0, BestRows(_NO_ROWS, _NOWHERE + 1))
            self._by_values[values] = group
            self._groups.append(group)
        return group

    def _values_of(self, row: int) -> FeatureValues:
        return tuple([tuple([of(row) for of in part]) for part in self._parts])


def _codes(columns: Sequence[AnyIntColumn]) -> AnyIntColumn:
    """Return a code by row that is equal exactly for rows that are equal in all columns."""
    codes: AnyIntColumn = np.zeros(len(columns[0]), np.int64)
    product = 1
    for column in columns:
        size = int(column.max()) + 1
        if product * size > _MAX_CODES:
            # Ids of freed domains leave gaps; there are at most as many distinct codes as rows.
            codes, product = np.unique(codes, return_inverse=True)[1], len(codes)
        codes, product = codes * size + column, product * size
    return codes


class MergedRows(Sequence[int]):
    """The rows of several groups in ascending order, without merging them into one list, because
    only one row is chosen."""

    __slots__ = ("_groups", "_length")

    def __init__(self, groups: Sequence[Sequence[int]]) -> None:
        """Each group is ascending and not empty."""
        self._groups = groups
        self._length = sum(map(len, groups))

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> int:  # type: ignore[override]  # slices are not needed
        """Return the row at the index. Rows are usually spread evenly over groups, so interpolation
        gets close, and a few neighbours are sorted. Every other step bisects."""
        if not 0 <= index < self._length:
            raise IndexError(index)
        groups = self._groups
        low, high = min([group[0] for group in groups]), max([group[-1] for group in groups])
        below, upto, halves = 0, self._length, False
        while True:
            share = (high - low) // 2 if halves else (high - low) * (index - below) // (upto - below)
            guess = low + share
            ends = [bisect_right(group, guess) for group in groups]
            too_many = sum(ends) - index
            if 0 < too_many <= _NEAR:
                near = [
                    row for group, end in zip(groups, ends, strict=True) for row in group[max(0, end - too_many) : end]
                ]
                return sorted(near)[-too_many]
            if -_NEAR < too_many <= 0:
                near = [row for group, end in zip(groups, ends, strict=True) for row in group[end : end - too_many + 1]]
                return sorted(near)[-too_many]
            if too_many > 0:
                high, upto = guess, index + too_many
            else:
                low, below = guess + 1, index + too_many
            halves = not halves


class GroupedBest:
    """The best rows of a signature by groups, for sequences of pods between which few rows
    change."""

    def __init__(
        self,
        filters: Sequence[GroupingFilterKernel],
        scores: Sequence[tuple[int, GroupingScoreKernel]],
        threshold: int = -1,
    ) -> None:
        """Totals of feasible rows are greater than `threshold`, others lower."""
        self._threshold = threshold
        self._filters = list(enumerate(filters))
        self._scores = list(enumerate(scores, len(filters)))
        self._part_count = len(filters) + len(scores)
        #: Kernels whose features may become insufficient.
        kernels: list[GroupingFilterKernel | GroupingScoreKernel] = [*filters, *(kernel for _, kernel in scores)]
        self._changing = [kernel for kernel in kernels if _may_change(kernel)]
        self._rows: GroupedRows | None = None
        #: Groups of the last call, and the values of their features by kernel.
        self._groups: list[RowGroup] | None = None
        self._values: list[list[tuple[int, ...]]] = []
        #: End of the log and totals at the last call: groups are only built if totals persist from
        #: pod to pod.
        self._asked = -1
        self._total: AnyIntColumn | None = None
        #: Whether columns must always be used; `find` then need not be called.
        self.is_disabled = False
        #: Results of the last call by group: number of feasible rows, greatest total without and
        #: with the kernels' scores.
        self._counts: list[int] = []
        self._plain: list[int] = []
        self._scored: list[int] = []

    @classmethod
    def create(
        cls, filters: Sequence[object], scores: Sequence[tuple[int, object]], threshold: int = -1
    ) -> Self | None:
        """Return None if one of the kernels has no features."""
        grouping = [kernel for kernel in filters if isinstance(kernel, GroupingFilterKernel)]
        scoring = [(weight, kernel) for weight, kernel in scores if isinstance(kernel, GroupingScoreKernel)]
        if len(grouping) < len(filters) or len(scoring) < len(scores):
            return None
        return cls(grouping, scoring, threshold)

    def find(self, total: AnyIntColumn, log: ChangeLog[int]) -> tuple[Sequence[int], int] | None:
        """Return the rows with the greatest total including scores, ascending, and the number of
        feasible rows; None if columns must be used."""
        previous, self._asked = self._asked, log.end
        is_same, self._total = total is self._total, total
        if self.is_disabled:
            return None
        rows = self._rows
        if rows is not None:
            if (self._changing and not self._has_current_features()) or not rows.follow(total, log):
                self._rows = None
        elif is_same and 0 <= log.end - previous <= MAX_SINGLE_ROWS and previous >= 0:
            self._make(total, log.end)
        return None if self._rows is None else self._best(self._rows)

    def _has_current_features(self) -> bool:
        return all(kernel.has_current_features() for kernel in self._changing)

    def digested(self, row: int) -> DigestedTotals:
        """Return the digest of all totals including scores by which the best rows were found; `row`
        is one of them."""
        assert self._rows is not None
        assert self._groups is not None
        self._rows.enable_digests()
        chosen, total = self._rows.total_at(row)
        digest = 0
        for group, count, plain, scored in zip(self._groups, self._counts, self._plain, self._scored, strict=True):
            added = scored - plain
            if count:
                digest += group.products + added * group.factors
            if group is chosen:
                total += added
        return DigestedTotals(f"{digest:x}", total)

    def _make(self, total: AnyIntColumn, position: int) -> None:
        parts: list[Sequence[RowFeature]] = []
        kernels: list[GroupingFilterKernel | GroupingScoreKernel] = [kernel for _, kernel in self._filters]
        kernels += [kernel for _, (_, kernel) in self._scores]
        for kernel in kernels:
            features = kernel.features()
            if features is None:
                self.is_disabled = True
                return
            parts.append(features)
        rows = GroupedRows(total, parts, position, self._threshold)
        if rows.size > MAX_GROUPS:
            self.is_disabled = True
        else:
            self._rows = rows

    def _best(self, rows: GroupedRows) -> tuple[Sequence[int], int]:
        groups = rows.nonempty_groups()
        if groups is not self._groups:
            self._groups = groups
            self._values = [[group.values[part] for group in groups] for part in range(self._part_count)]
        counts = [group.count for group in groups]
        for part, kernel in self._filters:
            rejected = kernel.rejected_groups(self._values[part])
            if True in rejected:
                counts = [0 if is_rejected else count for count, is_rejected in zip(counts, rejected, strict=True)]
        count = sum(counts)
        if not count:
            return (), 0
        best = [rows.best_of(group) for group in groups]
        totals = greatest_of_each = [each.greatest for each in best]
        if count > 1:
            for part, (weight, scorer) in self._scores:
                scores = scorer.group_scores(self._values[part], counts)
                if scores is not None:
                    totals = [total + weight * score for total, score in zip(totals, scores, strict=True)]
        self._counts, self._plain, self._scored = counts, greatest_of_each, totals
        if 0 in counts:
            totals = [total if left else _NOWHERE for total, left in zip(totals, counts, strict=True)]
        greatest = max(totals)
        winners = [each.rows or () for each, total in zip(best, totals, strict=True) if total == greatest]
        return winners[0] if len(winners) == 1 else MergedRows(winners), count


def _may_change(kernel: GroupingFilterKernel | GroupingScoreKernel) -> bool:
    unchanged = (GroupingFilterKernel.has_current_features, GroupingScoreKernel.has_current_features)
    return type(kernel).has_current_features not in unchanged
