# SPDX-License-Identifier: Apache-2.0
"""The vector form of the filter of NodeResourcesFit: which rows have room, and what the others lack.

What a row lacks is a set of bits, the *shortage*: one for the number of pods, one per checked resource in the order of
their reasons, and one that says that removing pods would not help. Every shortage that occurs has a reason id.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steersman.framework.columns import (
    AddedPods,
    Depends,
    FilterKernel,
    NeedsRoom,
    StatusTable,
)
from steersman.framework.go_integers import int64
from steersman.framework.nodes_view import (
    Column,
    NodesView,
    ReasonColumn,
    Rows,
)
from steersman.framework.pod_info import PodInfo
from steersman.plugins.node_resources.insufficient import (
    REASON_TOO_MANY_PODS,
    CheckedRequest,
    insufficient_reason,
    rejection,
)

#: Pods that request more resources than this have no table of shortages; rows that they do not fit are looked at singly.
_MOST_TABULATED: Final = 12
_TOO_MANY_PODS: Final = 1


class _CheckedResource(NamedTuple):
    """A checked resource with its columns and its bit in a shortage."""

    bit: int
    wanted: int
    offered: Column
    used: Column


def fit_kernel(requests: Sequence[CheckedRequest], view: NodesView, statuses: StatusTable) -> FilterKernel:
    """The kernel for a pod with these requests."""
    if any(request.by_devices for request in requests):
        return FitOrDevices(requests, view, statuses)
    kind = FitOfTwo if len(requests) == 2 else Fit
    return kind(requests, view, statuses)


class Fit(FilterKernel):
    """Whether there is enough left of every requested resource, and one more pod allowed."""

    depends = Depends.NODE_PODS

    def __init__(self, requests: Sequence[CheckedRequest], view: NodesView, statuses: StatusTable) -> None:
        self.rule = NeedsRoom(tuple((request.resource, request.amount) for request in requests))
        self._requests = requests
        self._statuses = statuses
        self._capacity = view.capacity
        self._pods, self._allowed = view.pod_count, view.allowed_pods
        self._pods_cell, self._allowed_cell = self._pods.cell, self._allowed.cell
        self._needs = tuple(
            _CheckedResource(2 << i, r.amount, view.allocatable(r.resource), view.requested(r.resource))
            for i, r in enumerate(requests)
        )
        #: The same for one row.
        self._cells = tuple((need.bit, need.wanted, need.offered.cell, need.used.cell) for need in self._needs)
        self._hopeless = 2 << len(requests)
        self._ids: dict[int, int] = {}
        #: Reason ids by shortage; 0 for one that has not occurred yet.
        self._id_table = np.zeros(2 * self._hopeless if len(requests) <= _MOST_TABULATED else 0, np.int32)

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
            reasons[crowded] = self._ids_of(np.arange(self._capacity)[rows][crowded])
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
        """Reason ids of rows on which something lacks."""
        if not len(self._id_table):
            return np.fromiter(map(self.row, rows.tolist()), np.int32, len(rows))
        return self._ids_of_shortages(self._shortages(rows))

    def _ids_of_shortages(self, shortages: NDArray[np.intp]) -> ReasonColumn:
        """The status ids by shortage, none of them 0."""
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

    def _shortage(self, row: int) -> int:
        """The shortage of one row, as a set of bits."""
        shortage = 0 if self._pods_cell[row] < self._allowed_cell[row] else _TOO_MANY_PODS
        for bit, wanted, offered, used in self._cells:
            if wanted > offered[row] - used[row]:
                shortage |= bit if wanted <= offered[row] else bit | self._hopeless
        return shortage

    def _id_of(self, shortage: int) -> int:
        known = self._ids.get(shortage)
        if known is None:
            reasons = [REASON_TOO_MANY_PODS] if shortage & _TOO_MANY_PODS else []
            reasons += [insufficient_reason(r.resource) for i, r in enumerate(self._requests) if shortage & 2 << i]
            status = rejection(reasons, unresolvable=bool(shortage & self._hopeless))
            known = self._ids[shortage] = self._statuses.id_of(status)
        return known


class FitOfTwo(Fit):
    """The fit of two resources, as most pods request: its `row` has no loop."""

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
    """The fit where devices may stand in for resources that a row does not offer. Rows are looked at one by one."""

    def __init__(self, requests: Sequence[CheckedRequest], view: NodesView, statuses: StatusTable) -> None:
        super().__init__(requests, view, statuses)
        self.rule = None

    def row(self, row: int) -> int:
        shortage = self._shortage(row)
        return self._id_of(shortage) if shortage else 0

    def rows(self, rows: Rows) -> ReasonColumn:
        chosen = np.arange(self._capacity)[rows].tolist()
        return np.fromiter(map(self.row, chosen), np.int32, len(chosen))

    def _shortage(self, row: int) -> int:
        shortage = 0 if self._pods_cell[row] < self._allowed_cell[row] else _TOO_MANY_PODS
        for (bit, wanted, offered, used), request in zip(self._cells, self._requests, strict=True):
            if request.by_devices and not offered[row]:
                continue
            if wanted > offered[row] - used[row]:
                shortage |= bit if wanted <= offered[row] else bit | self._hopeless
        return shortage
