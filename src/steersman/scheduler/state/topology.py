# SPDX-License-Identifier: Apache-2.0
"""Topology domains: rows that share the value of a label key, as small integers.

Filled from node labels by `NodeTable`; read by count tables and by the kernels of PodTopologySpread
and InterPodAffinity. Host names get the id `row + 1` as long as no two nodes share one, so that a
per-domain table *is* a per-row column. The id of a domain without rows is reused for the next new
domain, so ids do not grow as nodes are replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from weakref import WeakMethod

import numpy as np
from numpy.typing import NDArray

from steersman.api import HOSTNAME_LABEL
from steersman.framework import ScalarT

_HEADROOM = 16


class TopologyColumn:
    """Implements `framework.nodes_view.Topology`."""

    def __init__(self, key: str, nowhere: NDArray[np.intp]) -> None:
        """`nowhere` is an array of zeros with the length of a column; it is never modified."""
        self.key = key
        capacity = len(nowhere)
        #: intp[capacity]: domain id by row, 0 without label. Modified by `set` and `clear`. Shared
        #: with other topologies while no row has the label.
        self.domain: NDArray[np.intp] = nowhere
        self.cell = self.domain.data
        self._is_shared = True
        #: Domains that have a row: id by label value, value by id, and the number of rows by id.
        self._ids: dict[str, int] = {}
        self._values: dict[int, str] = {}
        self._row_count: dict[int, int] = {}
        self._by_row = key == HOSTNAME_LABEL
        self._next_id = capacity + 1 if self._by_row else 1
        #: Unused ids below `_next_id`, except those of rows.
        self._free_ids: list[int] = []
        self.size = self._next_id + (0 if self._by_row else _HEADROOM)
        #: Rows with a node whose domain id is not `row + 1`; for host names only.
        self._irregular: set[int] = set()
        self._on_grow: list[WeakMethod[Callable[[int], None]]] = []
        #: Number of callbacks at which dead ones are removed.
        self._sweep_at = 8

    def on_grow(self, callback: Callable[[int], None]) -> None:
        """Register a method to call with the new size when per-domain tables must become longer, as
        long as its object is alive."""
        if len(self._on_grow) >= self._sweep_at:
            self._on_grow = [reference for reference in self._on_grow if reference() is not None]
            self._sweep_at = 2 * len(self._on_grow) + 8
        self._on_grow.append(WeakMethod(callback))

    @property
    def has_hostname_key(self) -> bool:
        """Whether ids are derived from rows, so that rows without the label must be known too."""
        return self._by_row

    @property
    def one_row_per_domain(self) -> bool:
        return self._by_row and not self._irregular

    @property
    def empty_value(self) -> int:
        return self._ids.get("", 0)

    def set(self, row: int, value: str | None) -> None:
        """Set the label value of the row's node; None without the label."""
        domain = self.cell[row]
        if self._values.get(domain) != value:
            self._leave(row)
            domain = 0 if value is None else self._enter(row, value)
        if not self._by_row or domain == row + 1:
            self._irregular.discard(row)
        else:
            self._irregular.add(row)

    def fill(self, values: Iterable[tuple[int, str | None]]) -> None:
        """Do what `set` does for each row of a new column."""
        ids, labels, row_count = self._ids, self._values, self._row_count
        for row, value in values:
            domain = None if value is None else ids.get(value)
            if value is None or self._is_shared or (domain is None) is not self._by_row:
                self.set(row, value)
            elif domain is None:
                domain = ids[value] = row + 1
                labels[domain], row_count[domain], self.cell[row] = value, 1, domain
            else:
                row_count[domain] += 1
                self.cell[row] = domain

    def clear(self, row: int) -> None:
        """Remove the row from its domain, because it has no node any more."""
        self._leave(row)
        self._irregular.discard(row)

    def gather(self, table: NDArray[ScalarT]) -> NDArray[ScalarT]:
        if self._by_row and not self._irregular:
            return table[1 : len(self.domain) + 1]
        return table.take(self.domain)

    def _enter(self, row: int, value: str) -> int:
        domain = self._ids.get(value)
        if domain is None:
            domain = self._ids[value] = self._unused_id(row)
            self._values[domain] = value
            self._row_count[domain] = 0
        self._row_count[domain] += 1
        if self._is_shared:
            self._is_shared = False
            self.domain = np.zeros(len(self.domain), np.intp)
            self.cell = self.domain.data
        self.cell[row] = domain
        return domain

    def _leave(self, row: int) -> None:
        domain = self.cell[row]
        if not domain:
            return
        self.cell[row] = 0
        self._row_count[domain] -= 1
        if not self._row_count[domain]:
            del self._ids[self._values.pop(domain)], self._row_count[domain]
            if not self._is_id_of_row(domain):
                self._free_ids.append(domain)

    def _unused_id(self, row: int) -> int:
        if self._by_row and row + 1 not in self._values:
            return row + 1
        if self._free_ids:
            return self._free_ids.pop()
        fresh = self._next_id
        self._next_id += 1
        if fresh >= self.size:
            self._grow(fresh)
        return fresh

    def _is_id_of_row(self, domain: int) -> bool:
        return self._by_row and domain <= len(self.domain)

    def _grow(self, needed: int) -> None:
        self.size = max(needed + 1, self.size + self.size // 2) + _HEADROOM
        self._on_grow = [reference for reference in self._on_grow if reference() is not None]
        for reference in self._on_grow:
            callback = reference()
            if callback is not None:
                callback(self.size)
