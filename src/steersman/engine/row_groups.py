# SPDX-License-Identifier: Apache-2.0
"""The best rows where cluster kernels treat rows alike: rows in groups, one verdict and one score for each group.

What a spread constraint says of a row follows from a few numbers: the domain that it is in, or how many matching pods are on
it (`RowFeature`). Rows with the same numbers make a group. A pod that is placed moves one row; which groups are rejected and
what they score is asked anew in every cycle, of a handful of groups instead of all rows. `Signature` asks here in runs of
similar pods, and computes by columns otherwise: the twin.

    row ─► features ─► group ─► its best rows by total      best of all: greatest total + score among the groups that pass
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Self, TypeAlias

import numpy as np

from steersman.change_log import ChangeLog
from steersman.engine.best_rows import BestRows
from steersman.engine.columns import FEW
from steersman.engine.totals_digest import DigestedTotals, factors_of
from steersman.framework.columns import GroupingFilterKernel, GroupingScoreKernel, RowFeature
from steersman.framework.nodes_view import AnyIntColumn
from steersman.kept import Kept

#: With more groups, columns are not slower.
MOST_GROUPS = 96
#: More changed rows than this are not moved one by one: making groups anew costs as much.
_MOST_MOVED = 128
#: The total of a row that is not in a group: less than any.
_NOWHERE = -(1 << 62)
_NO_ROWS = np.zeros(0, np.intp)
#: Numbers up to this can be multiplied and added up in 64 bits.
_MOST_CODES = 1 << 62
#: So many rows of each group are put in order to find one of them.
_NEAR = 24

FeatureValues: TypeAlias = tuple[tuple[int, ...], ...]
"""By kernel, the numbers that its answer follows from."""


ROW_GROUPS = Kept(
    name="groups of rows",
    attributes=("GroupedRows._numbers", "GroupedRows._by_values", "GroupedRows._position"),
    holds="the rows that cluster kernels treat alike, with the best rows of each such group",
    key="one for each signature",
    stamps="position in the log of changed rows: those are moved; a changed node: made anew",
    bound="96 groups for each signature; beyond, everything is computed by columns",
    twin="`rows_of_greatest` of the totals by columns",
    is_inline=True,
)


class RowGroup:
    """Rows with the same features."""

    __slots__ = ("best", "count", "factors", "number", "products", "values")

    def __init__(self, number: int, values: FeatureValues, count: int, best: BestRows | None) -> None:
        self.number = number
        self.values = values
        #: Its rows that are locally feasible.
        self.count = count
        #: None: to be looked for.
        self.best = best
        #: Of its feasible rows, where somebody asks for digests: the sum of their factors, and of the products that are the
        #: digest of their totals (`totals_digest`).
        self.factors = self.products = 0


class GroupedRows:
    """Invariant: as of `_position`, `_numbers` has for every row the number of the group with its features, and `_seen` its
    total."""

    def __init__(
        self, total: AnyIntColumn, parts: Sequence[Sequence[RowFeature]], position: int, least: int = -1
    ) -> None:
        """`total` changes in place only on rows in the log, from `position` on; feasible rows have more than `least`."""
        self._least = least
        self._total = total
        self._total_cell = total.data
        self._seen = total.copy()
        self._seen_cell = self._seen.data
        self._parts = [[feature.of for feature in part] for part in parts]
        self._follows_pods = any(feature.follows_pods for part in parts for feature in part)
        self._position = position
        codes = _codes([feature.column() for part in parts for feature in part])
        _, first, numbers = np.unique(codes, return_index=True, return_inverse=True)
        #: intp[capacity]: the number of the group by row.
        self._numbers = numbers
        self._number_cell = numbers.data
        counts = np.bincount(numbers[total > least], minlength=len(first)).tolist()
        self._groups = [
            RowGroup(number, self._values_of(row), counts[number], None) for number, row in enumerate(first.tolist())
        ]
        self._by_values = {group.values: group for group in self._groups}
        #: Groups with locally feasible rows; None: to be looked for.
        self._inhabited: list[RowGroup] | None = None
        #: The factors of rows in a digest; None: nobody has asked for one.
        self._factors: Sequence[int] | None = None

    def total_at(self, row: int) -> tuple[RowGroup, int]:
        """The group of a row, and its total."""
        return self._groups[self._number_cell[row]], self._seen_cell[row]

    def follow_digests(self) -> None:
        """From now on, groups know their parts of a digest."""
        if self._factors is not None:
            return
        factors = factors_of(len(self._seen))
        self._factors = factors.cells
        feasible = np.where(self._seen > self._least, factors.column, 0)
        sums, products = np.zeros((2, len(self._groups)), np.int64)
        np.add.at(sums, self._numbers, feasible)
        np.add.at(products, self._numbers, feasible * (self._seen.astype(np.int64) + 1))
        for group, of_factors, of_products in zip(self._groups, sums.tolist(), products.tolist(), strict=True):
            group.factors, group.products = of_factors, of_products

    @property
    def size(self) -> int:
        """The number of groups, also of those that all rows have left."""
        return len(self._groups)

    def inhabited(self) -> list[RowGroup]:
        """Groups with locally feasible rows; the same object as long as these are the same groups."""
        if self._inhabited is None:
            self._inhabited = [group for group in self._groups if group.count]
        return self._inhabited

    def best_of(self, group: RowGroup) -> BestRows:
        """The best rows of a group that has any."""
        best = group.best
        if best is None or best.rows is None:
            best = group.best = BestRows.among((self._numbers == group.number).nonzero()[0], self._seen)
        return best

    def follow(self, total: AnyIntColumn, log: ChangeLog[int]) -> bool:
        """Whether it could be brought up to date; else it has to be made anew."""
        rows = log.since(self._position) if total is self._total else None
        if rows is None or len(rows) > _MOST_MOVED or len(self._groups) > MOST_GROUPS:
            return False
        self._position = log.end
        for row in rows:
            self._settle(row)
        return True

    def _settle(self, row: int) -> None:
        """A row whose total or features may have changed."""
        before, now, least = self._seen_cell[row], self._total_cell[row], self._least
        self._seen_cell[row] = now
        left = self._groups[self._number_cell[row]]
        entered = self._group_of(row) if self._follows_pods else left
        if self._factors is not None:
            factor = self._factors[row]
            if before > least:
                left.factors -= factor
                left.products -= factor * (before + 1)
            if now > least:
                entered.factors += factor
                entered.products += factor * (now + 1)
        if left is entered:
            if now != before:
                self._count(left, (now > least) - (before > least))
                if left.best is not None:
                    left.best.move(row, before, now)
            return
        self._number_cell[row] = entered.number
        self._count(left, -(before > least))
        self._count(entered, now > least)
        if left.best is not None:
            left.best.move(row, before, _NOWHERE)
        if entered.best is not None:
            entered.best.move(row, _NOWHERE, now)

    def _count(self, group: RowGroup, difference: int) -> None:
        if difference:
            was_inhabited = group.count > 0
            group.count += difference
            if was_inhabited is not (group.count > 0):
                self._inhabited = None

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
    """A number by row that is the same exactly where all columns are."""
    codes: AnyIntColumn = np.zeros(len(columns[0]), np.int64)
    most = 1
    for column in columns:
        size = int(column.max()) + 1
        if most * size > _MOST_CODES:
            # Ids of domains that are gone leave gaps: there are no more different codes than rows.
            codes, most = np.unique(codes, return_inverse=True)[1], len(codes)
        codes, most = codes * size + column, most * size
    return codes


class MergedRows(Sequence[int]):
    """The rows of several groups, ascending, without putting them in one list: of thousands of equals one is chosen."""

    __slots__ = ("_groups", "_length")

    def __init__(self, groups: Sequence[Sequence[int]]) -> None:
        """Each is ascending, and none is empty."""
        self._groups = groups
        self._length = sum(map(len, groups))

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> int:  # type: ignore[override]  # nobody takes slices of them
        """The row before which there are `index` others. Rows are spread evenly over groups as a rule: a guess by proportion
        comes near, and a few neighbours are put in order. Every other guess halves what is left."""
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
    """The best rows of a signature by groups, in runs of pods between which few rows change."""

    def __init__(
        self,
        filters: Sequence[GroupingFilterKernel],
        scores: Sequence[tuple[int, GroupingScoreKernel]],
        least: int = -1,
    ) -> None:
        """Totals of feasible rows are more than `least`, others less."""
        self._least = least
        self._filters = list(enumerate(filters))
        self._scores = list(enumerate(scores, len(filters)))
        self._part_count = len(filters) + len(scores)
        self._rows: GroupedRows | None = None
        #: The groups of which was asked last, and by kernel the values of their features.
        self._groups: list[RowGroup] | None = None
        self._values: list[list[tuple[int, ...]]] = []
        #: Where the log ended when the best rows were last asked for, and the totals: where every pod brings others, groups
        #: would be thrown away as soon as they are made.
        self._asked = -1
        self._total: AnyIntColumn | None = None
        self._is_hopeless = False
        #: Of the last time: how many feasible rows each of the groups has, and the greatest total of each without and with what
        #: the kernels have added to it.
        self._counts: list[int] = []
        self._plain: list[int] = []
        self._scored: list[int] = []

    @classmethod
    def of(cls, filters: Sequence[object], scores: Sequence[tuple[int, object]], least: int = -1) -> Self | None:
        """None: one of the kernels does not tell rows by features."""
        grouping = [kernel for kernel in filters if isinstance(kernel, GroupingFilterKernel)]
        scoring = [(weight, kernel) for weight, kernel in scores if isinstance(kernel, GroupingScoreKernel)]
        if len(grouping) < len(filters) or len(scoring) < len(scores):
            return None
        return cls(grouping, scoring, least)

    def find(self, total: AnyIntColumn, log: ChangeLog[int]) -> tuple[Sequence[int], int] | None:
        """The rows with the greatest total and score, ascending, and how many are feasible; None: compute by columns."""
        asked, self._asked = self._asked, log.end
        is_same, self._total = total is self._total, total
        if self._is_hopeless:
            return None
        if self._rows is not None and not self._rows.follow(total, log):
            self._rows = None
        elif self._rows is None and is_same and 0 <= log.end - asked <= FEW and asked >= 0:
            self._make(total, log.end)
        return None if self._rows is None else self._best(self._rows)

    def digested(self, row: int) -> DigestedTotals:
        """The digest of all totals, with what kernels have added, by which the best rows were found; this is one of them."""
        assert self._rows is not None
        assert self._groups is not None
        self._rows.follow_digests()
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
                self._is_hopeless = True
                return
            parts.append(features)
        rows = GroupedRows(total, parts, position, self._least)
        if rows.size > MOST_GROUPS:
            self._is_hopeless = True
        else:
            self._rows = rows

    def _best(self, rows: GroupedRows) -> tuple[Sequence[int], int]:
        groups = rows.inhabited()
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
