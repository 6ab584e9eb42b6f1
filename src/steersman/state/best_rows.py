# SPDX-License-Identifier: Apache-2.0
"""The rows with the greatest totals of a signature, kept while single totals change.

Placing a pod changes the total of one row: it leaves the rows that share the greatest total, or goes ahead of them for a
while. So the best rows are looked for among all rows once, and again only when the last of them has dropped behind.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort

import numpy as np
from numpy.typing import NDArray

from steersman.framework.nodes_view import AnyIntColumn

#: Beyond, looking for the best among all rows is cheaper than moving single ones.
_FEW_MOVES = 4


class BestRows:
    """Invariant: every row whose total is at least `_floor` is in the bucket of its total; no bucket is empty."""

    __slots__ = ("_buckets", "_floor", "rows")

    def __init__(self, totals: AnyIntColumn) -> None:
        rows = rows_of_greatest(totals)
        #: The least total that has a bucket.
        self._floor = int(totals[rows[0]])
        #: Ascending rows; None when they have to be looked for again. Not to be changed.
        self.rows: array[int] | None = array("i", rows.astype(np.intc).tobytes())
        #: Rows by total. Arrays: there may be thousands of equals, and thousands of signatures.
        self._buckets: dict[int, array[int]] = {self._floor: self.rows}

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
        self.rows = self._buckets[max(self._buckets)] if self._buckets else None


def rows_of_greatest(totals: AnyIntColumn) -> NDArray[np.intp]:
    """Ascending."""
    rows: NDArray[np.intp] = (totals == totals.max()).nonzero()[0]
    return rows
