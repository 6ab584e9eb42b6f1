# SPDX-License-Identifier: Apache-2.0
"""Classes of rows with equal amounts: what a kernel says about one row of a class holds for all.

Large clusters have few kinds of nodes, and most nodes of a kind run the same pods. The first scan
of a new pod template evaluates one row of each class (`engine.columns`) instead of all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from steersman.base import CacheSpec, ChangeLog
from steersman.framework import Column, IntColumn

MIN_ROWS: Final = 4096
"""With fewer rows, evaluating all of them is as fast."""
#: There are at most this many rows for each class; with more classes there is nothing to gain.
_MIN_ROWS_PER_CLASS: Final = 8
#: More changed rows are classified together.
_MAX_SINGLE_ROWS: Final = 2000
#: Odd multiplier of a hash of the amounts.
_MULTIPLIER: Final = np.int64(-7046029254386353131)


ROW_CLASSES = CacheSpec(
    name="classes of rows",
    attributes=("RowClasses._ids", "RowClasses._by_amounts", "RowClasses._position"),
    contents="which rows have equal amounts of cpu, memory and pods, offered and requested",
    key="row",
    invalidation="position in the log of changed rows: those are classified again",
    limit="one class for every 8 rows; with more, none until as many rows have changed as there are",
    reference="the columns of amounts",
    checked_by="tests/state/test_row_classes.py",
    is_inline=True,
)


class RowClasses:
    """Invariant: as of `_position`, rows with the same id have equal amounts in all columns."""

    def __init__(self, columns: Sequence[Column], log: ChangeLog[int]) -> None:
        self._columns = columns
        self._cells = [column.cell for column in columns]
        self._log = log
        self._position = -1
        #: intp[capacity]: class by row.
        self._ids: NDArray[np.intp] = np.zeros(0, np.intp)
        #: By class: a row of it, unless it is empty, and the number of its rows.
        self._members: NDArray[np.intp] = np.zeros(0, np.intp)
        self._counts: list[int] = []
        self._by_amounts: dict[tuple[int, ...], int] = {}
        #: Position in the log until which there are too many classes.
        self._none_until = -1

    def current(self) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
        """Return a row of each class, and the class of each row; None if there are too many."""
        end = self._log.end
        if end < self._none_until:
            return None
        if not self._follow():
            self._classify_all()
        self._position = end
        if len(self._counts) * _MIN_ROWS_PER_CLASS > len(self._columns[0].values):
            self._by_amounts, self._position = {}, -1
            self._none_until = end + len(self._columns[0].values)
            return None
        return self._members, self._ids

    def _follow(self) -> bool:
        """Classify the changed rows; return whether that is possible."""
        rows = self._log.since(self._position) if self._position >= 0 else None
        if rows is None or len(rows) > _MAX_SINGLE_ROWS:
            return False
        has_lost_member = False
        added: list[int] = []
        for row in rows:
            amounts = tuple([cell[row] for cell in self._cells])
            entered = self._by_amounts.get(amounts)
            if entered is None:
                entered = self._by_amounts[amounts] = len(self._counts)
                self._counts.append(0)
                added.append(row)
            left = int(self._ids[row])
            if left == entered:
                continue
            self._ids[row] = entered
            self._counts[left] -= 1
            self._counts[entered] += 1
            # The class may have been empty, or its member may be the one that leaves.
            has_lost_member |= self._counts[entered] == 1 or (
                left < len(self._members) and self._members[left] == row and self._counts[left] > 0
            )
        if added:
            self._members = np.concatenate([self._members, np.array(added, np.intp)])
        if has_lost_member:
            self._members[self._ids] = np.arange(len(self._ids))
        return True

    def _classify_all(self) -> None:
        columns = [column.values for column in self._columns]
        _, first, ids = np.unique(_hashes(columns), return_index=True, return_inverse=True)
        if any(not np.array_equal(column[first].take(ids), column) for column in columns):
            # Different amounts have the same hash.
            _, first, ids = np.unique(np.stack(columns), axis=1, return_index=True, return_inverse=True)
        self._members, self._ids = first.astype(np.intp), ids.reshape(-1).astype(np.intp)
        self._counts = np.bincount(self._ids, minlength=len(first)).tolist()
        amounts = zip(*(column[first].tolist() for column in columns), strict=True)
        self._by_amounts = {each: number for number, each in enumerate(amounts)}


def _hashes(columns: Sequence[IntColumn]) -> IntColumn:
    hashes: IntColumn = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        hashes = (hashes ^ column) * _MULTIPLIER
        hashes ^= hashes >> np.int64(29)
    return hashes
