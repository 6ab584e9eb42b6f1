# SPDX-License-Identifier: Apache-2.0
"""The vector form of the NodeResourcesFit filter.

A row's *shortage* is a bit set: a bit for too many pods, one per lacking resource in the order of
reasons, and one if removing pods would not help. Each shortage has a reason id.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steersman.framework import (
    CPU,
    MEMORY,
    AddedPods,
    Column,
    Depends,
    FilterKernel,
    NeedsResources,
    NodesView,
    PodInfo,
    ReasonColumn,
    Rows,
    StatusTable,
    int64,
)
from steersman.scheduler.plugins.node_resources.insufficient import (
    REASON_TOO_MANY_PODS,
    CheckedRequest,
    insufficient_reason,
    rejection,
)

#: Pods with more checked resources have no table of shortages and use Python integers.
_MAX_TABULATED: Final = 12
_TOO_MANY_PODS: Final = 1
#: Number of rows whose long shortages are computed together.
_ROWS_PER_PIECE: Final = 256


class _CheckedResource(NamedTuple):
    """A checked resource with its columns and its bit in a shortage."""

    bit: int
    wanted: int
    offered: Column
    used: Column


def fit_kernel(requests: Sequence[CheckedRequest], view: NodesView, statuses: StatusTable) -> FilterKernel:
    """Return the kernel for a pod with these requests."""
    if any(request.by_devices for request in requests):
        return FitOrDevices(requests, view, statuses)
    kind = FitOfTwo if len(requests) == 2 else Fit
    return kind(requests, view, statuses)


class Fit(FilterKernel):
    """Rejects rows without enough of every requested resource or without room for one more pod."""

    depends = Depends.NODE_PODS

    def __init__(self, requests: Sequence[CheckedRequest], view: NodesView, statuses: StatusTable) -> None:
        self.rule = NeedsResources(tuple((request.resource, request.amount) for request in requests))
        self.reads_only_amounts = all(request.resource in (CPU, MEMORY) for request in requests)
        self._requests = requests
        self._statuses = statuses
        self._capacity = view.capacity
        self._pods, self._allowed = view.pod_count, view.allowed_pods
        self._pods_cell, self._allowed_cell = self._pods.cell, self._allowed.cell
        self._needs = tuple(
            _CheckedResource(2 << i, r.amount, view.allocatable(r.resource), view.requested(r.resource))
            for i, r in enumerate(requests)
        )
        #: Bit, wanted amount, offered cell and used cell of each resource, for `row`.
        self._cells = tuple((need.bit, need.wanted, need.offered.cell, need.used.cell) for need in self._needs)
        self._hopeless = 2 << len(requests)
        self._ids: dict[int, int] = {}
        #: Reason ids by shortage; 0 for one that has not occurred yet.
        self._id_table = np.zeros(2 * self._hopeless if len(requests) <= _MAX_TABULATED else 0, np.int32)

    def row(self, row: int) -> int:
        if self._pods_cell[row] < self._allowed_cell[row]:
            for _, wanted, offered, used in self._cells:
                if wanted > offered[row] - used[row]:
                    break
            else:
                return 0
        return self._id_of(self._shortage(row))

    def row_with(self, row: int, added: Sequence[PodInfo]) -> int:
        shortage = 0 if self._pods_cell[row] + len(added) < self._allowed_cell[row] else _TOO_MANY_PODS
        for (bit, wanted, offered, used), request in zip(self._cells, self._requests, strict=True):
            more = sum([pod.requests(request.resource) for pod in added])
            if wanted > offered[row] - int64(used[row] + more):
                shortage |= bit if wanted <= offered[row] else bit | self._hopeless
        return self._id_of(shortage) if shortage else 0

    def rows(self, rows: Rows) -> ReasonColumn:
        lacking = self._pods.values[rows] >= self._allowed.values[rows]
        for _, wanted, offered, used in self._needs:
            lacking |= wanted > offered.values[rows] - used.values[rows]
        reasons = np.zeros(len(lacking), np.int32)
        crowded = lacking.nonzero()[0]
        if len(crowded):
            reasons[crowded] = self._ids_of(crowded if isinstance(rows, slice) else rows[crowded])
        return reasons

    def rows_with(self, added: AddedPods, before: ReasonColumn) -> ReasonColumn:
        if not len(self._id_table):
            return super().rows_with(added, before)
        shortages = self._shortages(added.rows, added)
        reasons = np.zeros(len(shortages), np.int32)
        crowded = shortages.nonzero()[0]
        if len(crowded):
            reasons[crowded] = self._ids_of_shortages(shortages[crowded])
        return reasons

    def _ids_of(self, rows: NDArray[np.intp]) -> ReasonColumn:
        """Return the reason ids of rows that lack something."""
        if len(self._id_table):
            return self._ids_of_shortages(self._shortages(rows))
        pieces = np.array_split(rows, len(rows) // _ROWS_PER_PIECE + 1)
        shortages = [shortage for piece in pieces for shortage in self._long_shortages(piece)]
        return np.array([self._id_of(shortage) if shortage else 0 for shortage in shortages], np.int32)

    def _ids_of_shortages(self, shortages: NDArray[np.intp]) -> ReasonColumn:
        """Return the reason ids by shortage; no shortage is 0."""
        ids = self._id_table[shortages]
        if not ids.all():
            for shortage in set(shortages[ids == 0].tolist()):
                self._id_table[shortage] = self._id_of(shortage)
            ids = self._id_table[shortages]
        return ids

    def _shortages(self, rows: NDArray[np.intp], added: AddedPods | None = None) -> NDArray[np.intp]:
        pods = self._pods.values[rows]
        if added is not None:
            pods += added.counts
        shortages = np.multiply(pods >= self._allowed.values[rows], _TOO_MANY_PODS, dtype=np.intp)
        hopeless = np.zeros(len(rows), np.bool_)
        for (bit, wanted, offered_column, used_column), request in zip(self._needs, self._requests, strict=True):
            offered, used = offered_column.values[rows], used_column.values[rows]
            if added is not None:
                used += added.amounts(request.resource)
            lacking = wanted > offered - used
            shortages += np.multiply(lacking, bit, dtype=np.intp)
            hopeless |= lacking & (wanted > offered)
        return shortages + np.multiply(hopeless, self._hopeless, dtype=np.intp)

    def _long_shortages(self, rows: NDArray[np.intp]) -> Iterator[int]:
        """Return the shortages of rows with more bits than a machine word. Reference:
        `_shortage`."""
        lacks = np.zeros((len(self._needs) + 2, len(rows)), np.bool_)
        lacks[0] = self._pods.values[rows] >= self._allowed.values[rows]
        for at, (need, request) in enumerate(zip(self._needs, self._requests, strict=True), start=1):
            wanted, offered = need.wanted, need.offered.values[rows]
            lacks[at] = wanted > offered - need.used.values[rows]
            if request.by_devices:
                lacks[at] &= offered != 0
            lacks[-1] |= lacks[at] & (wanted > offered)
        packed = np.packbits(lacks, axis=0, bitorder="little")
        return (int.from_bytes(packed[:, at].tobytes(), "little") for at in range(len(rows)))

    def _shortage(self, row: int) -> int:
        """Return the shortage of one row, as a bit set."""
        if not len(self._id_table):
            return next(self._long_shortages(np.array([row])))
        shortage = 0 if self._pods_cell[row] < self._allowed_cell[row] else _TOO_MANY_PODS
        for bit, wanted, offered, used in self._cells:
            if wanted > offered[row] - used[row]:
                shortage |= bit if wanted <= offered[row] else bit | self._hopeless
        return shortage

    def _id_of(self, shortage: int) -> int:
        known = self._ids.get(shortage)
        if known is None:
            reasons = [REASON_TOO_MANY_PODS] if shortage & _TOO_MANY_PODS else []
            bits = f"{shortage >> 1:b}"[::-1]
            reasons += [
                insufficient_reason(r.resource) for r, bit in zip(self._requests, bits, strict=False) if bit == "1"
            ]
            status = rejection(reasons, unresolvable=bool(shortage & self._hopeless))
            known = self._ids[shortage] = self._statuses.id_of(status)
        return known


class FitOfTwo(Fit):
    """The fit of two resources, the most common case: its `row` has no loop."""

    def __init__(self, requests: Sequence[CheckedRequest], view: NodesView, statuses: StatusTable) -> None:
        super().__init__(requests, view, statuses)
        first, second = self._cells
        _, self._wanted_1, self._offered_1, self._used_1 = first
        _, self._wanted_2, self._offered_2, self._used_2 = second

    def row(self, row: int) -> int:
        if (
            self._wanted_1 <= self._offered_1[row] - self._used_1[row]
            and self._wanted_2 <= self._offered_2[row] - self._used_2[row]
            and self._pods_cell[row] < self._allowed_cell[row]
        ):
            return 0
        return self._id_of(self._shortage(row))


class FitOrDevices(Fit):
    """The fit when devices may replace resources that a row does not offer. Checks row by row."""

    def __init__(self, requests: Sequence[CheckedRequest], view: NodesView, statuses: StatusTable) -> None:
        super().__init__(requests, view, statuses)
        self.rule, self.reads_only_amounts = None, False

    def row(self, row: int) -> int:
        shortage = self._shortage(row)
        return self._id_of(shortage) if shortage else 0

    def rows(self, rows: Rows) -> ReasonColumn:
        chosen = np.arange(self._capacity)[rows]
        if not len(self._id_table):
            return self._ids_of(chosen)
        return np.fromiter(map(self.row, chosen.tolist()), np.int32, len(chosen))

    def _shortage(self, row: int) -> int:
        if not len(self._id_table):
            return super()._shortage(row)
        shortage = 0 if self._pods_cell[row] < self._allowed_cell[row] else _TOO_MANY_PODS
        for (bit, wanted, offered, used), request in zip(self._cells, self._requests, strict=True):
            if request.by_devices and not offered[row]:
                continue
            if wanted > offered[row] - used[row]:
                shortage |= bit if wanted <= offered[row] else bit | self._hopeless
        return shortage
