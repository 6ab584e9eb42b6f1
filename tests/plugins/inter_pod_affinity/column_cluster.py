# SPDX-License-Identifier: Apache-2.0
"""A cluster in the columns of `state`, and the comparison of InterPodAffinity's kernels with its scalar form there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from tests.plugins.handles import FakeHandle

from steersman import api
from steersman.config import InterPodAffinityArgs
from steersman.framework.columns import ClusterFilterKernel, ClusterScoreKernel, Feasible
from steersman.framework.cycle_state import CycleState
from steersman.framework.node_info import NodeInfo
from steersman.framework.plugin import NodeScore
from steersman.framework.pod_info import PodInfo, PodShapes
from steersman.framework.status import is_skip
from steersman.plugins.inter_pod_affinity import InterPodAffinity
from steersman.state.node_table import NodeTable
from steersman.testing import NodeBuilder, PodBuilder, make_namespace

_FAR_BELOW = -(1 << 28)


class ColumnCluster:
    """Nodes, pods and namespaces that come, change and go."""

    def __init__(self, capacity: int = 2) -> None:
        self._namespaces: dict[str, Mapping[str, str]] = {}
        self.table = NodeTable(lambda name: self._namespaces.get(name, {}), capacity)
        self._shapes = PodShapes()
        self._where: dict[str, tuple[PodInfo, str]] = {}

    @classmethod
    def holding(
        cls, nodes: Iterable[NodeBuilder], pods: Iterable[PodBuilder], namespaces: Iterable[api.Namespace]
    ) -> ColumnCluster:
        cluster = cls()
        for node in nodes:
            cluster.set_node(node)
        for pod in pods:
            cluster.set_pod(pod)
        for namespace in namespaces:
            cluster.set_namespace(namespace.metadata.name, namespace.metadata.labels)
        return cluster

    def set_node(self, node: NodeBuilder) -> None:
        self.table.set_node(node.obj())

    def remove_node(self, name: str) -> None:
        if self.table.row_of(name) is not None:
            self.table.remove_node(name)

    def set_pod(self, pod: PodBuilder) -> None:
        """On the node that `spec.nodeName` says; a pod of that name is replaced."""
        info = self._shapes.info(pod.obj())
        self.remove_pod(info.name)
        self.table.add_pod(info, info.node_name)
        self._where[info.name] = info, info.node_name

    def remove_pod(self, name: str) -> None:
        if name in self._where:
            self.table.remove_pod(*self._where.pop(name))

    def set_namespace(self, name: str, labels: Mapping[str, str] | None) -> None:
        """None: the namespace is unknown."""
        if labels is None:
            self._namespaces.pop(name, None)
        else:
            self._namespaces[name] = labels
        self.table.namespaces_changed()

    def live_rows(self) -> list[int]:
        return list(self.table.live_rows())

    def handle(self) -> FakeHandle:
        known: list[api.Object] = [make_namespace(n).labels(labels).obj() for n, labels in self._namespaces.items()]
        return FakeHandle(objects=known, nodes=self.nodes(self.live_rows()))

    def nodes(self, rows: Sequence[int]) -> list[NodeInfo]:
        return [self.table.info(row) for row in rows]

    def feasible(self, rows: Sequence[int]) -> Feasible:
        penalty = np.full(self.table.capacity, _FAR_BELOW, np.int32)
        penalty[list(rows)] = 0
        return Feasible(penalty, len(rows))


class Probe:
    """A pod whose kernels are kept as long as the table's generation lasts, and compared with the scalar form."""

    def __init__(self, pod: PodInfo, cluster: ColumnCluster, args: InterPodAffinityArgs) -> None:
        self._pod = pod
        self._cluster = cluster
        self._args = args
        self._columnar = InterPodAffinity(args, cluster.handle())
        self._generation = -1

    def compare(self) -> None:
        """With the kernels that are there, and with fresh ones."""
        if self._generation != self._cluster.table.generation:
            self._kept = self._kernels()
            self._generation = self._cluster.table.generation
        self._compare(*self._kept)
        self._compare(*self._kernels())

    def _kernels(self) -> tuple[ClusterFilterKernel, ClusterScoreKernel | None]:
        table = self._cluster.table
        return self._columnar.filter_kernel(self._pod, table), self._columnar.score_kernel(self._pod, table)

    def _compare(self, filter_kernel: ClusterFilterKernel, score_kernel: ClusterScoreKernel | None) -> None:
        scalar = InterPodAffinity(self._args, self._cluster.handle())
        passing = self._compare_filter(scalar, filter_kernel)
        if filter_kernel.refusal() is not None:
            return
        live = self._cluster.live_rows()
        for rows in (live, passing, live[::2]):
            if rows:
                self._compare_score(scalar, score_kernel, rows)

    def _compare_filter(self, scalar: InterPodAffinity, kernel: ClusterFilterKernel) -> list[int]:
        """The rows that pass."""
        live, state = self._cluster.live_rows(), CycleState()
        status = scalar.pre_filter(state, self._pod, self._cluster.nodes(live))
        assert kernel.skipped() == is_skip(status)
        assert kernel.refusal() == (None if is_skip(status) else status)
        rejected, reasons = kernel.rejected(), kernel.reasons()
        passing = []
        for row in live:
            expected = status or scalar.filter(state, self._pod, self._cluster.table.info(row))
            expected = None if is_skip(expected) else expected
            assert (self._columnar.statuses[reasons[row]] if reasons[row] else None) == expected
            assert (rejected is not None and bool(rejected[row])) == (expected is not None)
            if expected is None:
                passing.append(row)
        return passing

    def _compare_score(self, scalar: InterPodAffinity, kernel: ClusterScoreKernel | None, rows: Sequence[int]) -> None:
        nodes, state, feasible = self._cluster.nodes(rows), CycleState(), self._cluster.feasible(rows)
        skips = is_skip(scalar.pre_score(state, self._pod, nodes))
        assert (kernel is None or kernel.skipped(feasible)) == skips
        if kernel is None or skips:
            return
        raw = kernel.raw(feasible)[rows].tolist()
        assert raw == [scalar.score(state, self._pod, node) for node in nodes]
        entries = [NodeScore(node.name, score) for node, score in zip(nodes, raw, strict=True)]
        assert scalar.normalize_scores(state, self._pod, entries) is None
        scaled = kernel.normalized(feasible)
        assert ([0] * len(rows) if scaled is None else scaled[rows].tolist()) == [entry.score for entry in entries]
