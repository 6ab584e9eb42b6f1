# SPDX-License-Identifier: Apache-2.0
"""Terms evaluated once per group of rows that they treat alike (`engine.row_groups`).

Rows are alike if they are in the same domain of every topology with several rows per domain, and
have equal sums of weighted counts for topologies in which every row is a domain of its own, such as
host names.

Pods with new terms add tables. A table with one row per domain needs no new feature, because all of
these count in the same sum; a table of a new topology with several rows per domain needs one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

import numpy as np

from steersman.framework import AnyIntColumn, DomainCounts, IntColumn, NodesView, RowFeature, TermTable, Topology

Weighted: TypeAlias = tuple[int, DomainCounts | TermTable]

MIN_ROWS: Final = 4000
"""With fewer rows, columns are faster than groups."""
MIN_ROWS_OF_REJECTIONS: Final = 12_000
"""`MIN_ROWS` for a pod without affinity. Existing pods reject few rows each, so their mask is cheap."""


class TermFeatures:
    """The features that weighted tables depend on. `tables` returns the tables that count a pod
    now."""

    def __init__(self, view: NodesView, tables: Callable[[], Iterable[Weighted]]) -> None:
        self._view = view
        self._tables = tables
        #: Topologies with several rows per domain, in the order of their features.
        self._topologies: list[Topology] = []

    def features(self, tables: Iterable[Weighted]) -> list[RowFeature]:
        """Return the features; `tables` are tables that may begin to count a pod later."""
        topologies = [table.topology for _, table in (*tables, *self._tables())]
        self._topologies = [each for each in dict.fromkeys(topologies) if not each.one_row_per_domain]
        return [*map(domain_feature, self._topologies), RowFeature(self._sums, self._sum, True)]

    def are_current(self) -> bool:
        """Return whether the features include the topologies of all tables that count a pod."""
        return all(
            table.topology.one_row_per_domain or table.topology in self._topologies for _, table in self._tables()
        )

    def sums_of(self, groups: Sequence[tuple[int, ...]]) -> list[int]:
        """Return per group the sum of the weighted counts in its domains."""
        by_domain: dict[Topology, IntColumn] = {}
        for weight, table in self._tables():
            if not table.topology.one_row_per_domain:
                by_domain[table.topology] = table.add_weighted(by_domain.get(table.topology), weight)
        sums = [_signed(group[len(self._topologies)]) for group in groups]
        for at, topology in enumerate(self._topologies):
            if topology in by_domain:
                by_domain[topology][0] = 0
                cell = by_domain[topology].data
                sums = [total + cell[group[at]] for total, group in zip(sums, groups, strict=True)]
        return sums

    def _sum(self, row: int) -> int:
        """Return what the tables with a domain per row count on the row, as a non-negative
        number."""
        total = 0
        for weight, table in self._tables():
            if table.topology.one_row_per_domain:
                total += weight * table.pods_in(table.topology.cell[row])
        return 2 * total if total >= 0 else -2 * total - 1

    def _sums(self) -> AnyIntColumn:
        total = np.zeros(self._view.capacity, np.int64)
        for weight, table in self._tables():
            topology = table.topology
            if topology.one_row_per_domain:
                counts = table.add_weighted(None, weight)
                counts[0] = 0
                total += topology.gather(counts)
        return np.where(total >= 0, 2 * total, -2 * total - 1)


def domain_feature(topology: Topology) -> RowFeature:
    """Return the domain of each row."""
    return RowFeature(lambda: topology.domain, topology.cell.__getitem__, False)


def _signed(number: int) -> int:
    return -(number + 1) // 2 if number % 2 else number // 2
