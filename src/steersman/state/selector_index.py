# SPDX-License-Identifier: Apache-2.0
"""Which of many selectors may match a pod: found by the pod's labels and namespace, without asking every selector.

Most selectors demand a certain value of some label, or reach certain namespaces only. Each is filed under one such demand, the
one that the fewest others are filed under; what a pod's labels and namespace lead to is all that may match it. Selectors
without such a demand are always among the candidates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

from steersman.api.selectors import Operator, Selector

EntryT = TypeVar("EntryT")

#: A demand that so many values meet would be filed under each of them.
_MOST_VALUES = 8

Bucket = dict[EntryT, None]


class SelectorIndex(Generic[EntryT]):
    """Entries, which are hashable, each with the selector that stands for it."""

    def __init__(self) -> None:
        self._by_label: dict[tuple[str, str], Bucket[EntryT]] = {}
        self._by_namespace: dict[str, Bucket[EntryT]] = {}
        self._anywhere: Bucket[EntryT] = {}

    def add(self, entry: EntryT, selector: Selector, namespaces: frozenset[str] | None) -> None:
        """`namespaces` are all that it reaches; None: there may be others."""
        for bucket in self._buckets_for(selector, namespaces):
            bucket[entry] = None

    def discard(self, entry: EntryT, selector: Selector, namespaces: frozenset[str] | None) -> None:
        """Takes the entry out, with the selector and the namespaces with which it was added."""
        for requirement in selector.requirements or ():
            for value in requirement.values:
                _drop(self._by_label, (requirement.key, value), entry)
        for namespace in namespaces or ():
            _drop(self._by_namespace, namespace, entry)
        self._anywhere.pop(entry, None)

    def candidates(self, namespace: str, labels: Mapping[str, str]) -> Iterator[EntryT]:
        """All whose selector may match a pod with these labels in that namespace, and some that do not. None twice."""
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
        """The buckets of the demand under which the fewest are filed. None for a selector that matches nothing."""
        if selector.requirements is None:
            return []
        pairs: list[tuple[str, str]] | None = None
        fewest: int | None = None
        for requirement in selector.requirements:
            if requirement.operator is Operator.IN and len(requirement.values) <= _MOST_VALUES:
                demand = [(requirement.key, value) for value in requirement.values]
                filed = sum(len(self._by_label.get(pair, ())) for pair in demand)
                if fewest is None or filed < fewest:
                    pairs, fewest = demand, filed
        if namespaces is not None and len(namespaces) <= _MOST_VALUES:
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
