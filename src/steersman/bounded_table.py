# SPDX-License-Identifier: Apache-2.0
"""Tables keyed by what users write: selectors, topology keys, resources, templates. They are bounded and free what nobody uses.

Users can write without end, so nothing may be kept for every key that was ever seen. Two kinds of tables, one rule:

* `RecentTable` holds the values that were asked for lately, so many at most. For answers that can be found again.
* `SharedTable` holds them too, and besides every value that somebody outside still refers to. For columns and counts that
  others read as long as they like, and that have to follow the cluster meanwhile: whoever keeps one keeps it right.

Which value was asked for lately is known by two halves: what is asked for is in the young half, and when that is full the old
one is dropped and the young one becomes the old one. A value that was found again is never wrong for having been dropped: it is
made from the same facts. Facts themselves (which pods have which affinity terms, say) do not belong here: they are counted by
those who have them, and go with the last.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any, Generic, TypeVar, cast
from weakref import ref

from steersman.graph_copy import GraphCopy, copied_by, is_shared

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")


def _copied_recent(copies: GraphCopy, original: RecentTable[Any, Any]) -> RecentTable[Any, Any]:
    """Begins empty: what was in it can be found again."""
    made: RecentTable[Any, Any] = copies.note(original, RecentTable(2 * original._half))
    copies.memo[id(original.young)] = made.young
    return made


@copied_by(_copied_recent)
class RecentTable(Generic[KeyT, ValueT]):
    """At most `most` values; None is no value."""

    __slots__ = ("_half", "_old", "young")

    def __init__(self, most: int) -> None:
        self._half = max(1, most // 2)
        #: The younger half; always the same object, so that whoever is in a hurry may look here before asking `get`.
        self.young: dict[KeyT, ValueT] = {}
        self._old: dict[KeyT, ValueT] = {}

    def get(self, key: KeyT) -> ValueT | None:
        value = self.young.get(key)
        if value is None and self._old:
            value = self._old.pop(key, None)
            if value is not None:
                self.put(key, value)
        return value

    def put(self, key: KeyT, value: ValueT) -> None:
        if len(self.young) >= self._half and key not in self.young:
            self._old = self.young.copy()
            self.young.clear()
        self.young[key] = value

    def clear(self) -> None:
        self.young.clear()
        self._old.clear()

    def __len__(self) -> int:
        return len(self.young) + len(self._old)


class _KeyedRef(ref[ValueT]):
    """A weak reference that knows the key of its value."""

    __slots__ = ("key",)
    key: object


def _copied_shared(copies: GraphCopy, original: SharedTable[Any, Any]) -> SharedTable[Any, Any]:
    """Has the copies of those values that somebody refers to. Keys of values that copies share are shared as well: there may be
    thousands of them."""
    made: SharedTable[Any, Any] = SharedTable(2 * original._recent._half)

    def fill(original: SharedTable[Any, Any], made: SharedTable[Any, Any]) -> None:
        made._when_freed, made._is_large = copies.of(original._when_freed), copies.of(original._is_large)
        shared: dict[type, bool] = {}
        for key, value in original.items():
            cls = type(value)
            if cls not in shared:
                shared[cls] = is_shared(cls)
            if shared[cls]:
                made.refer(key, value)
                continue
            current = copies.memo.get(id(value))
            if current is not None:
                made.refer(copies.of(key), current)

    return copies.note_weak(original, made, fill)


@copied_by(_copied_shared)
class SharedTable(Generic[KeyT, ValueT]):
    """Every value that somebody refers to, and the `spare` latest ones even if nobody does, but for large ones.

    A value may be freed at any moment, but no entry disappears while somebody goes through them: the freed ones are taken
    out when the table is next asked for a key.
    """

    __slots__ = ("_freed", "_is_large", "_recent", "_refs", "_when_freed")

    def __init__(
        self,
        spare: int,
        when_freed: Callable[[KeyT], None] | None = None,
        is_large: Callable[[ValueT], bool] | None = None,
    ) -> None:
        """`when_freed` is told the key of each value that has gone; it may not use the table. What `is_large` goes with the
        last one who refers to it: a number of spare values bounds no memory if each may be of any size."""
        self._recent: RecentTable[KeyT, ValueT] = RecentTable(spare)
        self._refs: dict[KeyT, _KeyedRef[ValueT]] = {}
        self._freed: list[ref[ValueT]] = []
        self._when_freed = when_freed
        self._is_large = is_large

    def get(self, key: KeyT) -> ValueT | None:
        value = self._recent.get(key)
        if value is None:
            if self._freed:
                self.sweep()
            known = self._refs.get(key)
            if known is not None:
                value = known()
                if value is not None:
                    self._note(key, value)
        return value

    def peek(self, key: KeyT) -> ValueT | None:
        """The value if it is there; it does not count as asked for."""
        known = self._refs.get(key)
        return None if known is None else known()

    @property
    def young(self) -> dict[KeyT, ValueT]:
        """The younger half of the recent values: whoever is in a hurry may look here before asking `get`."""
        return self._recent.young

    def put(self, key: KeyT, value: ValueT) -> None:
        """The key has no value yet."""
        if self._freed:
            self.sweep()
        self.refer(key, value)
        self._note(key, value)

    def refer(self, key: KeyT, value: ValueT) -> None:
        """Has the value as long as somebody refers to it; it does not count as asked for."""
        reference = self._refs[key] = _KeyedRef(value, self._freed.append)
        reference.key = key

    def _note(self, key: KeyT, value: ValueT) -> None:
        """The value was asked for."""
        if self._is_large is None or not self._is_large(value):
            self._recent.put(key, value)

    def values(self) -> Iterator[ValueT]:
        """All that are alive. Nothing may be put in meanwhile."""
        for known in self._refs.values():
            value = known()
            if value is not None:
                yield value

    def __iter__(self) -> Iterator[KeyT]:
        """The keys of all that were alive when last swept."""
        return iter(self._refs)

    def items(self) -> Iterator[tuple[KeyT, ValueT]]:
        """All that are alive, with their keys. Nothing may be put in meanwhile."""
        for key, known in self._refs.items():
            value = known()
            if value is not None:
                yield key, value

    def sweep(self) -> None:
        """Takes out the entries whose value has gone."""
        while self._freed:
            freed = self._freed.pop()
            assert isinstance(freed, _KeyedRef)
            key = cast("KeyT", freed.key)
            if self._refs.get(key) is freed:
                del self._refs[key]
                if self._when_freed is not None:
                    self._when_freed(key)

    def forget(self) -> None:
        """Lets go of the spare ones. Those that somebody refers to stay."""
        self._recent.clear()

    def clear(self) -> None:
        """Forgets all of them: whoever still refers to one has something outdated."""
        self._recent.clear()
        self._refs.clear()
        self._freed.clear()

    def __len__(self) -> int:
        return len(self._refs) - len(self._freed)
