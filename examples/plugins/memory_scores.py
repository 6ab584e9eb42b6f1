# SPDX-License-Identifier: Apache-2.0
"""Two scores with kernels, which docs/how-to/kernel.md follows: one by node, one that compares the feasible nodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steersman.framework import NodeInfo, NodeScore, PodInfo, ScorePlugin
from steersman.framework.columns import ClusterScoreKernel, ColumnarScore, Depends, Feasible, ScoreKernel
from steersman.framework.nodes_view import IntColumn, NodesView, Rows

MEBIBYTE = 1 << 20


class FreeMemory(ScorePlugin, ColumnarScore):
    """Prefer nodes with a large free share of their memory: 0 to 100."""

    name = "FreeMemory"

    def score(self, pod: PodInfo, node: NodeInfo) -> int:
        offered = max(1, node.allocatable("memory"))
        return 100 * max(0, offered - node.requested("memory")) // offered

    def score_fragment(self, pod: PodInfo) -> tuple[()]:
        return ()  # nothing of the pod matters: all pods share one kernel

    def score_kernel(self, pod: PodInfo, view: NodesView) -> ScoreKernel:
        return FreeShare(view)


class FreeShare(ScoreKernel):
    """The answers of `FreeMemory`."""

    depends = Depends.NODE_PODS

    def __init__(self, view: NodesView) -> None:
        self._offered = view.allocatable("memory")
        self._requested = view.requested("memory")

    def row(self, row: int) -> int:
        offered = max(1, self._offered.cell[row])
        return 100 * max(0, offered - self._requested.cell[row]) // offered

    def rows(self, rows: Rows) -> IntColumn:
        offered = np.maximum(1, self._offered.values[rows])
        return 100 * np.maximum(0, offered - self._requested.values[rows]) // offered


class LargeNodes(ScorePlugin, ColumnarScore):
    """Prefer nodes with much memory: the smallest feasible node gets 0, the largest 100."""

    name = "LargeNodes"

    def score(self, pod: PodInfo, node: NodeInfo) -> int:
        return node.allocatable("memory") // MEBIBYTE

    def normalize_scores(self, pod: PodInfo, scores: Sequence[NodeScore]) -> None:
        least = min(entry.score for entry in scores)
        span = max(entry.score for entry in scores) - least
        for entry in scores:
            entry.score = 100 * (entry.score - least) // span if span else 0

    def score_fragment(self, pod: PodInfo) -> tuple[()]:
        return ()

    def score_kernel(self, pod: PodInfo, view: NodesView) -> ClusterScoreKernel:
        return MinMaxMemory(view)


class MinMaxMemory(ClusterScoreKernel):
    """The answers of `LargeNodes`: they depend on which nodes are feasible, so that it is asked in every cycle."""

    def __init__(self, view: NodesView) -> None:
        self._offered = view.allocatable("memory")

    def skipped(self, feasible: Feasible) -> bool:
        return False  # LargeNodes has no PreScore that could say Skip

    def raw(self, feasible: Feasible) -> IntColumn:
        return self._offered.values // MEBIBYTE

    def normalized(self, feasible: Feasible) -> IntColumn | None:
        raw = self.raw(feasible)
        among = raw[feasible.rows]
        least, span = among.min(), np.ptp(among)
        return 100 * (raw - least) // span if span else None
