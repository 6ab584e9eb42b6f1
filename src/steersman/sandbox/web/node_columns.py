# SPDX-License-Identifier: Apache-2.0
"""All nodes in columns, and single changed nodes, for pages.

`NodeMirror` reads the scheduler's node table in the scheduling thread: copies of arrays, and
references to frozen objects. Labels and taints may be rendered in another thread
(`NodeCopies.columns`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from steersman import api
from steersman.framework import CORE_RESOURCES
from steersman.sandbox.web.answers import TaintPart, WebPart, seconds_of, taint_parts
from steersman.scheduler.state import NodeTable

MAX_EXTENDED: Final = 16
"""Maximum number of extended resources."""
_NODES_PER_PIECE: Final = 250


class CodedColumn(WebPart, frozen=True):
    """`values[codes[i]]` is the value of the i-th node; code -1 means no value."""

    values: list[str]
    codes: list[int]


class NodeColumns(WebPart, frozen=True):
    """All nodes; the i-th entries of all lists belong to one node."""

    row: list[int]
    name: list[str]
    created: list[float]
    unschedulable: list[int]
    ready: list[int]
    pods: list[int]
    allowed_pods: list[int]
    allocatable: list[list[int]]
    requested: list[list[int]]
    taints: list[int]
    labels: dict[str, CodedColumn]


class NodeRow(WebPart, frozen=True):
    """All fields of one node."""

    row: int
    name: str
    created: float
    unschedulable: int
    ready: int
    pods: int
    allowed_pods: int
    allocatable: list[int]
    requested: list[int]
    taints: list[TaintPart]
    labels: dict[str, str]


class UsedRows(WebPart, frozen=True):
    """Nodes whose pods or requests changed, with their new values."""

    row: list[int]
    pods: list[int]
    requested: list[list[int]]


class ClusterTotals(WebPart, frozen=True):
    """Sums over all nodes; the lists are aligned with the resources."""

    nodes: int
    pods: int
    allowed_pods: int
    pending: int
    allocatable: list[int]
    requested: list[int]


class NodeCopies(NamedTuple):
    """Copies of the columns of all nodes, at one time."""

    resources: tuple[str, ...]
    rows: list[int]
    nodes: list[api.Node]
    unschedulable: list[bool]
    pods: list[int]
    allowed_pods: list[int]
    allocatable: list[list[int]]
    requested: list[list[int]]

    def label_columns(self) -> Iterator[dict[str, CodedColumn] | None]:
        """Yield None after every few hundred nodes, so that the caller can do other work, then the
        columns."""
        columns: dict[str, tuple[dict[str, int], list[int]]] = {}
        count = len(self.nodes)
        for index, node in enumerate(self.nodes):
            for key, value in node.metadata.labels.items():
                column = columns.get(key)
                if column is None:
                    column = columns[key] = {}, [-1] * count
                known, codes = column
                codes[index] = known.setdefault(value, len(known))
            if not (index + 1) % _NODES_PER_PIECE:
                yield None
        hosts = columns.get(api.HOSTNAME_LABEL)
        if hosts is not None and list(hosts[0]) == [node.metadata.name for node in self.nodes]:
            del columns[api.HOSTNAME_LABEL]
        yield {key: CodedColumn(list(known), codes) for key, (known, codes) in sorted(columns.items())}

    def columns(self, labels: dict[str, CodedColumn]) -> tuple[NodeColumns, list[list[TaintPart]]]:
        """Return the columns, and the sets of taints that they refer to."""
        sets: dict[tuple[api.Taint, ...], int] = {(): 0}
        taints = [sets.setdefault(node.spec.taints, len(sets)) for node in self.nodes]
        columns = NodeColumns(
            self.rows,
            [node.metadata.name for node in self.nodes],
            [seconds_of(node.metadata.creation_timestamp) for node in self.nodes],
            [int(is_cordoned) for is_cordoned in self.unschedulable],
            [int(is_ready(node)) for node in self.nodes],
            self.pods,
            self.allowed_pods,
            self.allocatable,
            self.requested,
            taints,
            labels,
        )
        return columns, [taint_parts(each) for each in sets]


def is_ready(node: api.Node) -> bool:
    """Return whether the node is ready; a node without the condition is."""
    return all(condition.status == "True" for condition in node.status.conditions if condition.type == "Ready")


class NodeMirror:
    """Node table of a scheduler, for pages. Called in the scheduling thread."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        #: Append-only, because differences refer to resources by position.
        self.resources: tuple[str, ...] = (*CORE_RESOURCES, *table.offered.extended(MAX_EXTENDED))
        self._offered_at = -1
        self._offered: list[int] = []

    def new_resources(self) -> tuple[str, ...]:
        """Return and add resources of nodes that were not known before."""
        extended = self._table.offered.extended(MAX_EXTENDED)
        room = len(CORE_RESOURCES) + MAX_EXTENDED - len(self.resources)
        added = tuple(name for name in extended if name not in self.resources)[:room]
        self.resources += added
        return added

    def copies(self) -> NodeCopies:
        table = self._table
        rows = sorted(table.live_rows())
        return NodeCopies(
            self.resources,
            rows,
            [table.node(row) for row in rows],
            table.unschedulable[rows].tolist() if rows else [],
            table.pod_count.values[rows].tolist() if rows else [],
            table.allowed_pods.values[rows].tolist() if rows else [],
            [self._allocatable(resource, rows) for resource in self.resources],
            [self._requested(resource, rows) for resource in self.resources],
        )

    def row(self, row: int) -> NodeRow:
        """Return the row of a node."""
        table, node = self._table, self._table.node(row)
        offered, requested = table.offered.by_row[row], table.amounts_requested
        return NodeRow(
            row,
            node.metadata.name,
            seconds_of(node.metadata.creation_timestamp),
            int(node.spec.unschedulable),
            int(is_ready(node)),
            int(table.pod_count.cell[row]),
            int(table.allowed_pods.cell[row]),
            [offered.get(resource, 0) for resource in self.resources],
            [requested.amount(resource, row) for resource in self.resources],
            taint_parts(node.spec.taints),
            node.metadata.labels,
        )

    def used(self, rows: Sequence[int]) -> UsedRows:
        pods = self._table.pod_count.values[rows].tolist()
        return UsedRows(list(rows), pods, [self._requested(resource, rows) for resource in self.resources])

    def totals(self, pending: int) -> ClusterTotals:
        table, alive = self._table, self._table.alive
        return ClusterTotals(
            table.node_count,
            int(table.pod_count.values[alive].sum()),
            int(table.allowed_pods.values[alive].sum()),
            pending,
            self._offered_in_all(),
            [self._requested_in_all(resource) for resource in self.resources],
        )

    def _offered_in_all(self) -> list[int]:
        """Return the sums over all nodes, cached until a node changes."""
        position = self._table.node_log.end
        if position != self._offered_at or len(self._offered) != len(self.resources):
            rows = list(self._table.live_rows())
            self._offered = [sum(self._allocatable(resource, rows)) for resource in self.resources]
            self._offered_at = position
        return self._offered

    def _requested_in_all(self, resource: str) -> int:
        amounts, alive = self._table.amounts_requested, self._table.alive
        column = amounts.core.get(resource)
        if column is not None:
            return int(column.values[alive].sum())
        return sum(amount for row, amount in amounts.others.get(resource, {}).items() if alive[row])

    def _allocatable(self, resource: str, rows: Sequence[int]) -> list[int]:
        by_row = self._table.offered.by_row
        return [by_row[row].get(resource, 0) for row in rows]

    def _requested(self, resource: str, rows: Sequence[int]) -> list[int]:
        amounts = self._table.amounts_requested
        column = amounts.core.get(resource)
        if column is not None:
            found: list[int] = column.values[rows].tolist() if rows else []
            return found
        others = amounts.others.get(resource, {})
        return [others.get(row, 0) for row in rows]
