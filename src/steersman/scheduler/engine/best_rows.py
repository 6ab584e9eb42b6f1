# SPDX-License-Identifier: Apache-2.0
"""The rows with the greatest total, updated as single totals change; with and without masked rows.

Pods with anti-affinity to themselves reject one more row with every placement. So the mask of a
cycle is compared with that of the previous one, and only rows that differ or changed are
re-evaluated.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from steersman.base import CacheSpec, ChangeLog
from steersman.framework import AnyIntColumn, BoolColumn
from steersman.scheduler.engine.columns import MAX_SINGLE_ROWS

#: With more changed rows, finding the best rows again is cheaper than moving single ones.
_MAX_MOVES = 4


BEST_ROWS = CacheSpec(
    name="best rows",
    attributes=("BestRows._buckets", "BestRows.rows"),
    contents="the rows with the greatest total",
    key="one for each signature",
    invalidation="never: updated with every total that changes",
    limit="one for each signature",
    reference="`rows_of_greatest`",
)


class BestRows:
    """Invariant: every row whose total is at least `_floor` is in the bucket of its total; no
    bucket is empty."""

    __slots__ = ("_buckets", "_floor", "greatest", "rows")

    def __init__(self, rows: NDArray[np.intp], floor: int) -> None:
        """`rows` are all rows whose total is `floor` or more, and all have exactly this total; may
        be empty."""
        #: Lowest total that has a bucket.
        self._floor = floor
        #: Total of `rows`.
        self.greatest = floor
        #: Rows in ascending order, read-only; None if they must be recomputed.
        self.rows: array[int] | None = array("i", rows.astype(np.intc).tobytes()) if len(rows) else None
        #: Rows by total. Arrays, because there may be thousands of equal rows and thousands of
        #: signatures.
        self._buckets: dict[int, array[int]] = {} if self.rows is None else {floor: self.rows}

    @classmethod
    def from_totals(cls, totals: AnyIntColumn) -> Self:
        rows = rows_of_greatest(totals)
        return cls(rows, int(totals[rows[0]]))

    @classmethod
    def among(cls, rows: NDArray[np.intp], totals: AnyIntColumn) -> Self:
        """Return the best of these rows, which are ascending and not empty."""
        values = totals.take(rows)
        greatest = int(values.max())
        return cls(rows[values == greatest], greatest)

    def move(self, row: int, before: int, now: int) -> None:
        """Update the total of one row."""
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
        """Update the totals of several rows. Returns False if a rebuild is cheaper because of the
        number of changes."""
        moved = (np.maximum(before, now) >= self._floor) & (before != now)
        index = moved.nonzero()[0]
        if len(index) > _MAX_MOVES:
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
    """Return the rows with the greatest total in ascending order."""
    rows: NDArray[np.intp] = (totals == totals.max()).nonzero()[0]
    return rows


MASKED_BEST_ROWS = CacheSpec(
    name="best rows under a mask",
    attributes=("MaskedBest._masked", "MaskedBest._position"),
    contents="the same without the rows that cluster filters reject",
    key="one for each signature",
    invalidation="position in the log of changed rows, and the mask of the cycle before: rows that differ are re-evaluated",
    limit="one for each signature",
    reference="`rows_of_greatest` of the masked totals",
)


class MaskedBest:
    """Best rows without rejected ones.

    Invariant: `_masked` is `_total` as of `_position`, or `rejected` where the mask is set; `count`
    is the number of its rows with more than `threshold`.
    """

    __slots__ = ("_best", "_cell", "_mask", "_masked", "_position", "_rejected", "_threshold", "_total", "count")

    def __init__(
        self, total: AnyIntColumn, mask: BoolColumn, position: int, rejected: int, threshold: int = -1
    ) -> None:
        """`total` changes in place only on rows in the log after `position`. Feasible rows have
        more than `threshold`; `rejected` is the total to store for rejected rows and is lower."""
        self._total = total
        self._mask = mask.copy()
        self._position = position
        self._rejected = rejected
        self._threshold = threshold
        self._masked = total.copy()
        self._masked[mask] = rejected
        self._cell = self._masked.data
        self._best = BestRows.from_totals(self._masked)
        #: Number of feasible rows.
        self.count = int(np.count_nonzero(self._masked > self._threshold))

    @property
    def rows(self) -> Sequence[int]:
        """The best rows in ascending order."""
        if self._best.rows is None:
            self._best = BestRows.from_totals(self._masked)
        return self._best.rows or ()

    def follow(self, total: AnyIntColumn, mask: BoolColumn, log: ChangeLog[int]) -> bool:
        """Update from the log; return False if it must be rebuilt instead."""
        rows = log.since(self._position) if total is self._total else None
        if rows is None or len(rows) > MAX_SINGLE_ROWS:
            return False
        flipped = (mask != self._mask).nonzero()[0]
        if len(flipped) > MAX_SINGLE_ROWS:
            return False
        self._position = log.end
        self._mask = mask.copy()
        for row in {*rows, *flipped.tolist()}:
            self._update_row(row, self._rejected if mask[row] else int(total[row]))
        return True

    def _update_row(self, row: int, now: int) -> None:
        before = self._cell[row]
        if now != before:
            self._cell[row] = now
            self.count += (now > self._threshold) - (before > self._threshold)
            self._best.move(row, before, now)
