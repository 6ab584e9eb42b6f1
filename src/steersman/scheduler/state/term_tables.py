# SPDX-License-Identifier: Apache-2.0
"""Affinity terms of existing pods, counted per domain of the term's topology key.

InterPodAffinity is symmetric: existing pods may reject or attract an incoming pod. Equal terms of
different pods share one table. Updated by `NodeTable` with every pod; read by the kernels of
InterPodAffinity.

A table exists as long as any pod on a row has the term. There may be as many tables as pods, so a
table is small unless many pods have its term, and those that match a pod are found by an index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from weakref import ref

import numpy as np

from steersman.api import NOTHING
from steersman.base import CacheSpec, ChangeLog
from steersman.framework import AffinityTerm, BoolColumn, IntColumn, PodShape, TermKind, Topology
from steersman.scheduler.state.label_keys import LabelKeysInUse
from steersman.scheduler.state.selector_index import SelectorIndex
from steersman.scheduler.state.topology import TopologyColumn

#: With pods in more domains, an array is faster than a dict.
_MAX_DICT_DOMAINS = 64
#: For a reader that has missed more new tables, the index is faster.
_MAX_MISSED_TABLES = 64


class AffinityTermTable:
    """Implements `framework.nodes_view.TermTable`. Invariant: the counts by domain are those of the
    pods with the term on rows that have the topology label; `total` is their sum."""

    __slots__ = ("__weakref__", "_array", "_cell", "_listed", "_topology", "term", "total", "users")

    def __init__(self, term: AffinityTerm, topology: TopologyColumn) -> None:
        self.term = term
        self._topology = topology
        #: Pods by domain, without zeros; empty once there is an array.
        self._listed: dict[int, int] = {}
        #: int64[domains] with the same counts; slot 0 is never written. None while there are few
        #: domains.
        self._array: IntColumn | None = None
        self._cell: memoryview | None = None
        self.total = 0
        #: Number of pods with the term on any row, counted once per occurrence of the term.
        self.users = 0

    @property
    def topology(self) -> Topology:
        return self._topology

    def add(self, row: int, sign: int) -> None:
        domain = self._topology.cell[row]
        if not domain:
            return
        self.total += sign
        if self._cell is not None:
            self._cell[domain] += sign
            return
        count = self._listed.get(domain, 0) + sign
        if count:
            self._listed[domain] = count
            if len(self._listed) > _MAX_DICT_DOMAINS:
                self._make_array()
        else:
            del self._listed[domain]

    def by_domain(self) -> dict[int, int]:
        """Return pods by domain, without zeros."""
        if self._array is None:
            return dict(self._listed)
        return {domain: int(self._array[domain]) for domain in self._array.nonzero()[0].tolist()}

    def pods_in(self, domain: int) -> int:
        return self._listed.get(domain, 0) if self._cell is None else self._cell[domain]

    def mark_inhabited(self, domains: BoolColumn | None) -> BoolColumn:
        if self._array is not None:
            inhabited: BoolColumn = self._array > 0
            if domains is None:
                return inhabited
            domains |= inhabited
            return domains
        if domains is None:
            domains = np.zeros(self._topology.size, np.bool_)
        domains[list(self._listed)] = True
        return domains

    def add_weighted(self, sums: IntColumn | None, weight: int) -> IntColumn:
        if sums is None:
            sums = np.zeros(self._topology.size, np.int64)
        if self._array is not None:
            sums += self._array * weight
        else:
            for domain, count in self._listed.items():
                sums[domain] += count * weight
        return sums

    def _make_array(self) -> None:
        self._array = np.zeros(self._topology.size, np.int64)
        self._array[list(self._listed)] = list(self._listed.values())
        self._cell = self._array.data
        self._listed = {}
        self._topology.on_grow(self._grow)

    def _grow(self, size: int) -> None:
        assert self._array is not None
        grown = np.zeros(size, np.int64)
        grown[: len(self._array)] = self._array
        self._array = grown
        self._cell = grown.data


class TermsOfKind:
    """Implements `framework.nodes_view.Terms`: the terms of one kind of pods on rows."""

    def __init__(self) -> None:
        self._tables: dict[AffinityTerm, AffinityTermTable] = {}
        self._index: SelectorIndex[AffinityTermTable] = SelectorIndex()
        #: Weak references to the added tables.
        self._came: ChangeLog[ref[AffinityTermTable]] = ChangeLog(2 * _MAX_MISSED_TABLES)

    @property
    def end(self) -> int:
        return self._came.end

    def since(self, position: int) -> Sequence[AffinityTermTable] | None:
        came = self._came.each_since(position)
        return None if came is None else [table for reference in came if (table := reference()) is not None]

    def candidates(self, namespace: str, labels: Mapping[str, str]) -> Iterator[AffinityTermTable]:
        return self._index.candidates(namespace, labels)

    def get(self, term: AffinityTerm) -> AffinityTermTable | None:
        return self._tables.get(term)

    def add(self, table: AffinityTermTable) -> None:
        self._tables[table.term] = table
        self._index.add(table, table.term.selector, _namespaces(table.term))
        self._came.append(ref(table))

    def remove(self, table: AffinityTermTable) -> None:
        del self._tables[table.term]
        self._index.discard(table, table.term.selector, _namespaces(table.term))

    def __iter__(self) -> Iterator[AffinityTermTable]:
        return iter(self._tables.values())

    def __len__(self) -> int:
        return len(self._tables)


class ShapeTerms:
    """The tables of a shape, and the number of pods on rows with this shape."""

    __slots__ = ("pods", "tables")

    def __init__(self, tables: tuple[AffinityTermTable, ...]) -> None:
        self.tables = tables
        self.pods = 0


TERM_TABLES = CacheSpec(
    name="affinity terms",
    attributes=("TermTables._of_kind", "TermTables._of_shape", "TermsOfKind._tables", "TermsOfKind._index"),
    contents="how many pods with an affinity term are in each domain of its topology",
    key="kind, term",
    invalidation="never: updated with every change of the cluster state; `terms_epoch` changes with it",
    limit="terms of pods on rows",
    reference="the terms of all pods on rows",
)


class TermTables:
    """All terms of pods on rows."""

    def __init__(self, topology: Callable[[str], TopologyColumn], label_keys: LabelKeysInUse) -> None:
        self._topology = topology
        self._label_keys = label_keys
        self._of_kind = {kind: TermsOfKind() for kind in TermKind}
        self._of_shape: dict[PodShape, ShapeTerms] = {}

    def of_kind(self, kind: TermKind) -> TermsOfKind:
        return self._of_kind[kind]

    def add_pod(self, shape: PodShape, row: int) -> None:
        """Count a pod of the shape on the row."""
        terms = self._of_shape.get(shape)
        if terms is None:
            tables = tuple(self._table(kind, term) for kind, term in terms_of(shape))
            terms = self._of_shape[shape] = ShapeTerms(tables)
        terms.pods += 1
        for table in terms.tables:
            table.users += 1
            table.add(row, 1)

    def remove_pod(self, shape: PodShape, row: int) -> None:
        """Remove a pod of the shape from the row; unused tables are freed."""
        terms = self._of_shape[shape]
        for table in terms.tables:
            table.users -= 1
            table.add(row, -1)
        terms.pods -= 1
        if not terms.pods:
            del self._of_shape[shape]
            self._free(shape, terms.tables)

    def move(self, shape: PodShape, row: int, sign: int) -> None:
        """Subtract (-1) before, or add (1) after, the labels of the row's node change."""
        for table in self._of_shape[shape].tables:
            table.add(row, sign)

    def _table(self, kind: TermKind, term: AffinityTerm) -> AffinityTermTable:
        terms = self._of_kind[kind]
        known = terms.get(term)
        if known is None:
            known = AffinityTermTable(term, self._topology(term.topology_key))
            terms.add(known)
            self._label_keys.hold(term.selector.keys)
        return known

    def _free(self, shape: PodShape, tables: Iterable[AffinityTermTable]) -> None:
        for (kind, term), table in zip(terms_of(shape), tables, strict=True):
            if not table.users and self._of_kind[kind].get(term) is table:
                self._of_kind[kind].remove(table)
                self._label_keys.release(term.selector.keys)

    def __len__(self) -> int:
        return sum(map(len, self._of_kind.values()))


def terms_of(shape: PodShape) -> Iterable[tuple[TermKind, AffinityTerm]]:
    """Yield every affinity term of a pod, as often as the pod has it."""
    for kind, terms in (
        (TermKind.REQUIRED_AFFINITY, shape.required_affinity),
        (TermKind.REQUIRED_ANTI_AFFINITY, shape.required_anti_affinity),
        (TermKind.PREFERRED_AFFINITY, shape.preferred_affinity),
        (TermKind.PREFERRED_ANTI_AFFINITY, shape.preferred_anti_affinity),
    ):
        for term in terms:
            yield kind, term


def _namespaces(term: AffinityTerm) -> frozenset[str] | None:
    """Return the namespaces of the term if they are known by name."""
    return term.namespaces if term.namespace_selector == NOTHING else None
