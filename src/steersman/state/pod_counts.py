"""How many pods match a selector, per row and per topology domain; pushed as pods come and go.

Pods with the same namespace, labels and termination state form a *label class* and match the same selectors, so the
matching is done once per class. A new matcher looks at the classes that exist, not at the pods.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from steersman.framework.nodes_view import (
    Column,
    Eligibility,
    IntColumn,
    PodMatcher,
    Topology,
)
from steersman.framework.pod_info import PodInfo
from steersman.state.topology import TopologyColumn

NamespaceLabels = Callable[[str], Mapping[str, str]]


class DomainCountsTable:
    """Implements `framework.nodes_view.DomainCounts`.

    Invariant: `counts[d]` is the sum of `per_row` over the eligible rows of domain d, `eligible_rows[d]` their number.
    """

    def __init__(
        self, topology: TopologyColumn, per_row: Column, alive: NDArray[np.bool_], eligible: Eligibility | None
    ):
        self._eligible = eligible
        self._alive = alive
        self._per_row = per_row
        self._topology = topology
        chosen = alive if eligible is None else eligible.rows() & alive
        #: uint8[capacity]: 1 where the row counts.
        self._counts_row = chosen.astype(np.uint8).data
        weights = np.where(chosen, per_row.values, 0)
        self.counts: IntColumn = np.bincount(topology.domain, weights=weights, minlength=topology.size).astype(np.int64)
        self.eligible_rows: IntColumn = np.bincount(topology.domain, weights=chosen, minlength=topology.size).astype(
            np.int64
        )
        self.cell = self.counts.data
        #: Sum of `counts` without slot 0.
        self.total = int(self.counts[1:].sum())
        topology.on_grow(self._grow)

    @property
    def topology(self) -> Topology:
        return self._topology

    def add(self, row: int, sign: int) -> None:
        if self._counts_row[row]:
            domain = self._topology.cell[row]
            self.cell[domain] += sign
            if domain:
                self.total += sign

    def detach(self, row: int) -> None:
        """The row's node is about to change: take the row out."""
        if self._counts_row[row]:
            domain = self._topology.cell[row]
            self.cell[domain] -= self._per_row.cell[row]
            self.total -= self._per_row.cell[row] if domain else 0
            self.eligible_rows[domain] -= 1
            self._counts_row[row] = 0

    def attach(self, row: int) -> None:
        """The row's node has changed: put the row back if it is still there and eligible."""
        if self._alive[row] and (self._eligible is None or self._eligible.row(row)):
            domain = self._topology.cell[row]
            self.cell[domain] += self._per_row.cell[row]
            self.total += self._per_row.cell[row] if domain else 0
            self.eligible_rows[domain] += 1
            self._counts_row[row] = 1

    def _grow(self, size: int) -> None:
        self.counts = _longer(self.counts, size)
        self.eligible_rows = _longer(self.eligible_rows, size)
        self.cell = self.counts.data


class MatchCountsTable:
    """Implements `framework.nodes_view.MatchCounts`. Invariant: `per_row` counts the matching pods on each row."""

    def __init__(self, matcher: PodMatcher, capacity: int, alive: NDArray[np.bool_]) -> None:
        self.matcher = matcher
        self._alive = alive
        self.per_row = Column(np.zeros(capacity, np.int64))
        self._by_domain: dict[tuple[str, Eligibility | None], DomainCountsTable] = {}
        self.domains: list[DomainCountsTable] = []

    def by_domain(self, topology: Topology, eligible: Eligibility | None = None) -> DomainCountsTable:
        known = self._by_domain.get((topology.key, eligible))
        if known is None:
            assert isinstance(topology, TopologyColumn)
            known = DomainCountsTable(topology, self.per_row, self._alive, eligible)
            self._by_domain[topology.key, eligible] = known
            self.domains.append(known)
        return known

    def add(self, row: int, sign: int) -> None:
        self.per_row.cell[row] += sign
        for table in self.domains:
            table.add(row, sign)


