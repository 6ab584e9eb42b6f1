# SPDX-License-Identifier: Apache-2.0
"""The rows with the greatest total, kept from pod to pod while single totals change; with and without rows that are masked.

Whoever keeps away from its own kind rejects one more row with every pod that is placed. So the mask of one cycle is compared
with that of the cycle before, and only the rows that differ, or that changed in themselves, are looked at.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from steersman.change_log import ChangeLog
from steersman.engine.columns import FEW
from steersman.framework.nodes_view import AnyIntColumn, BoolColumn
from steersman.kept import Kept

#: Beyond, looking for the best among all rows is cheaper than moving single ones.
_FEW_MOVES = 4


BEST_ROWS = Kept(
    name="best rows",
    attributes=("BestRows._buckets", "BestRows.rows"),
    holds="the rows with the greatest total",
    key="one for each signature",
    stamps="never: told of every total that changes",
    bound="one for each signature",
    twin="`rows_of_greatest`",
)


class BestRows:
    """Invariant: every row whose total is at least `_floor` is in the bucket of its total; no bucket is empty."""

    __slots__ = ("_buckets", "_floor", "greatest", "rows")

    def __init__(self, rows: NDArray[np.intp], floor: int) -> None:
        """Rows that all have the total `floor`, and are all that have it or more. None: there are none yet."""
        #: The least total that has a bucket.
        self._floor = floor
        #: The total of `rows`.
        self.greatest = floor
        #: Ascending rows; None when they have to be looked for again. Not to be changed.
        self.rows: array[int] | None = array("i", rows.astype(np.intc).tobytes()) if len(rows) else None
        #: Rows by total. Arrays: there may be thousands of equals, and thousands of signatures.
        self._buckets: dict[int, array[int]] = {} if self.rows is None else {floor: self.rows}

    @classmethod
    def of(cls, totals: AnyIntColumn) -> Self:
        rows = rows_of_greatest(totals)
        return cls(rows, int(totals[rows[0]]))

    @classmethod
    def among(cls, rows: NDArray[np.intp], totals: AnyIntColumn) -> Self:
        """The best of some rows, ascending, at least one."""
        values = totals.take(rows)
        greatest = int(values.max())
        return cls(rows[values == greatest], greatest)

    def move(self, row: int, before: int, now: int) -> None:
        """The total of one row has changed."""
        if before >= self._floor:
            bucket = self._buckets[before]
            if len(bucket) > 1:
                del bucket[bisect_left(bucket, row)]
            else:
                del self._buckets[before]
                self._find_greatest()
        if now >= self._floor:
            known = self._buckets.get(now)
            if known is not None:
                insort(known, row)
            else:
                self._buckets[now] = array("i", (row,))
                self._find_greatest()

    def move_rows(self, rows: NDArray[np.intp], before: AnyIntColumn, now: AnyIntColumn) -> bool:
        """The totals of some rows may have changed. False: of so many that it is cheaper to start afresh."""
        moved = (np.maximum(before, now) >= self._floor) & (before != now)
        index = moved.nonzero()[0]
        if len(index) > _FEW_MOVES:
            return False
        for at in index.tolist():
            self.move(int(rows[at]), int(before[at]), int(now[at]))
        return True

    def _find_greatest(self) -> None:
        if self._buckets:
            self.greatest = max(self._buckets)
            self.rows = self._buckets[self.greatest]
        else:
            self.rows = None


def rows_of_greatest(totals: AnyIntColumn) -> NDArray[np.intp]:
    """Ascending."""
    rows: NDArray[np.intp] = (totals == totals.max()).nonzero()[0]
    return rows


MASKED_BEST_ROWS = Kept(
    name="best rows under a mask",
    attributes=("MaskedBest._masked", "MaskedBest._position"),
    holds="the same without the rows that cluster filters reject",
    key="one for each signature",
    stamps="position in the log of changed rows, and the mask of the cycle before: rows that differ are looked at again",
    bound="one for each signature",
    twin="`rows_of_greatest` of the masked totals",
)


class MaskedBest:
    """Invariant: `_masked` is `_total` as it was at `_position`, or `rejected` where the mask is set; `count` is the number of
    its rows that have more than `least`."""

    __slots__ = ("_best", "_cell", "_least", "_mask", "_masked", "_position", "_rejected", "_total", "count")

    def __init__(self, total: AnyIntColumn, mask: BoolColumn, position: int, rejected: int, least: int = -1) -> None:
        """`total` changes in place only on rows in the log, from `position` on; feasible rows have more than `least`, and
        `rejected`, a rejected row's total, is less than that."""
        self._total = total
        self._mask = mask.copy()
        self._position = position
        self._rejected = rejected
        self._least = least
        self._masked = total.copy()
        self._masked[mask] = rejected
        self._cell = self._masked.data
        self._best = BestRows.of(self._masked)
        #: Feasible rows.
        self.count = int(np.count_nonzero(self._masked > self._least))

    @property
    def rows(self) -> Sequence[int]:
        """Ascending."""
        if self._best.rows is None:
            self._best = BestRows.of(self._masked)
        return self._best.rows or ()

    def follow(self, total: AnyIntColumn, mask: BoolColumn, log: ChangeLog[int]) -> bool:
        """Whether it could be brought up to date; else it has to be made anew."""
        rows = log.since(self._position) if total is self._total else None
        if rows is None or len(rows) > FEW:
            return False
        flipped = (mask != self._mask).nonzero()[0]
        if len(flipped) > FEW:
            return False
        self._position = log.end
        self._mask = mask.copy()
        for row in {*rows, *flipped.tolist()}:
            self._settle(row, self._rejected if mask[row] else int(total[row]))
        return True

    def _settle(self, row: int, now: int) -> None:
        before = self._cell[row]
        if now != before:
            self._cell[row] = now
            self.count += (now > self._least) - (before > self._least)
            self._best.move(row, before, now)
