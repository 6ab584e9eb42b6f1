# SPDX-License-Identifier: Apache-2.0
"""Index of selectors by the labels and namespaces that they require, to find those that may match a
pod.

Most selectors require a certain value of some label, or certain namespaces. Each is indexed under
one such condition, that with the fewest other entries. The labels and namespace of a pod lead to
all selectors that may match it. Selectors without such a condition are always candidates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

from steersman.api import Operator, Selector

EntryT = TypeVar("EntryT")

#: Conditions with more values are not used, because the entry would be repeated for each value.
_MAX_VALUES = 8

Bucket = dict[EntryT, None]


class SelectorIndex(Generic[EntryT]):
    """Hashable entries, each with its selector."""

    def __init__(self) -> None:
        self._by_label: dict[tuple[str, str], Bucket[EntryT]] = {}
        self._by_namespace: dict[str, Bucket[EntryT]] = {}
        self._anywhere: Bucket[EntryT] = {}

    def add(self, entry: EntryT, selector: Selector, namespaces: frozenset[str] | None) -> None:
        """Add an entry; `namespaces` are all that it may match, or None if unknown."""
        for bucket in self._buckets_for(selector, namespaces):
            bucket[entry] = None

    def discard(self, entry: EntryT, selector: Selector, namespaces: frozenset[str] | None) -> None:
        """Remove an entry that was added with this selector and these namespaces."""
        for requirement in selector.requirements or ():
            for value in requirement.values:
                _drop(self._by_label, (requirement.key, value), entry)
        for namespace in namespaces or ():
            _drop(self._by_namespace, namespace, entry)
        self._anywhere.pop(entry, None)

    def candidates(self, namespace: str, labels: Mapping[str, str]) -> Iterator[EntryT]:
        """Yield a superset of the entries whose selector matches a pod with these labels in the
        namespace, without duplicates."""
        yield from self._by_namespace.get(namespace, ())
        if self._by_label:
            for item in labels.items():
                yield from self._by_label.get(item, ())
        yield from self._anywhere

    def clear(self) -> None:
        self._by_label.clear()
        self._by_namespace.clear()
        self._anywhere.clear()

    def _buckets_for(self, selector: Selector, namespaces: frozenset[str] | None) -> list[Bucket[EntryT]]:
        """Return the buckets of the condition with the fewest entries; empty for a selector that
        matches nothing."""
        if selector.requirements is None:
            return []
        pairs: list[tuple[str, str]] | None = None
        fewest: int | None = None
        for requirement in selector.requirements:
            if requirement.operator is Operator.IN and len(requirement.values) <= _MAX_VALUES:
                demand = [(requirement.key, value) for value in requirement.values]
                filed = sum(len(self._by_label.get(pair, ())) for pair in demand)
                if fewest is None or filed < fewest:
                    pairs, fewest = demand, filed
        if namespaces is not None and len(namespaces) <= _MAX_VALUES:
            filed = sum(len(self._by_namespace.get(name, ())) for name in namespaces)
            if fewest is None or filed < fewest:
                return [self._by_namespace.setdefault(name, {}) for name in namespaces]
        return [self._anywhere] if pairs is None else [self._by_label.setdefault(pair, {}) for pair in pairs]

    def entries(self) -> set[EntryT]:
        buckets = (self._anywhere, *self._by_label.values(), *self._by_namespace.values())
        return {entry for bucket in buckets for entry in bucket}


KeyT = TypeVar("KeyT")


def _drop(buckets: dict[KeyT, Bucket[EntryT]], key: KeyT, entry: EntryT) -> None:
    bucket = buckets.get(key)
    if bucket is not None and entry in bucket:
        del bucket[entry]
        if not bucket:
            del buckets[key]
