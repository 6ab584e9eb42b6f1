# SPDX-License-Identifier: Apache-2.0
"""Number of pods that match a selector, per row and per topology domain; updated with every pod.

Matching is done once per label class. A new matcher is compared with the classes that it may match,
and a new class with the matchers that may match it; neither is compared with pods. Count tables
exist as long as a kernel reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from steersman.base import CacheSpec, WeakValueCache
from steersman.base.graph_copy import copied_attributes, emptied, finished_by, fresh_token, no_value
from steersman.framework import PodInfo, PodMatcher, is_weighing, label_keys_of, weighing
from steersman.scheduler.state.class_columns import NamespaceColumns
from steersman.scheduler.state.domain_counts import DomainCountsTable, MatchCountsTable
from steersman.scheduler.state.label_classes import LabelClass, LabelClasses, class_key
from steersman.scheduler.state.label_keys import LabelKeysInUse
from steersman.scheduler.state.selector_index import SelectorIndex

NamespaceLabels = Callable[[str], Mapping[str, str]]
#: Minimum number of matchers to match with the classes as columns.
_MAX_MATCHERS_ONE_BY_ONE = 16


COUNT_TABLES = CacheSpec(
    name="count tables",
    attributes=("PodCounts._tables", "PodCounts._index"),
    contents="how many matching pods are on each row",
    key="matcher: a selector and the namespaces it reaches",
    invalidation="the table's generation (namespaces, growth): dropped; otherwise updated with every change",
    limit="those in use, and a few spare ones (`WeakValueCache`)",
    reference="`PodMatcher.matches` of every pod on a row",
    is_inline=True,
)


def _detach_copy(original: PodCounts, made: PodCounts) -> None:
    """Give the copy the classes, but no count tables: its kernels request their own."""
    for label_class in made.classes:
        label_class.owner = made._token
    made._generation += 1
    original._tables.sweep()
    for matcher in original._tables:
        made._label_keys.release(label_keys_of(matcher))
    made._index.clear()
    made._tables = WeakValueCache(made._spare, made._freed)


@finished_by(_detach_copy)
@copied_attributes(_token=fresh_token, _tables=no_value, _index=emptied)
class PodCounts:
    """All matchers in use and all label classes on rows."""

    def __init__(self, namespace_labels: NamespaceLabels, label_keys: LabelKeysInUse, spare: int) -> None:
        """`spare` is the number of unused tables to keep."""
        self._namespace_labels = namespace_labels
        self._label_keys = label_keys
        self._spare = spare
        #: Identity of this object in the classes that it owns.
        self._token = object()
        self.classes = LabelClasses()
        self._index: SelectorIndex[PodMatcher] = SelectorIndex()
        self._tables: WeakValueCache[PodMatcher, MatchCountsTable] = WeakValueCache(spare, self._freed)
        self._generation = 0

    def reset(self, spare: int) -> None:
        """Drop every matcher, after columns were replaced or namespaces changed."""
        self._generation += 1
        self._tables.sweep()
        for matcher in self._tables:
            self._label_keys.release(label_keys_of(matcher))
        self._index.clear()
        self._spare = spare
        self._tables = WeakValueCache(spare, self._freed)

    def matching(self, matcher: PodMatcher, capacity: int, alive: NDArray[np.bool_]) -> MatchCountsTable:
        return self.matching_each([matcher], capacity, alive)[0]

    def matching_each(
        self, matchers: Sequence[PodMatcher], capacity: int, alive: NDArray[np.bool_]
    ) -> list[MatchCountsTable]:
        """Return the tables of many matchers: faster than calling `matching` for each."""
        many = len(matchers) > _MAX_MATCHERS_ONE_BY_ONE or any(map(is_weighing, matchers))
        columns = NamespaceColumns(self.classes, self._namespace_labels) if many else None
        return [self._matching(matcher, capacity, alive, columns) for matcher in matchers]

    def _matching(
        self, matcher: PodMatcher, capacity: int, alive: NDArray[np.bool_], columns: NamespaceColumns | None
    ) -> MatchCountsTable:
        known = self._tables.get(matcher)
        if known is None:
            known = MatchCountsTable(matcher, capacity, alive)
            if columns is None:
                self._count_existing(known)
            else:
                columns.count(matcher, known.per_row.values)
                # Each class finds the table when its pods next change.
                self._generation += 1
            self._tables.put(matcher, known)
            self._index.add(matcher, matcher.selector, matcher.namespace_names)
            self._label_keys.hold(label_keys_of(matcher))
        return known

    def add(self, pod: PodInfo, row: int, sign: int) -> None:
        label_class = pod.template.label_class
        if not isinstance(label_class, LabelClass) or label_class.owner is not self._token or pod.is_terminating:
            label_class = self._class_of(pod)
        rows = label_class.rows
        if not rows and sign > 0:
            label_class = self._register(label_class)
            rows = label_class.rows
            self._remember(label_class, pod)
        count = rows.get(row, 0) + sign
        if count:
            rows[row] = count
        else:
            del rows[row]
            if not rows:
                self.classes.remove(label_class)
        if label_class.generation != self._generation:
            self._find_tables(label_class)
        for reference in label_class.tables:
            table = reference()
            if table is not None:
                table.add(row, sign)
        for reference, weight in label_class.weighted:
            table = reference()
            if table is not None:
                table.add(row, sign * weight)

    def belongs_to_fork(self, label_class: object) -> bool:
        """Return whether the label class cached in a template belongs to a fork of the
        simulation."""
        return isinstance(label_class, LabelClass) and label_class.owner is not self._token

    def detach(self, row: int, label_keys: Collection[str] | None) -> None:
        """Subtract the row before its node changes in these labels; None stands for any other
        change."""
        for table in self._domain_tables():
            if table.depends_on(label_keys):
                table.detach(row)

    def attach(self, row: int, label_keys: Collection[str] | None) -> None:
        """Add the row after its node changed in these labels."""
        for table in self._domain_tables():
            if table.depends_on(label_keys):
                table.attach(row)

    def tables(self) -> list[MatchCountsTable]:
        """Return the tables in use, and some spare ones."""
        self._tables.sweep()
        return list(self._tables.values())

    def _domain_tables(self) -> Iterator[DomainCountsTable]:
        return (by_domain for table in self._tables.values() for by_domain in table.domains())

    def _freed(self, matcher: PodMatcher) -> None:
        self._index.discard(matcher, matcher.selector, matcher.namespace_names)
        self._label_keys.release(label_keys_of(matcher))

    def _class_of(self, pod: PodInfo) -> LabelClass:
        key = class_key(pod)
        label_class = self.classes.get(key) or LabelClass(self._token, key, pod)
        self._remember(label_class, pod)
        return label_class

    def _remember(self, label_class: LabelClass, pod: PodInfo) -> None:
        """Cache the class for the other pods of the template that are not terminating."""
        if not pod.is_terminating:
            pod.template.label_class = label_class

    def _register(self, label_class: LabelClass) -> LabelClass:
        """Add the class with its first pod, and find the tables that count it."""
        registered = self.classes.add(label_class)
        if registered is label_class:
            self._find_tables(label_class)
        return registered

    def _find_tables(self, label_class: LabelClass) -> None:
        label_class.reset(self._generation)
        self._tables.sweep()
        labels = self._namespace_labels(label_class.namespace)
        for matcher in self._index.candidates(label_class.namespace, label_class.labels):
            weight = weighing(matcher)(label_class, labels)
            if weight:
                table = self._tables.peek(matcher)
                if table is not None:
                    label_class.follow(table, weight)

    def _count_existing(self, table: MatchCountsTable) -> None:
        matcher, cell, generation = table.matcher, table.per_row.cell, self._generation
        weigh = weighing(matcher)
        labels_of: dict[str, Mapping[str, str]] = {}
        for label_class in self.classes.candidates(matcher):
            namespace = label_class.namespace
            labels = labels_of.get(namespace)
            if labels is None:
                labels = labels_of[namespace] = self._namespace_labels(namespace)
            weight = weigh(label_class, labels)
            if weight:
                if label_class.generation == generation:
                    label_class.follow(table, weight)
                for row, count in label_class.rows.items():
                    cell[row] += count * weight
