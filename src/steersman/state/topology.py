"""Topology domains: which rows share the value of a label key, as small integers.

Filled from node labels by `NodeTable`; read by count tables and by the kernels of PodTopologySpread and InterPodAffinity.
Host names get the id `row + 1` as long as no two nodes share one, so that a per-domain table *is* a per-row column.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from steersman.framework.columns import ScalarT

HOSTNAME_KEY = "kubernetes.io/hostname"
_HEADROOM = 16


class TopologyColumn:
    """Implements `framework.columns.Topology`."""

    def __init__(self, key: str, capacity: int) -> None:
        self.key = key
        #: intp[capacity]: domain id by row, 0 without label. Written by `set`.
        self.domain: NDArray[np.intp] = np.zeros(capacity, np.intp)
        self.cell = self.domain.data
        self._ids: dict[str, int] = {}
        self._by_row = key == HOSTNAME_KEY
        self._next_id = capacity + 1 if self._by_row else 1
        self.size = self._next_id + (0 if self._by_row else _HEADROOM)
        self._row_ids_taken: set[int] = set()
        #: Rows with a node whose domain id is not `row + 1`.
        self._irregular: set[int] = set()
        self._on_grow: list[Callable[[int], None]] = []

    def on_grow(self, callback: Callable[[int], None]) -> None:
        """`callback(size)` is called when per-domain tables must become longer."""
        self._on_grow.append(callback)

    @property
    def one_row_per_domain(self) -> bool:
        return self._by_row and not self._irregular

    @property
    def empty_value(self) -> int:
        return self._ids.get("", 0)

    def set(self, row: int, value: str | None) -> None:
        """The row's node has that label value; None: it lacks the label."""
        domain = 0 if value is None else self._id_of(value, row)
        self.cell[row] = domain
        if domain == row + 1:
            self._irregular.discard(row)
        else:
            self._irregular.add(row)

    def clear(self, row: int) -> None:
        """There is no node in the row any more."""
        self.cell[row] = 0
        self._irregular.discard(row)

    def gather(self, table: NDArray[ScalarT]) -> NDArray[ScalarT]:
        if self._by_row and not self._irregular:
            return table[1 : len(self.domain) + 1]
        return table.take(self.domain)

    def _id_of(self, value: str, row: int) -> int:
        known = self._ids.get(value)
        if known is not None:
            return known
        if self._by_row and row + 1 not in self._row_ids_taken:
            fresh = row + 1
            self._row_ids_taken.add(fresh)
        else:
            fresh = self._next_id
            self._next_id += 1
            if fresh >= self.size:
                self._grow(fresh)
        self._ids[value] = fresh
        return fresh

    def _grow(self, needed: int) -> None:
        self.size = max(needed + 1, self.size + self.size // 2) + _HEADROOM
        for callback in self._on_grow:
            callback(self.size)
