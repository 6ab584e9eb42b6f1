# SPDX-License-Identifier: Apache-2.0
"""Bounded caches for values keyed by user input: selectors, topology keys, resource names, pod
templates.

Users can write any number of these, so a cache must not grow with every key that was ever seen:

* `LruCache` stores a limited number of recently used values, for answers that can be recomputed.
* `WeakValueCache` also finds every value that is still referenced elsewhere, for columns and counts
  with long-lived users that must share one instance.

Recency is approximate. A cache has two generations: values in use are in the young one; when it is
full, the old one is discarded and the young one becomes old. Discarding a value only costs time,
since it is recomputed from the same facts. The facts themselves, such as which pods have which
affinity terms, do not belong here: their owners count references.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any, Generic, TypeVar, cast
from weakref import ref

from steersman.base.graph_copy import GraphCopy, copied_by, is_shared

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")


def _copied_recent(copies: GraphCopy, original: LruCache[Any, Any]) -> LruCache[Any, Any]:
    """Return an empty cache: values can be recomputed."""
    made: LruCache[Any, Any] = copies.note(original, LruCache(2 * original._half))
    copies.memo[id(original.young)] = made.young
    return made


@copied_by(_copied_recent)
class LruCache(Generic[KeyT, ValueT]):
    """Approximate LRU cache of at most `limit` values. None cannot be a value."""

    __slots__ = ("_half", "_old", "young")

    def __init__(self, limit: int) -> None:
        self._half = max(1, limit // 2)
        #: The young generation. Always the same dict, so that hot paths may read it before they
        #: call `get`.
        self.young: dict[KeyT, ValueT] = {}
        self._old: dict[KeyT, ValueT] = {}

    def get(self, key: KeyT) -> ValueT | None:
        """Return the value and mark it as recently used."""
        value = self.young.get(key)
        if value is None and self._old:
            value = self._old.pop(key, None)
            if value is not None:
                self.put(key, value)
        return value

    def put(self, key: KeyT, value: ValueT) -> None:
        """Add or replace a value; discard the old generation if the young one is full."""
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
    """A weak reference with the key of its value."""

    __slots__ = ("key",)
    key: object


def _copied_shared(copies: GraphCopy, original: WeakValueCache[Any, Any]) -> WeakValueCache[Any, Any]:
    """Return a cache with copies of the values that are referenced elsewhere in the copied graph.
    Values of shared classes keep their identity, and so do their keys, of which there may be
    thousands."""
    made: WeakValueCache[Any, Any] = WeakValueCache(2 * original._recent._half)

    def fill(original: WeakValueCache[Any, Any], made: WeakValueCache[Any, Any]) -> None:
        made._on_freed, made._is_large = copies.copy_of(original._on_freed), copies.copy_of(original._is_large)
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
                made.refer(copies.copy_of(key), current)

    return copies.note_weak(original, made, fill)


@copied_by(_copied_shared)
class WeakValueCache(Generic[KeyT, ValueT]):
    """Weak-value cache that also keeps the most recent `spare` small values alive.

    A value may be freed at any moment. Its entry is removed by a later `get` or `put`, never during
    an iteration.
    """

    __slots__ = ("_freed", "_is_large", "_on_freed", "_recent", "_refs")

    def __init__(
        self,
        spare: int,
        on_freed: Callable[[KeyT], None] | None = None,
        is_large: Callable[[ValueT], bool] | None = None,
    ) -> None:
        """`on_freed` is called with the key of each freed value and must not use the cache. Values
        for which `is_large` is true are never kept as spares: a number of values limits memory only
        if each of them is small."""
        self._recent: LruCache[KeyT, ValueT] = LruCache(spare)
        self._refs: dict[KeyT, _KeyedRef[ValueT]] = {}
        self._freed: list[ref[ValueT]] = []
        self._on_freed = on_freed
        self._is_large = is_large

    def get(self, key: KeyT) -> ValueT | None:
        """Return the value, if it is alive, and mark it as recently used."""
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
        """Return the value without marking it as recently used."""
        known = self._refs.get(key)
        return None if known is None else known()

    @property
    def young(self) -> dict[KeyT, ValueT]:
        """The young generation of the spare values, for hot paths that read it before they call
        `get`."""
        return self._recent.young

    def put(self, key: KeyT, value: ValueT) -> None:
        """Add a value; the key must not have one."""
        if self._freed:
            self.sweep()
        self.refer(key, value)
        self._note(key, value)

    def refer(self, key: KeyT, value: ValueT) -> None:
        """Add a value without keeping it alive or marking it as recently used."""
        reference = self._refs[key] = _KeyedRef(value, self._freed.append)
        reference.key = key

    def _note(self, key: KeyT, value: ValueT) -> None:
        """Mark the value as recently used."""
        if self._is_large is None or not self._is_large(value):
            self._recent.put(key, value)

    def values(self) -> Iterator[ValueT]:
        """Yield the live values. Do not add values during the iteration."""
        for known in self._refs.values():
            value = known()
            if value is not None:
                yield value

    def __iter__(self) -> Iterator[KeyT]:
        """Iterate over the keys of the values that were alive at the last sweep."""
        return iter(self._refs)

    def items(self) -> Iterator[tuple[KeyT, ValueT]]:
        """Yield the live keys and values. Do not add values during the iteration."""
        for key, known in self._refs.items():
            value = known()
            if value is not None:
                yield key, value

    def sweep(self) -> None:
        """Remove the entries of freed values."""
        while self._freed:
            freed = self._freed.pop()
            assert isinstance(freed, _KeyedRef)
            key = cast("KeyT", freed.key)
            if self._refs.get(key) is freed:
                del self._refs[key]
                if self._on_freed is not None:
                    self._on_freed(key)

    def drop_spares(self) -> None:
        """Release the spare values. Values that are referenced elsewhere stay."""
        self._recent.clear()

    def clear(self) -> None:
        """Remove all values, including those that are still referenced elsewhere."""
        self._recent.clear()
        self._refs.clear()
        self._freed.clear()

    def __len__(self) -> int:
        return len(self._refs) - len(self._freed)
