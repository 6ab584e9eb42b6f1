# SPDX-License-Identifier: Apache-2.0
"""Which signatures are kept: those that were asked for more than once, and a few that are new.

Every row of the cluster has a place in a signature, so that there cannot be many. Where no two pods have the same template,
each signature is asked for once: these pass through a short queue and leave those alone that are used. One that is asked for
again after it has left the queue is known by its fingerprint, and goes to the others at once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, Protocol, TypeVar

from steersman.bounded_table import RecentTable
from steersman.kept import Kept

#: How many fingerprints are remembered of those that have left the queue.
_MOST_REMEMBERED = 1 << 12


class Marked(Protocol):
    #: Asked for again since it was made, or last spared. Whoever asks elsewhere sets it.
    used: bool


EntryT = TypeVar("EntryT", bound=Marked)


FINGERPRINTS = Kept(
    name="fingerprints of signatures",
    attributes=("SignatureStore._left",),
    holds="that a signature was asked for before",
    key="fingerprint of its identity",
    stamps="never: decides what is kept, not what is said",
    bound="4,096, the latest (`RecentTable`)",
    twin="none is needed",
    held_equal="tests/engine/test_signatures.py",
)


class SignatureStore(Generic[EntryT]):
    """Entries by identity; in the order in which their turn comes to make room."""

    def __init__(self, most_new: int) -> None:
        self._most_new = most_new
        self._entries: OrderedDict[Hashable, EntryT] = OrderedDict()
        #: Identities of entries that are new, in the order in which they came, with their fingerprints.
        self._new: dict[Hashable, int] = {}
        self._left: RecentTable[int, bool] = RecentTable(_MOST_REMEMBERED)

    def get(self, identity: Hashable) -> EntryT | None:
        entry = self._entries.get(identity)
        if entry is not None:
            entry.used = True
        return entry

    def put(self, identity: Hashable, entry: EntryT, fingerprint: int) -> None:
        """The identity has no entry yet. The fingerprint is equal for pods with equal signatures, whenever they come."""
        self._entries[identity] = entry
        if self._left.get(fingerprint) is not None:
            entry.used = True
        else:
            self._new[identity] = fingerprint

    def shrink(self, most: int) -> None:
        """Makes room, so that there are so many entries at most."""
        if len(self._new) > self._most_new:
            self._drop_oldest_new()
        while len(self._entries) > most:
            self._drop_unused()

    def _drop_oldest_new(self) -> None:
        """Drops the oldest of the new entries, unless it was asked for again."""
        oldest, fingerprint = next(iter(self._new.items()))
        del self._new[oldest]
        if not self._entries[oldest].used:
            del self._entries[oldest]
            self._left.put(fingerprint, True)

    def _drop_unused(self) -> None:
        """The oldest that has not been asked for since its turn last came."""
        while self._entries[oldest := next(iter(self._entries))].used:
            self._entries[oldest].used = False
            self._entries.move_to_end(oldest)
        del self._entries[oldest]
        self._new.pop(oldest, None)

    def drop(self, is_void: Callable[[EntryT], bool]) -> None:
        for identity in [identity for identity, entry in self._entries.items() if is_void(entry)]:
            del self._entries[identity]
            self._new.pop(identity, None)

    def clear(self) -> None:
        self._entries.clear()
        self._new.clear()

    def values(self) -> Iterator[EntryT]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)
