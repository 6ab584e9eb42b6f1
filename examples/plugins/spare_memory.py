# SPDX-License-Identifier: Apache-2.0
"""A filter with a kernel: a tenth of every node's memory stays free. docs/how-to/kernel.md follows it step by step."""

from __future__ import annotations

import numpy as np

from steersman.framework import FilterPlugin, NodeInfo, PodInfo, Status, unschedulable
from steersman.framework.columns import ColumnarFilter, Depends, FilterKernel, StatusTable
from steersman.framework.nodes_view import NodesView, ReasonColumn, Rows

TIGHT = unschedulable("node(s) would have less than a tenth of their memory left")


class SpareMemory(FilterPlugin, ColumnarFilter):
    """A tenth of every node's memory stays free, for pods that use more than they request."""

    name = "SpareMemory"

    def __init__(self) -> None:
        self.statuses = StatusTable()

    def filter(self, pod: PodInfo, node: NodeInfo) -> Status | None:
        offered = node.allocatable("memory")
        left = offered - node.requested("memory") - pod.requests("memory")
        return None if 10 * left >= offered else TIGHT

    def filter_fragment(self, pod: PodInfo) -> int:
        return pod.requests("memory")

    def filter_kernel(self, pod: PodInfo, view: NodesView) -> FilterKernel:
        return MemoryLeft(pod.requests("memory"), view, self.statuses.id_of(TIGHT))


class MemoryLeft(FilterKernel):
    """The answers of `SpareMemory` for pods with this memory request."""

    depends = Depends.NODE_PODS

    def __init__(self, wanted: int, view: NodesView, tight: int) -> None:
        self._wanted = wanted
        self._tight = tight
        self._offered = view.allocatable("memory")
        self._requested = view.requested("memory")

    def row(self, row: int) -> int:
        offered = self._offered.cell[row]
        left = offered - self._requested.cell[row] - self._wanted
        return 0 if 10 * left >= offered else self._tight

    def rows(self, rows: Rows) -> ReasonColumn:
        offered = self._offered.values[rows]
        left = offered - self._requested.values[rows] - self._wanted
        return np.where(10 * left >= offered, np.int32(0), np.int32(self._tight))
