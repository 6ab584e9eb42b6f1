# SPDX-License-Identifier: Apache-2.0
"""Which rows changed, in order: how cached columns catch up without looking at every row.

A reader remembers the position `end` at which it was exact; everything appended since then is what it has to look at
again. Old entries are dropped from the front: a reader behind `base` starts afresh.
"""

from __future__ import annotations

from collections.abc import Collection


class DirtyLog:
    """Append-only from a reader's point of view; `position == end` means nothing has changed."""

    __slots__ = ("_limit", "base", "end", "rows")

    def __init__(self, limit: int = 1 << 16) -> None:
        #: Rows from position `base` to `end`.
        self.rows: list[int] = []
        #: Position of the oldest entry kept.
        self.base = 0
        #: Position behind the newest entry: `base + len(rows)`, kept as a plain attribute for the hot path.
        self.end = 0
        self._limit = limit

    def append(self, row: int) -> None:
        self.rows.append(row)
        self.end += 1
        if len(self.rows) > self._limit:
            self._drop_older_half()

    def since(self, position: int) -> Collection[int] | None:
        """The distinct rows appended since `position`; None when it is too long ago to tell."""
        if position < self.base:
            return None
        if position == self.end - 1:
            return self.rows[-1:]
        return set(self.rows[position - self.base :])

    def _drop_older_half(self) -> None:
        half = len(self.rows) // 2
        del self.rows[:half]
        self.base += half
