# SPDX-License-Identifier: Apache-2.0
"""A cluster in the columns of `state`, for plugins whose kernels are compared with their scalar form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_info import PodInfo, PodShapes
from steersman.scheduler.state.node_table import NodeTable
from steersman.testing import NodeBuilder, PodBuilder


class ColumnCluster:
    """Nodes and pods that come, change and go."""

    def __init__(self, namespace_labels: Callable[[str], Mapping[str, str]], capacity: int) -> None:
        self.table = NodeTable(namespace_labels, capacity)
        self._shapes = PodShapes()
        self._where: dict[str, tuple[PodInfo, str]] = {}

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

    def live_rows(self) -> list[int]:
        return list(self.table.live_rows())

    def nodes(self, rows: Sequence[int]) -> list[NodeInfo]:
        return [self.table.info(row) for row in rows]
