# SPDX-License-Identifier: Apache-2.0
"""One row of the columns as the `NodeInfo` that scalar plugin methods get."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, overload

from steersman.api import Node
from steersman.framework import HostPort, ImageState, PodInfo

if TYPE_CHECKING:
    from steersman.scheduler.state.node_table import NodeTable


class RowNodeInfo:
    """A live view of one row, created once per row."""

    __slots__ = ("_table", "row")

    def __init__(self, table: NodeTable, row: int) -> None:
        self._table = table
        self.row = row

    @property
    def node(self) -> Node:
        return self._table.node(self.row)

    @property
    def name(self) -> str:
        return self._table.names[self.row]

    @property
    def labels(self) -> Mapping[str, str]:
        return self.node.metadata.labels

    @property
    def annotations(self) -> Mapping[str, str]:
        return self.node.metadata.annotations

    @property
    def pods(self) -> Collection[PodInfo]:
        return self._table.pods_on[self.row].values()

    @property
    def pods_with_affinity(self) -> Collection[PodInfo]:
        return self._table.sparse.affinity_pods.get(self.row, _NO_PODS).values()

    @property
    def pods_with_required_anti_affinity(self) -> Collection[PodInfo]:
        return [p for p in self.pods_with_affinity if p.shape.required_anti_affinity]

    @property
    def pod_count(self) -> int:
        return len(self._table.pods_on[self.row])

    @property
    def allowed_pods(self) -> int:
        return int(self._table.allowed_pods.cell[self.row])

    @property
    def offered_amounts(self) -> Mapping[str, int]:
        """The `node_allocatable` of the row's node; read-only."""
        return self._table.offered.by_row[self.row]

    def allocatable(self, resource: str) -> int:
        return self._table.offered.by_row[self.row].get(resource, 0)

    def offers(self, resource: str) -> bool:
        return resource in self._table.offered.by_row[self.row]

    def requested(self, resource: str) -> int:
        return self._table.amounts_requested.amount(resource, self.row)

    def nonzero_requested(self, resource: str) -> int:
        return int(self._table.nonzero_requested(resource).cell[self.row])

    @property
    def used_ports(self) -> Set[HostPort]:
        return self._table.sparse.used_ports.get(self.row, _NO_PORTS)

    @property
    def image_states(self) -> Mapping[str, ImageState]:
        return self._table.images.states_of(self.row)

    @property
    def claim_users(self) -> Mapping[str, int]:
        return self._table.sparse.claim_users.get(self.row, _NO_CLAIMS)

    def __repr__(self) -> str:
        return f"RowNodeInfo({self.name})"


class LiveNodes(Sequence[RowNodeInfo]):
    """All nodes of a table as a sequence that is built on first access, because most plugins never
    read it."""

    __slots__ = ("_nodes", "_table")

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._nodes: list[RowNodeInfo] | None = None

    @overload
    def __getitem__(self, index: int) -> RowNodeInfo: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[RowNodeInfo]: ...

    def __getitem__(self, index: int | slice) -> RowNodeInfo | Sequence[RowNodeInfo]:
        return self._listed()[index]

    def __iter__(self) -> Iterator[RowNodeInfo]:
        return iter(self._listed())

    def __len__(self) -> int:
        return self._table.node_count

    def _listed(self) -> list[RowNodeInfo]:
        if self._nodes is None:
            self._nodes = [self._table.info(row) for row in self._table.live_rows()]
        return self._nodes


_NO_PODS: dict[str, PodInfo] = {}
_NO_PORTS: frozenset[HostPort] = frozenset()
_NO_CLAIMS: dict[str, int] = {}
