# SPDX-License-Identifier: Apache-2.0
"""The best rows of a signature without those that a filter of the whole cluster rejects, kept from pod to pod.

Whoever keeps away from its own kind rejects one more row with every pod that is placed. So the mask of one cycle is compared
with that of the cycle before, and only the rows that differ, or that changed in themselves, are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steersman.framework.nodes_view import AnyIntColumn, BoolColumn
from steersman.state.best_rows import BestRows
from steersman.state.dirty_log import DirtyLog
from steersman.state.fragment_columns import FEW


class MaskedBest:
    """Invariant: `_masked` is `_total` as it was at `_position`, or `rejected` where the mask is set; `count` is the number of
    its rows that are not negative."""

    __slots__ = ("_best", "_cell", "_mask", "_masked", "_position", "_rejected", "_total", "count")

    def __init__(self, total: AnyIntColumn, mask: BoolColumn, position: int, rejected: int) -> None:
        """`total` changes in place only on rows in the log, from `position` on; feasible rows are not negative, and
        `rejected`, a rejected row's total, is less than any."""
        self._total = total
        self._mask = mask.copy()
        self._position = position
        self._rejected = rejected
        self._masked = total.copy()
        self._masked[mask] = rejected
        self._cell = self._masked.data
        self._best = BestRows(self._masked)
        #: Feasible rows.
        self.count = int(np.count_nonzero(self._masked >= 0))

    @property
    def rows(self) -> Sequence[int]:
        """Ascending."""
        if self._best.rows is None:
            self._best = BestRows(self._masked)
        return self._best.rows or ()

    def follow(self, total: AnyIntColumn, mask: BoolColumn, log: DirtyLog) -> bool:
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
            self.count += (now >= 0) - (before >= 0)
            self._best.move(row, before, now)
