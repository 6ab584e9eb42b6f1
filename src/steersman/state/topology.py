# SPDX-License-Identifier: Apache-2.0
"""Topology domains: which rows share the value of a label key, as small integers.

Filled from node labels by `NodeTable`; read by count tables and by the kernels of PodTopologySpread and InterPodAffinity.
Host names get the id `row + 1` as long as no two nodes share one, so that a per-domain table *is* a per-row column.
The id of a domain that has lost its last row is given to the next new domain: nodes may come and go for years.
"""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakMethod

import numpy as np
from numpy.typing import NDArray

from steersman.framework.nodes_view import ScalarT

HOSTNAME_KEY = "kubernetes.io/hostname"
_HEADROOM = 16


class TopologyColumn:
    """Implements `framework.nodes_view.Topology`."""

    def __init__(self, key: str, nowhere: NDArray[np.intp]) -> None:
        """`nowhere` are as many zeros as there are rows; it is never written to."""
        self.key = key
        capacity = len(nowhere)
        #: intp[capacity]: domain id by row, 0 without label. Written by `set` and `clear`. As long as no row has the label,
        #: which users who write keys do not care about, it is shared with other topologies.
        self.domain: NDArray[np.intp] = nowhere
        self.cell = self.domain.data
        self._is_shared = True
        #: Domains that have a row: id by label value, value by id, and the number of rows by id.
        self._ids: dict[str, int] = {}
        self._values: dict[int, str] = {}
        self._row_count: dict[int, int] = {}
        self._by_row = key == HOSTNAME_KEY
        self._next_id = capacity + 1 if self._by_row else 1
        #: Ids below `_next_id` that no domain has, apart from those of rows.
        self._free_ids: list[int] = []
        self.size = self._next_id + (0 if self._by_row else _HEADROOM)
        #: Rows with a node whose domain id is not `row + 1`; only of host names.
        self._irregular: set[int] = set()
        self._on_grow: list[WeakMethod[Callable[[int], None]]] = []
        #: With so many of them, those are dropped whose table has gone.
        self._look_for_freed = 8

    def on_grow(self, callback: Callable[[int], None]) -> None:
        """The method is called with the new size when per-domain tables must become longer, as long as its table is
        in use."""
        if len(self._on_grow) >= self._look_for_freed:
            self._on_grow = [reference for reference in self._on_grow if reference() is not None]
            self._look_for_freed = 2 * len(self._on_grow) + 8
        self._on_grow.append(WeakMethod(callback))

    @property
    def is_of_hosts(self) -> bool:
        """Whether its ids go by row: then also the rows without the label have to be known."""
        return self._by_row

    @property
    def one_row_per_domain(self) -> bool:
        return self._by_row and not self._irregular

    @property
    def empty_value(self) -> int:
        return self._ids.get("", 0)

    def set(self, row: int, value: str | None) -> None:
        """The row's node has that label value; None: it lacks the label."""
        domain = self.cell[row]
        if self._values.get(domain) != value:
            self._leave(row)
            domain = 0 if value is None else self._enter(row, value)
        if not self._by_row or domain == row + 1:
            self._irregular.discard(row)
        else:
            self._irregular.add(row)

    def clear(self, row: int) -> None:
        """Takes the row out of its domain: there is no node in it any more."""
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
