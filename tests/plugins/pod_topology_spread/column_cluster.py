# SPDX-License-Identifier: Apache-2.0
"""A cluster with services and controllers, and the comparison of PodTopologySpread's kernels with its scalar form there."""

from __future__ import annotations

import numpy as np
from tests.plugins.column_cluster import ColumnCluster
from tests.plugins.handles import FakeHandle

from steersman import api
from steersman.config import PodTopologySpreadArgs
from steersman.framework.columns import (
    ClusterFilterKernel,
    ClusterScoreKernel,
    Depends,
    Feasible,
    FilterKernel,
)
from steersman.framework.cycle_state import CycleState
from steersman.framework.nodes_view import (
    BoolColumn,
    NodesView,
    ReasonColumn,
    Rows,
)
from steersman.framework.plugin import NodeScore
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import is_skip
from steersman.scheduler.engine.columns import FragmentColumn
from steersman.scheduler.engine.row_totals import RowTotals
from steersman.scheduler.engine.signature import Signature
from steersman.scheduler.plugins.pod_topology_spread import PodTopologySpread
from steersman.scheduler.state.node_table import NodeTable
from steersman.scheduler.state.objects import ObjectStore


class SpreadCluster(ColumnCluster):
    """Nodes, pods, services and controllers that come, change and go."""

    def __init__(self, capacity: int = 2) -> None:
        super().__init__(lambda name: {}, capacity)
        self.objects = ObjectStore()

    def set_object(self, obj: api.Object) -> None:
        self.objects.put(obj)

    def remove_object(self, obj: api.Object) -> None:
        self.objects.remove(obj)

    def plugin(self, args: PodTopologySpreadArgs) -> PodTopologySpread:
        handle = FakeHandle(nodes=self.nodes(self.live_rows()))
        handle.objects = self.objects
        return PodTopologySpread(args, handle)


_ROOM = 4


class Crowded(FilterKernel):
    """Rejects nodes with some pods: a filter whose answers change as pods come and go."""

    depends = Depends.NODE_PODS

    def __init__(self, view: NodesView) -> None:
        self._pod_count = view.pod_count

    def rows(self, rows: Rows) -> ReasonColumn:
        return (self._pod_count.values[rows] >= _ROOM).astype(np.int32)

    def row(self, row: int) -> int:
        return int(self._pod_count.cell[row] >= _ROOM)


def uncrowded(table: NodeTable) -> Signature:
    """Feasible are the nodes that have room."""
    return Signature(RowTotals(table, [FragmentColumn(Crowded(table), table)], [], [], [], False))


class Probe:
    """A pod whose kernels are kept as long as they may be, and compared with the scalar form."""

    def __init__(self, pod: PodInfo, cluster: SpreadCluster, args: PodTopologySpreadArgs) -> None:
        self._pod = pod
        self._cluster = cluster
        self._args = args
        self._columnar = cluster.plugin(args)
        self._valid_for: object = None

    def compare(self) -> None:
        """With the kernels that are there, and with fresh ones."""
        table = self._cluster.table
        valid_for = (table.generation, self._columnar.pod_fragment(self._pod))
        if self._valid_for != valid_for:
            self._valid_for = valid_for
            self._kept = self._kernels()
            self._uncrowded = uncrowded(table)
        scalar = self._cluster.plugin(self._args)
        for filter_kernel, score_kernel in (self._kept, self._kernels()):
            self._compare_filter(scalar, filter_kernel)
            rejected = None if filter_kernel is None else filter_kernel.rejected()
            for excluded in (None, rejected, self._every_second_row()):
                self._compare_score(scalar, score_kernel, self._uncrowded.feasible(excluded))
        self._compare_score(scalar, self._kernels()[1], self._all_nodes())

    def _kernels(self) -> tuple[ClusterFilterKernel | None, ClusterScoreKernel | None]:
        table = self._cluster.table
        return self._columnar.filter_kernel(self._pod, table), self._columnar.score_kernel(self._pod, table)

    def _every_second_row(self) -> BoolColumn:
        rows: BoolColumn = np.arange(self._cluster.table.capacity) % 2 == 0
        return rows

    def _all_nodes(self) -> Feasible:
        table = self._cluster.table
        return Feasible(np.where(table.alive, np.int32(0), np.int32(-(1 << 28))), table.node_count)

    def _compare_filter(self, scalar: PodTopologySpread, kernel: ClusterFilterKernel | None) -> None:
        live, state = self._cluster.live_rows(), CycleState()
        status = scalar.pre_filter(state, self._pod, self._cluster.nodes(live))
        assert (kernel is None or kernel.skipped()) == is_skip(status)
        if kernel is None or status is not None:
            assert kernel is None or kernel.refusal() == status
            return
        rejected, reasons = kernel.rejected(), kernel.reasons()
        for row in live:
            expected = scalar.filter(state, self._pod, self._cluster.table.info(row))
            assert (self._columnar.statuses[reasons[row]] if reasons[row] else None) == expected
            assert (rejected is not None and bool(rejected[row])) == (expected is not None)

    def _compare_score(self, scalar: PodTopologySpread, kernel: ClusterScoreKernel | None, feasible: Feasible) -> None:
        rows = feasible.rows.tolist()
        if not rows:
            return
        nodes, state = self._cluster.nodes(rows), CycleState()
        skips = is_skip(scalar.pre_score(state, self._pod, nodes))
        assert (kernel is None) == skips
        if kernel is None:
            return
        raw = kernel.raw(feasible)[rows].tolist()
        assert raw == [scalar.score(state, self._pod, node) for node in nodes]
        entries = [NodeScore(node.name, score) for node, score in zip(nodes, raw, strict=True)]
        assert scalar.normalize_scores(state, self._pod, entries) is None
        scaled = kernel.normalized(feasible)
        assert ([0] * len(rows) if scaled is None else scaled[rows].tolist()) == [entry.score for entry in entries]
