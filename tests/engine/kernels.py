# SPDX-License-Identifier: Apache-2.0
"""Kernels of the simplest kinds, for what keeps their answers."""

from __future__ import annotations

import numpy as np

from steersman.framework.columns import (
    ClusterFilterKernel,
    ClusterScoreKernel,
    Depends,
    Feasible,
    FilterKernel,
    Normalize,
    ScoreKernel,
)
from steersman.framework.nodes_view import (
    BoolColumn,
    IntColumn,
    ReasonColumn,
    Rows,
)
from steersman.scheduler.state.node_table import NodeTable


class MostPods(FilterKernel):
    """Rejects rows with that many pods. Remembers for which rows it was asked."""

    depends = Depends.NODE_PODS

    def __init__(self, table: NodeTable, limit: int) -> None:
        self._table = table
        self._limit = limit
        self.asked: list[int] = []
        self.asked_for_many = 0

    def rows(self, rows: Rows) -> ReasonColumn:
        self.asked_for_many += 1
        return (self._table.pod_count.values[rows] >= self._limit).astype(np.int32)

    def row(self, row: int) -> int:
        self.asked.append(row)
        return int(self._table.pod_count.cell[row] >= self._limit)


class Schedulable(FilterKernel):
    """Rejects cordoned nodes."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self.asked: list[int] = []

    def rows(self, rows: Rows) -> ReasonColumn:
        return self._table.unschedulable[rows].astype(np.int32)

    def row(self, row: int) -> int:
        self.asked.append(row)
        return int(self._table.unschedulable[row])


class PodCount(ScoreKernel):
    """Scores the number of pods: the table's own column, unless it is asked for single rows."""

    depends = Depends.NODE_PODS

    def __init__(self, table: NodeTable, normalize: Normalize = Normalize.NONE) -> None:
        self._table = table
        self.normalize = normalize

    def rows(self, rows: Rows) -> IntColumn:
        return self._table.pod_count.values[rows]

    def row(self, row: int) -> int:
        return int(self._table.pod_count.cell[row])


class TaintCount(ScoreKernel):
    """Scores the number of taints."""

    def __init__(self, table: NodeTable, normalize: Normalize) -> None:
        self._table = table
        self.normalize = normalize

    def rows(self, rows: Rows) -> IntColumn:
        return np.array([self.row(row) for row in np.arange(self._table.capacity)[rows].tolist()], np.int64)

    def row(self, row: int) -> int:
        taints = self._table.taints
        return len(taints.sets[taints.ids[row]])


class CountedFromOutside(ScoreKernel):
    """A score that changes on all rows with something that happens to one."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self.number = 0

    def rows(self, rows: Rows) -> IntColumn:
        return np.full(self._table.capacity, self.number, np.int64)[rows]

    def row(self, row: int) -> int:
        return self.number

    def epoch(self) -> int:
        return self.number


class Broken(FilterKernel):
    """Raises for single rows as long as it is told to."""

    depends = Depends.NODE_PODS

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self.raises = False

    def rows(self, rows: Rows) -> ReasonColumn:
        return np.zeros(self._table.capacity, np.int32)[rows]

    def row(self, row: int) -> int:
        if self.raises:
            raise RuntimeError("broken")
        return 1


class Banned(ClusterFilterKernel):
    """Rejects a row of choice."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self.banned: int | None = None

    def skipped(self) -> bool:
        return self.banned is None

    def rejected(self) -> BoolColumn | None:
        if self.banned is None:
            return None
        rejected: BoolColumn = np.zeros(self._table.capacity, np.bool_)
        rejected[self.banned] = True
        return rejected

    def reasons(self) -> ReasonColumn:
        reasons = np.zeros(self._table.capacity, np.int32)
        if self.banned is not None:
            reasons[self.banned] = 1
        return reasons


class Favourite(ClusterScoreKernel):
    """Gives a row of choice ten points."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self.row: int | None = None

    def skipped(self, feasible: Feasible) -> bool:
        return self.row is None

    def raw(self, feasible: Feasible) -> IntColumn:
        scores = np.zeros(self._table.capacity, np.int64)
        if self.row is not None:
            scores[self.row] = 10
        return scores

    def normalized(self, feasible: Feasible) -> IntColumn | None:
        return self.raw(feasible)
