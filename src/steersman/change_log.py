# SPDX-License-Identifier: Apache-2.0
"""A log of changes, in order: whoever keeps something derived catches up without looking at everything again.

A reader remembers the position `end` at which it was exact; the entries appended since then are what it has to look at. The
oldest entries are dropped: a reader behind `base` starts afresh. Rows of nodes, keys of objects, affinity terms and devices are
all told in this one form.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import Any, Generic, TypeVar

from steersman.graph_copy import GraphCopy, copied_by

EntryT = TypeVar("EntryT", bound=Hashable)

#: So many entries of rows, where every pod and every node leaves one.
_MOST_ENTRIES = 1 << 16


def _copied(copies: GraphCopy, original: ChangeLog[Any]) -> ChangeLog[Any]:
    """Goes on from the same position: readers that are behind start afresh."""
    return copies.note(original, ChangeLog(original._most, original.end))


@copied_by(_copied)
class ChangeLog(Generic[EntryT]):
    """Append-only from a reader's point of view; `position == end` means that nothing has changed.

    Invariant: `end == base + len(entries)`.
    """

    __slots__ = ("_most", "base", "end", "entries")

    def __init__(self, most: int = _MOST_ENTRIES, begin: int = 0) -> None:
        """Beyond `most` entries the older half is dropped, so that a reader may lag behind by half as many. `begin` is the
        first position: that of the log that this one goes on from."""
        #: From position `base` to `end`; a plain attribute, for whoever is one entry behind and in a hurry.
        self.entries: list[EntryT] = []
        #: Position of the oldest entry kept.
        self.base = begin
        #: Position behind the newest entry; a plain attribute, because every pod compares it.
        self.end = begin
        self._most = most

    def append(self, entry: EntryT) -> None:
        self.entries.append(entry)
        self.end += 1
        if len(self.entries) > self._most:
            self._drop_older_half()

    def since(self, position: int) -> Collection[EntryT] | None:
        """The distinct entries appended since `position`; None when that is too long ago to tell."""
        if position < self.base:
            return None
        if position == self.end - 1:
            return {self.entries[-1]}
        return set(self.entries[position - self.base :])

    def each_since(self, position: int) -> Sequence[EntryT] | None:
        """Every entry appended since `position`, in order; None when that is too long ago to tell."""
        return None if position < self.base else self.entries[position - self.base :]

    def _drop_older_half(self) -> None:
        half = len(self.entries) // 2
        del self.entries[:half]
        self.base += half
