# SPDX-License-Identifier: Apache-2.0
"""Holds the vector form of a node-local plugin against its scalar form, on a cluster that changes.

A test draws changes of nodes and pods and a few pods to be scheduled; after every change the kernels that are kept per
fragment, as the scheduler keeps them, and fresh ones must say of every node what the scalar methods say.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from steersman import api
from steersman.framework.columns import (
    ClusterScoreKernel,
    ColumnarFilter,
    ColumnarScore,
    Feasible,
    FilterKernel,
    KernelFault,
    ScoreKernel,
)
from steersman.framework.cycle_state import CycleState
from steersman.framework.nodes_view import ALL_ROWS
from steersman.framework.plugin import FilterPlugin, PreFilterPlugin, PreScorePlugin, ScorePlugin
from steersman.framework.pod_info import PodInfo, PodShapes
from steersman.framework.status import Status, fault, is_skip
from steersman.scheduler.engine.columns import FragmentColumn
from steersman.scheduler.runtime.methods import filter_method, pre_filter_method, score_method, status_method
from steersman.scheduler.state.node_table import NodeTable

NODE_NAMES = ("a", "b", "c", "d", "e")
POD_NAMES = ("p", "q", "r", "s")
FAR_BELOW = -(1 << 28)

Change = api.Node | api.Pod | tuple[str, str]


def changes(
    nodes: st.SearchStrategy[api.Node], pods: st.SearchStrategy[api.Pod] | None = None
) -> st.SearchStrategy[list[Change]]:
    """Nodes and pods that come or replace those of their name, and names of some that go."""
    kinds: list[st.SearchStrategy[Change]] = [nodes, nodes, st.tuples(st.just("node"), st.sampled_from(NODE_NAMES))]
    if pods is not None:
        kinds += [pods, pods, st.tuples(st.just("pod"), st.sampled_from(POD_NAMES))]
    return st.lists(st.one_of(kinds), min_size=1, max_size=12)


class ChangingCluster:
    """The table, and where pods are. It starts so small that it has to grow."""

    def __init__(self) -> None:
        self.table = NodeTable(lambda namespace: {}, capacity=2)
        self.shapes = PodShapes()
        self._pods: dict[str, PodInfo] = {}

    def apply(self, change: Change) -> None:
        if isinstance(change, api.Node):
            self.table.set_node(change)
        elif isinstance(change, api.Pod):
            self._remove_pod(change.metadata.name)
            pod = self._pods[change.metadata.name] = self.shapes.info(change)
            self.table.add_pod(pod, pod.node_name)
        elif change[0] == "pod":
            self._remove_pod(change[1])
        elif self.table.row_of(change[1]) is not None:
            self.table.remove_node(change[1])

    def _remove_pod(self, name: str) -> None:
        pod = self._pods.pop(name, None)
        if pod is not None:
            self.table.remove_pod(pod, pod.node_name)

    def feasible(self, rows: Sequence[int]) -> Feasible:
        penalty = np.full(self.table.capacity, FAR_BELOW, np.int64)
        penalty[list(rows)] = 0
        return Feasible(penalty, len(rows))


class KeptColumns:
    """One column per fragment, until the table's generation changes."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._generation = table.generation
        self._columns: dict[Hashable, FragmentColumn[Any]] = {}

    def answers(self, fragment: Hashable, kernel: FilterKernel | ScoreKernel) -> list[int]:
        """By row, of the column for that fragment, which is made of the kernel if there is none."""
        if self._generation != self._table.generation:
            self._generation = self._table.generation
            self._columns.clear()
        column = self._columns.get(fragment)
        if column is None:
            column = self._columns[fragment] = FragmentColumn(kernel, self._table)
        column.sync()
        assert column.values.tolist() == column.cell.tolist()
        return [int(value) for value in column.values]


