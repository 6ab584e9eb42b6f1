# SPDX-License-Identifier: Apache-2.0
"""Count tables: how many pods match a selector, per row and per topology domain.

Created and updated by `pod_counts`; read by kernels. A table by domain references the table by row,
and only kernels reference either: unused tables are freed and no longer updated.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from steersman.base import CacheSpec
from steersman.framework import BoolColumn, Column, Eligibility, IntColumn, PodMatcher, Topology
from steersman.scheduler.state.topology import TopologyColumn


class DomainCountsTable:
    """Implements `framework.nodes_view.DomainCounts`.

    Invariant: `counts[d]` is the sum of `per_row` over the eligible rows of domain d,
    `eligible_rows[d]` their number.
    """

    def __init__(self, topology: TopologyColumn, rows: MatchCountsTable, eligible: Eligibility | None) -> None:
        #: Keeps the table by row alive.
        self._rows = rows
        self._eligible = eligible
        self._alive = rows.alive
        self._per_row = rows.per_row
        self._topology = topology
        chosen = rows.alive if eligible is None else eligible.rows() & rows.alive
        #: uint8[capacity]: 1 if the row counts.
        self._counts_row = chosen.astype(np.uint8).data
        weights = np.where(chosen, self._per_row.values, 0)
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

    @property
    def counted_rows(self) -> BoolColumn:
        counted: BoolColumn = np.frombuffer(self._counts_row, np.uint8).astype(np.bool_) & (self._topology.domain != 0)
        return counted

    def depends_on(self, label_keys: Collection[str] | None) -> bool:
        """Return whether a change of these node labels may change which rows count, or their
        domain. None stands for any other change of the node, including its addition and removal."""
        return label_keys is None or self._eligible is not None or self._topology.key in label_keys

    def pods_in(self, domain: int) -> int:
        pods: int = self.cell[domain]
        return pods

    def mark_inhabited(self, domains: BoolColumn | None) -> BoolColumn:
        inhabited: BoolColumn = self.counts > 0
        if domains is None:
            return inhabited
        domains |= inhabited
        return domains

    def add_weighted(self, sums: IntColumn | None, weight: int) -> IntColumn:
        weighted: IntColumn = self.counts * weight
        if sums is None:
            return weighted
        sums += weighted
        return sums

    def add(self, row: int, sign: int) -> None:
        if self._counts_row[row]:
            domain = self._topology.cell[row]
            self.cell[domain] += sign
            if domain:
                self.total += sign

    def detach(self, row: int) -> None:
        """Subtract the row before its node changes."""
        if self._counts_row[row]:
            domain = self._topology.cell[row]
            self.cell[domain] -= self._per_row.cell[row]
            self.total -= self._per_row.cell[row] if domain else 0
            self.eligible_rows[domain] -= 1
            self._counts_row[row] = 0

    def attach(self, row: int) -> None:
        """Add the row after its node changed, if it still has a node and is eligible."""
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


DOMAIN_COUNTS = CacheSpec(
    name="domain counts",
    attributes=("MatchCountsTable._by_domain",),
    contents="matching pods and eligible rows by topology domain",
    key="matcher, topology key, eligibility",
    invalidation="never: updated with every change of the cluster state",
    limit="those in use by a kernel",
    reference="the sum of the matching pods over the eligible rows of each domain",
)


class MatchCountsTable:
    """Implements `framework.nodes_view.MatchCounts`. Invariant: `per_row` counts the matching pods
    on each row."""

    __slots__ = ("__weakref__", "_by_domain", "_sweep_at", "alive", "matcher", "per_row")

    def __init__(self, matcher: PodMatcher, capacity: int, alive: NDArray[np.bool_]) -> None:
        self.matcher = matcher
        self.alive = alive
        self.per_row = Column(np.zeros(capacity, np.int64))
        #: Tables by topology key and eligibility; freed ones are removed when this size is reached.
        self._by_domain: dict[tuple[str, Eligibility | None], ref[DomainCountsTable]] = {}
        self._sweep_at = 8

    def by_domain(self, topology: Topology, eligible: Eligibility | None = None) -> DomainCountsTable:
        reference = self._by_domain.get((topology.key, eligible))
        known = None if reference is None else reference()
        if known is None or known.topology is not topology:
            assert isinstance(topology, TopologyColumn)
            known = DomainCountsTable(topology, self, eligible)
            if len(self._by_domain) >= self._sweep_at:
                self._drop_freed()
            self._by_domain[topology.key, eligible] = ref(known)
        return known

    def domains(self) -> Iterator[DomainCountsTable]:
        """Yield the tables by domain that are alive."""
        for reference in self._by_domain.values():
            table = reference()
            if table is not None:
                yield table

    def add(self, row: int, sign: int) -> None:
        self.per_row.cell[row] += sign
        for reference in self._by_domain.values():
            table = reference()
            if table is not None:
                table.add(row, sign)

    def _drop_freed(self) -> None:
        self._by_domain = {key: reference for key, reference in self._by_domain.items() if reference() is not None}
        self._sweep_at = 2 * len(self._by_domain) + 8


def _longer(values: IntColumn, size: int) -> IntColumn:
    grown = np.zeros(size, np.int64)
    grown[: len(values)] = values
    return grown
