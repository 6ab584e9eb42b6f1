# SPDX-License-Identifier: Apache-2.0
"""How many pods match a selector, per row and per topology domain; pushed as pods come and go.

The matching is done once per label class. A new matcher looks at the classes that it may match, a new class at the matchers
that may match it; neither looks at pods. Count tables are there as long as a kernel reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from steersman.bounded_table import SharedTable
from steersman.framework.nodes_view import PodMatcher
from steersman.framework.pod_info import PodInfo
from steersman.graph_copy import copied_attributes, emptied, finished_by, fresh_token, no_value
from steersman.kept import Kept
from steersman.state.domain_counts import DomainCountsTable, MatchCountsTable
from steersman.state.label_classes import LabelClass, LabelClasses, class_key
from steersman.state.label_keys import LabelKeysInUse
from steersman.state.selector_index import SelectorIndex

NamespaceLabels = Callable[[str], Mapping[str, str]]


COUNT_TABLES = Kept(
    name="count tables",
    attributes=("PodCounts._tables", "PodCounts._index"),
    holds="how many matching pods are on each row",
    key="matcher: a selector and the namespaces it reaches",
    stamps="the table's generation (namespaces, growth): dropped; else never behind",
    bound="those that somebody reads, and a few spare ones (`SharedTable`)",
    twin="`PodMatcher.matches` of every pod on a row",
    is_inline=True,
)


def _start_afresh(original: PodCounts, made: PodCounts) -> None:
    """The copy has the classes, and no count tables: no kernel of it has asked for one."""
    for label_class in made.classes:
        label_class.owner = made._token
    made._generation += 1
    original._tables.sweep()
    for matcher in original._tables:
        made._label_keys.release(matcher.selector.keys)
    made._index.clear()
    made._tables = SharedTable(made._spare, made._freed)


@finished_by(_start_afresh)
@copied_attributes(_token=fresh_token, _tables=no_value, _index=emptied)
class PodCounts:
    """All matchers in use and all label classes on rows."""

    def __init__(self, namespace_labels: NamespaceLabels, label_keys: LabelKeysInUse, spare: int) -> None:
        """`spare`: so many tables that no kernel reads are kept."""
        self._namespace_labels = namespace_labels
        self._label_keys = label_keys
        self._spare = spare
        #: Stands for this object in the classes that it counts.
        self._token = object()
        self.classes = LabelClasses()
        self._index: SelectorIndex[PodMatcher] = SelectorIndex()
        self._tables: SharedTable[PodMatcher, MatchCountsTable] = SharedTable(spare, self._freed)
        self._generation = 0

    def reset(self, spare: int) -> None:
        """Forgets every matcher: columns have moved, or namespaces have changed."""
        self._generation += 1
        self._tables.sweep()
        for matcher in self._tables:
            self._label_keys.release(matcher.selector.keys)
        self._index.clear()
        self._spare = spare
        self._tables = SharedTable(spare, self._freed)

    def matching(self, matcher: PodMatcher, capacity: int, alive: NDArray[np.bool_]) -> MatchCountsTable:
        known = self._tables.get(matcher)
        if known is None:
            known = MatchCountsTable(matcher, capacity, alive)
            self._count_existing(known)
            self._tables.put(matcher, known)
            self._index.add(matcher, matcher.selector, matcher.namespace_names)
            self._label_keys.hold(matcher.selector.keys)
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
            label_class.start_afresh(self._generation)
        for reference in label_class.tables:
            table = reference()
            if table is not None:
                table.add(row, sign)

    def is_of_a_fork(self, label_class: object) -> bool:
        """Whether the class that a template keeps was found by a fork of the simulation, and not here."""
        return isinstance(label_class, LabelClass) and label_class.owner is not self._token

    def detach(self, row: int, label_keys: Collection[str] | None) -> None:
        """The row's node is about to change in these labels; None: to come, to go, or to change in more than labels."""
        for table in self._domain_tables():
            if table.depends_on(label_keys):
                table.detach(row)

    def attach(self, row: int, label_keys: Collection[str] | None) -> None:
        """The row's node has changed in these labels."""
        for table in self._domain_tables():
            if table.depends_on(label_keys):
                table.attach(row)

    def tables(self) -> list[MatchCountsTable]:
        """The tables that somebody refers to, and some spare ones."""
        self._tables.sweep()
        return list(self._tables.values())

    def _domain_tables(self) -> Iterator[DomainCountsTable]:
        return (by_domain for table in self._tables.values() for by_domain in table.domains())

    def _freed(self, matcher: PodMatcher) -> None:
        self._index.discard(matcher, matcher.selector, matcher.namespace_names)
        self._label_keys.release(matcher.selector.keys)

    def _class_of(self, pod: PodInfo) -> LabelClass:
        key = class_key(pod)
        label_class = self.classes.get(key) or LabelClass(self._token, key, pod)
        self._remember(label_class, pod)
        return label_class

    def _remember(self, label_class: LabelClass, pod: PodInfo) -> None:
        """Keeps the class for the other pods of the template, but those that are on their way out."""
        if not pod.is_terminating:
            pod.template.label_class = label_class

    def _register(self, label_class: LabelClass) -> LabelClass:
        """The first pod of the class comes: from now on tables count it."""
        registered = self.classes.add(label_class)
        if registered is label_class:
            self._find_tables(label_class)
        return registered

    def _find_tables(self, label_class: LabelClass) -> None:
        label_class.start_afresh(self._generation)
        self._tables.sweep()
        labels = self._namespace_labels(label_class.namespace)
        for matcher in self._index.candidates(label_class.namespace, label_class.labels):
            if matcher.matches(label_class, labels):
                table = self._tables.peek(matcher)
                if table is not None:
                    label_class.follow(table)

    def _count_existing(self, table: MatchCountsTable) -> None:
        matcher, cell = table.matcher, table.per_row.cell
        for label_class in self.classes.candidates(matcher):
            labels = self._namespace_labels(label_class.namespace)
            if matcher.matches(label_class, labels):
                if label_class.generation != self._generation:
                    label_class.start_afresh(self._generation)
                label_class.follow(table)
                for row, count in label_class.rows.items():
                    cell[row] += count