class FilterCheck:
    """Compares what the two forms of a filter say."""

    def __init__(self, plugin: FilterPlugin, cluster: ChangingCluster) -> None:
        assert isinstance(plugin, ColumnarFilter)
        self._columnar = plugin
        self._name = plugin.name
        self._filter = filter_method(plugin, plugin.name)
        self._pre_filter = pre_filter_method(plugin, plugin.name) if isinstance(plugin, PreFilterPlugin) else None
        self._table = cluster.table
        self._kept = KeptColumns(cluster.table)

    def __call__(self, pod: PodInfo) -> None:
        state = CycleState()
        restriction, status = self._pre_filter(state, pod, ()) if self._pre_filter is not None else (None, None)
        if status is not None:
            return
        expected = {
            row: self._filter(state, pod, self._table.info(row))
            for row in self._table.live_rows()
            if restriction is None or self._table.names[row] in restriction.node_names
        }
        self._compare(pod, expected)

    def _compare(self, pod: PodInfo, expected: dict[int, Status | None]) -> None:
        kernel = self._columnar.filter_kernel(pod, self._table)
        if kernel is None:
            assert not any(expected.values())
            return
        assert isinstance(kernel, FilterKernel)
        kept = self._kept.answers(self._columnar.filter_fragment(pod), kernel)
        for reasons in (*_fresh_answers(kernel, self._table, list(expected)), kept):
            assert {row: self._status(reasons[row]) for row in expected} == expected

    def _status(self, reason: int) -> Status | None:
        return self._columnar.statuses[reason].with_plugin(self._name) if reason else None


class ScoreCheck:
    """Compares what the two forms of a score say before normalisation."""

    def __init__(self, plugin: ScorePlugin, cluster: ChangingCluster) -> None:
        assert isinstance(plugin, ColumnarScore)
        self._columnar = plugin
        self._name = plugin.name
        self._score = score_method(plugin, plugin.name)
        self._pre_score = (
            status_method(plugin, plugin.name, "PreScore", "pre_score", 3)
            if isinstance(plugin, PreScorePlugin)
            else None
        )
        self._cluster = cluster
        self._table = cluster.table
        self._kept = KeptColumns(cluster.table)

    def __call__(self, pod: PodInfo) -> None:
        rows, state = list(self._table.live_rows()), CycleState()
        nodes = [self._table.info(row) for row in rows]
        status = self._pre_score(state, pod, nodes) if self._pre_score is not None else None
        kernel = self._columnar.score_kernel(pod, self._table)
        if kernel is None or status is not None:
            assert (
                is_skip(status)
                if kernel is None
                else self._fault(kernel) == fault("PreScore", self._name, _text(status))
            )
            return
        expected = {row: self._score(state, pod, node) for row, node in zip(rows, nodes, strict=True)}
        for scores in self._answers(pod, kernel, rows):
            assert {row: scores[row] for row in rows} == expected

    def _answers(self, pod: PodInfo, kernel: ScoreKernel | ClusterScoreKernel, rows: list[int]) -> list[list[int]]:
        if isinstance(kernel, ClusterScoreKernel):
            return [kernel.raw(self._cluster.feasible(rows)).tolist()]
        kept = self._kept.answers(self._columnar.score_fragment(pod), kernel)
        return [*_fresh_answers(kernel, self._table, rows), kept]

    def _fault(self, kernel: ScoreKernel | ClusterScoreKernel) -> Status:
        assert isinstance(kernel, ClusterScoreKernel)
        with pytest.raises(KernelFault) as raised:
            kernel.skipped(self._cluster.feasible(list(self._table.live_rows())))
        return raised.value.status


def _fresh_answers(kernel: FilterKernel | ScoreKernel, table: NodeTable, rows: list[int]) -> list[list[int]]:
    """By row, in each of the ways in which a kernel can be asked; 0 for the others."""
    single, some = [0] * table.capacity, np.zeros(table.capacity, np.int64)
    for row in rows:
        single[row] = kernel.row(row)
    chosen = np.array(rows[::-1], np.intp)
    some[chosen] = kernel.rows(chosen)
    return [single, some.tolist(), kernel.rows(ALL_ROWS).tolist()]


def _text(status: Status | None) -> str:
    return "" if status is None else status.message
