# SPDX-License-Identifier: Apache-2.0
"""An ordered log of changes, from which readers update derived values incrementally.

A reader stores the position `end` at which its values were exact, and processes the entries
appended since. The oldest entries are dropped: a reader behind `base` must rebuild. The same class
serves rows of nodes, keys of objects, affinity terms and devices.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import Any, Generic, TypeVar

from steersman.base.graph_copy import GraphCopy, copied_by

EntryT = TypeVar("EntryT", bound=Hashable)

#: Maximum number of entries for rows, where every pod and every node adds one.
_MAX_ENTRIES = 1 << 16


def _copied(copies: GraphCopy, original: ChangeLog[Any]) -> ChangeLog[Any]:
    """Return an empty log that continues at the same position: readers that are behind must
    rebuild."""
    return copies.note(original, ChangeLog(original._limit, original.end))


@copied_by(_copied)
class ChangeLog(Generic[EntryT]):
    """An append-only log; `position == end` means that nothing has changed.

    Invariant: `end == base + len(entries)`.
    """

    __slots__ = ("_limit", "base", "end", "entries")

    def __init__(self, limit: int = _MAX_ENTRIES, begin: int = 0) -> None:
        """With more than `limit` entries the older half is dropped, so that a reader may lag behind
        by half as many. `begin` is the first position, if the log continues another."""
        #: Entries from position `base` to `end`; a plain attribute for hot paths that are one entry
        #: behind.
        self.entries: list[EntryT] = []
        #: Position of the oldest entry.
        self.base = begin
        #: Position after the newest entry; a plain attribute, because it is compared for every pod.
        self.end = begin
        self._limit = limit

    def append(self, entry: EntryT) -> None:
        self.entries.append(entry)
        self.end += 1
        if len(self.entries) > self._limit:
            self._drop_older_half()

    def since(self, position: int) -> Collection[EntryT] | None:
        """Return the distinct entries appended since `position`, or None if it is before `base`."""
        if position < self.base:
            return None
        if position == self.end - 1:
            return {self.entries[-1]}
        return set(self.entries[position - self.base :])

    def each_since(self, position: int) -> Sequence[EntryT] | None:
        """Return every entry appended since `position`, in order, or None if it is before
        `base`."""
        return None if position < self.base else self.entries[position - self.base :]

    def _drop_older_half(self) -> None:
        half = len(self.entries) // 2
        del self.entries[:half]
        self.base += half
