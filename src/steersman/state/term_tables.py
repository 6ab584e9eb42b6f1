"""Affinity terms of existing pods, counted per domain of the term's topology key.

InterPodAffinity is symmetric: a pod that is there already may object to, or ask for, the pod that comes. Equal terms of
different pods share one table. Pushed by `NodeTable` as pods come and go; read by the kernels of InterPodAffinity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from steersman.framework.nodes_view import IntColumn, TermKind, Topology
from steersman.framework.pod_info import AffinityTerm, PodShape
from steersman.state.topology import TopologyColumn


class AffinityTermTable:
    """Implements `framework.nodes_view.TermTable`."""

    __slots__ = ("__weakref__", "_topology", "cell", "counts", "term", "total")

    def __init__(self, term: AffinityTerm, topology: TopologyColumn) -> None:
        self.term = term
        self._topology = topology
        #: int64[domains]: pods with the term by domain; slot 0 is not meaningful.
        self.counts: IntColumn = np.zeros(topology.size, np.int64)
        self.cell = self.counts.data
        self.total = 0
        topology.on_grow(self._grow)

    @property
    def topology(self) -> Topology:
        return self._topology

    def add(self, row: int, sign: int) -> None:
        domain = self._topology.cell[row]
        if domain:
            self.cell[domain] += sign
            self.total += sign

    def _grow(self, size: int) -> None:
        grown = np.zeros(size, np.int64)
        grown[: len(self.counts)] = self.counts
        self.counts = grown
        self.cell = grown.data


class TermTables:
    """All terms of pods on rows."""

    def __init__(self, topology: Callable[[str], TopologyColumn]) -> None:
        self._topology = topology
        self._known: dict[tuple[TermKind, AffinityTerm], AffinityTermTable] = {}
        self._of_kind: dict[TermKind, list[AffinityTermTable]] = {kind: [] for kind in TermKind}
        self._of_shape: dict[PodShape, tuple[AffinityTermTable, ...]] = {}
        #: Label keys that some term's selector refers to.
        self.referenced_keys: set[str] = set()

    def of_kind(self, kind: TermKind) -> list[AffinityTermTable]:
        return self._of_kind[kind]

    def of_shape(self, shape: PodShape) -> tuple[AffinityTermTable, ...]:
        known = self._of_shape.get(shape)
        if known is None:
            known = self._of_shape[shape] = tuple(self._table(kind, term) for kind, term in terms_of(shape))
        return known

    def _table(self, kind: TermKind, term: AffinityTerm) -> AffinityTermTable:
        known = self._known.get((kind, term))
        if known is None:
            known = self._known[kind, term] = AffinityTermTable(term, self._topology(term.topology_key))
            self._of_kind[kind].append(known)
            self.referenced_keys.update(term.selector.keys)
        return known


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
