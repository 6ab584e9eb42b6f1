# SPDX-License-Identifier: Apache-2.0
"""Affinity terms of existing pods, counted per domain of the term's topology key.

InterPodAffinity is symmetric: a pod that is there already may object to, or ask for, the pod that comes. Equal terms of
different pods share one table. Pushed by `NodeTable` as pods come and go; read by the kernels of InterPodAffinity.

Terms are facts: a table is there as long as some pod on a row has the term, and goes with the last. There may be as many as
there are pods, so that a table is small unless many pods have its term, and which of them speak of a pod is found by an index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from weakref import ref

import numpy as np

from steersman.api.selectors import NOTHING
from steersman.change_log import ChangeLog
from steersman.framework.nodes_view import BoolColumn, IntColumn, TermKind, Topology
from steersman.framework.pod_info import AffinityTerm, PodShape
from steersman.kept import Kept
from steersman.state.label_keys import LabelKeysInUse
from steersman.state.selector_index import SelectorIndex
from steersman.state.topology import TopologyColumn

#: With pods in more domains than this, an array is faster to read.
_MOST_LISTED = 64
#: A reader that has missed more new tables than this is faster with the index.
_MOST_LATEST = 64


class AffinityTermTable:
    """Implements `framework.nodes_view.TermTable`. Invariant: the counts, listed or by domain, are those of the pods with the
    term on rows that have the topology label; `total` is their sum."""

    __slots__ = ("__weakref__", "_array", "_cell", "_listed", "_topology", "term", "total", "users")

    def __init__(self, term: AffinityTerm, topology: TopologyColumn) -> None:
        self.term = term
        self._topology = topology
        #: Pods by domain, of domains that have some; empty once there is an array.
        self._listed: dict[int, int] = {}
        #: int64[domains]: the same; slot 0 is never written. None as long as there are few domains.
        self._array: IntColumn | None = None
        self._cell: memoryview | None = None
        self.total = 0
        #: Number of pods with the term on any row, each as often as it has the term.
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
            if len(self._listed) > _MOST_LISTED:
                self._make_array()
        else:
            del self._listed[domain]

    def by_domain(self) -> dict[int, int]:
        """Pods by domain, of domains that have some."""
        if self._array is None:
            return dict(self._listed)
        return {domain: int(self._array[domain]) for domain in self._array.nonzero()[0].tolist()}

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
    """Implements `framework.nodes_view.Terms`: the terms of one kind that pods on rows have."""

    def __init__(self) -> None:
        self._tables: dict[AffinityTerm, AffinityTermTable] = {}
        self._index: SelectorIndex[AffinityTermTable] = SelectorIndex()
        #: The tables that came; those that have gone are not kept alive by it.
        self._came: ChangeLog[ref[AffinityTermTable]] = ChangeLog(2 * _MOST_LATEST)

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
    """The tables of a shape that pods on rows have, and how many these pods are."""

    __slots__ = ("pods", "tables")

    def __init__(self, tables: tuple[AffinityTermTable, ...]) -> None:
        self.tables = tables
        self.pods = 0


TERM_TABLES = Kept(
    name="affinity terms",
    attributes=("TermTables._of_kind", "TermTables._of_shape", "TermsOfKind._tables", "TermsOfKind._index"),
    holds="how many pods with an affinity term are in each domain of its topology",
    key="kind, term",
    stamps="never: written with every change of the facts; `terms_epoch` moves with it",
    bound="terms that a pod on a row has",
    twin="the terms of all pods on rows",
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
        """A pod of the shape comes to the row."""
        terms = self._of_shape.get(shape)
        if terms is None:
            tables = tuple(self._table(kind, term) for kind, term in terms_of(shape))
            terms = self._of_shape[shape] = ShapeTerms(tables)
        terms.pods += 1
        for table in terms.tables:
            table.users += 1
            table.add(row, 1)

    def remove_pod(self, shape: PodShape, row: int) -> None:
        """A pod of the shape leaves the row; what nobody refers to any more is freed."""
        terms = self._of_shape[shape]
        for table in terms.tables:
            table.users -= 1
            table.add(row, -1)
        terms.pods -= 1
        if not terms.pods:
            del self._of_shape[shape]
            self._free(shape, terms.tables)

    def move(self, shape: PodShape, row: int, sign: int) -> None:
        """The labels of the row's node are about to change (-1), or have changed (1)."""
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
    """Every affinity term of a pod, as often as the pod has it."""
    for kind, terms in (
        (TermKind.REQUIRED_AFFINITY, shape.required_affinity),
        (TermKind.REQUIRED_ANTI_AFFINITY, shape.required_anti_affinity),
        (TermKind.PREFERRED_AFFINITY, shape.preferred_affinity),
        (TermKind.PREFERRED_ANTI_AFFINITY, shape.preferred_anti_affinity),
    ):
        for term in terms:
            yield kind, term


def _namespaces(term: AffinityTerm) -> frozenset[str] | None:
    """All that the term reaches, if it names them."""
    return term.namespaces if term.namespace_selector == NOTHING else None