class LabelClass:
    """Pods that every selector treats alike."""

    __slots__ = ("considered", "example", "generation", "key", "owner", "rows", "tables")

    def __init__(self, owner: PodCounts, key: tuple[str, frozenset[tuple[str, str]], bool], example: PodInfo) -> None:
        self.owner = owner
        self.key = key
        self.example = example
        #: Number of pods of the class by row.
        self.rows: dict[int, int] = {}
        #: The tables of the matchers that match the class, among the first `considered` ones.
        self.tables: list[MatchCountsTable] = []
        self.considered = 0
        self.generation = 0


class PodCounts:
    """All matchers in use and all label classes on rows."""

    def __init__(self, namespace_labels: NamespaceLabels) -> None:
        self._namespace_labels = namespace_labels
        self._classes: dict[tuple[str, frozenset[tuple[str, str]], bool], LabelClass] = {}
        self._by_namespace: dict[str, dict[LabelClass, None]] = {}
        self._matchers: dict[PodMatcher, MatchCountsTable] = {}
        self._tables: list[MatchCountsTable] = []
        self._generation = 0
        #: Label keys that some selector in use refers to. Only grows within a generation.
        self.referenced_keys: set[str] = set()

    def reset(self) -> None:
        """Forgets every matcher: columns have moved, or namespaces have changed."""
        self._generation += 1
        self._matchers.clear()
        self._tables.clear()
        self.referenced_keys.clear()

    def matching(self, matcher: PodMatcher, capacity: int, alive: NDArray[np.bool_]) -> MatchCountsTable:
        known = self._matchers.get(matcher)
        if known is None:
            known = self._matchers[matcher] = MatchCountsTable(matcher, capacity, alive)
            self._count_existing(known)
            self._tables.append(known)
            self.referenced_keys.update(matcher.selector.keys)
        return known

    def add(self, pod: PodInfo, row: int, sign: int) -> None:
        label_class = pod.template.label_class
        if not isinstance(label_class, LabelClass) or label_class.owner is not self or pod.is_terminating:
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
                self._unregister(label_class)
        if label_class.considered != len(self._tables) or label_class.generation != self._generation:
            self._consider_new(label_class)
        for table in label_class.tables:
            table.add(row, sign)

    def detach(self, row: int) -> None:
        for table in self._tables:
            for domain_table in table.domains:
                domain_table.detach(row)

    def attach(self, row: int) -> None:
        for table in self._tables:
            for domain_table in table.domains:
                domain_table.attach(row)

    def tables(self) -> list[MatchCountsTable]:
        return self._tables

    def _class_of(self, pod: PodInfo) -> LabelClass:
        key = (pod.namespace, frozenset(pod.labels.items()), pod.is_terminating)
        label_class = self._classes.get(key)
        if label_class is None:
            label_class = LabelClass(self, key, pod)
        self._remember(label_class, pod)
        return label_class

    def _remember(self, label_class: LabelClass, pod: PodInfo) -> None:
        """For the other pods of the template, but those that are on their way out."""
        if not pod.is_terminating:
            pod.template.label_class = label_class

    def _register(self, label_class: LabelClass) -> LabelClass:
        registered = self._classes.setdefault(label_class.key, label_class)
        self._by_namespace.setdefault(label_class.key[0], {})[registered] = None
        return registered

    def _unregister(self, label_class: LabelClass) -> None:
        del self._classes[label_class.key]
        namespace = label_class.key[0]
        siblings = self._by_namespace[namespace]
        del siblings[label_class]
        if not siblings:
            del self._by_namespace[namespace]

    def _consider_new(self, label_class: LabelClass) -> None:
        if label_class.generation != self._generation:
            label_class.generation = self._generation
            label_class.considered = 0
            label_class.tables = []
        labels = self._namespace_labels(label_class.key[0])
        for table in self._tables[label_class.considered :]:
            if table.matcher.matches(label_class.example, labels):
                label_class.tables.append(table)
        label_class.considered = len(self._tables)

    def _count_existing(self, table: MatchCountsTable) -> None:
        matcher, cell = table.matcher, table.per_row.cell
        for namespace, classes in self._by_namespace.items():
            labels = self._namespace_labels(namespace)
            if not matcher.may_match_namespace(namespace, labels):
                continue
            for label_class in classes:
                if matcher.matches(label_class.example, labels):
                    for row, count in label_class.rows.items():
                        cell[row] += count


def _longer(values: IntColumn, size: int) -> IntColumn:
    grown = np.zeros(size, np.int64)
    grown[: len(values)] = values
    return grown
