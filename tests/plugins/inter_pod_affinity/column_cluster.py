# SPDX-License-Identifier: Apache-2.0
"""A cluster with namespaces, and the comparison of InterPodAffinity's kernels with its scalar form there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from tests.plugins.column_cluster import ColumnCluster
from tests.plugins.handles import FakeHandle

from steersman import api
from steersman.config import InterPodAffinityArgs
from steersman.framework.columns import ClusterFilterKernel, ClusterScoreKernel, Feasible
from steersman.framework.cycle_state import CycleState
from steersman.framework.plugin import NodeScore
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import is_skip
from steersman.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from steersman.testing import NodeBuilder, PodBuilder, make_namespace

_FAR_BELOW = -(1 << 28)


class AffinityCluster(ColumnCluster):
    """Nodes, pods and namespaces that come, change and go."""

    def __init__(self, capacity: int = 2) -> None:
        self._namespaces: dict[str, Mapping[str, str]] = {}
        super().__init__(lambda name: self._namespaces.get(name, {}), capacity)

    @classmethod
    def holding(
        cls, nodes: Iterable[NodeBuilder], pods: Iterable[PodBuilder], namespaces: Iterable[api.Namespace]
    ) -> AffinityCluster:
        cluster = cls()
        for node in nodes:
            cluster.set_node(node)
        for pod in pods:
            cluster.set_pod(pod)
        for namespace in namespaces:
            cluster.set_namespace(namespace.metadata.name, namespace.metadata.labels)
        return cluster

    def set_namespace(self, name: str, labels: Mapping[str, str] | None) -> None:
        """None: the namespace is unknown."""
        if labels is None:
            self._namespaces.pop(name, None)
        else:
            self._namespaces[name] = labels
        self.table.on_namespaces_changed()

    def handle(self) -> FakeHandle:
        known: list[api.Object] = [make_namespace(n).labels(labels).obj() for n, labels in self._namespaces.items()]
        return FakeHandle(objects=known, nodes=self.nodes(self.live_rows()))

    def feasible(self, rows: Sequence[int]) -> Feasible:
        penalty = np.full(self.table.capacity, _FAR_BELOW, np.int32)
        penalty[list(rows)] = 0
        return Feasible(penalty, len(rows))


class Probe:
    """A pod whose kernels are kept as long as the table's generation lasts, and compared with the scalar form."""

    def __init__(self, pod: PodInfo, cluster: AffinityCluster, args: InterPodAffinityArgs) -> None:
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
