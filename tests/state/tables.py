# SPDX-License-Identifier: Apache-2.0
"""Node tables and pods for the tests of this package."""

from __future__ import annotations

from collections.abc import Mapping

from steersman.framework.nodes_view import Column
from steersman.framework.pod_info import PodInfo, PodShapes
from steersman.scheduler.state.node_table import NodeTable
from steersman.scheduler.state.validation import validate_table
from steersman.testing import NodeBuilder, PodBuilder, make_node

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


class Tables:
    """A table with interned shapes and namespaces that can be labelled. `check()` recomputes everything."""

    def __init__(self, capacity: int = 8) -> None:
        self.namespaces: dict[str, Mapping[str, str]] = {}
        self.table = NodeTable(lambda name: self.namespaces.get(name, {}), capacity)
        self._shapes = PodShapes()

    def add_node(self, node: NodeBuilder | str) -> int:
        built = usual_node(node) if isinstance(node, str) else node
        self.table.set_node(built.obj())
        row = self.table.row_of(built.obj().metadata.name)
        assert row is not None
        return row

    def add(self, pod: PodBuilder, node_name: str) -> PodInfo:
        info = self._shapes.info(pod.obj())
        self.table.add_pod(info, node_name)
        return info

    def info(self, pod: PodBuilder) -> PodInfo:
        return self._shapes.info(pod.obj())

    def check(self) -> None:
        validate_table(self.table)


def usual_node(name: str, zone: str = "a") -> NodeBuilder:
    return make_node(name).label(HOSTNAME, name).label(ZONE, zone).capacity(cpu="4", memory="8Gi")


def cells(column: Column, *rows: int) -> list[int]:
    return [column.cell[row] for row in rows]
