# SPDX-License-Identifier: Apache-2.0
"""Utilisation of nodes: requested and allocatable amounts, from the scheduler's columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final

import msgspec

from steersman.framework import CORE_RESOURCES, IntColumn
from steersman.scheduler.state import NodeTable

PODS: Final = "pods"
MAX_EXTENDED: Final = 1000
"""Maximum number of extended resources in arrays."""


class Usage(msgspec.Struct, frozen=True):
    """Usage of one resource: cpu in millicores, everything else in its base unit."""

    allocatable: int
    requested: int

    @property
    def fraction(self) -> float:
        """Requested fraction, 0 to 1; 0 if nothing is allocatable."""
        return self.requested / self.allocatable if self.allocatable else 0.0


class Utilisation:
    """Utilisation of every node, and of all nodes together, as of its creation."""

    def __init__(self, table: NodeTable) -> None:
        """Copy the columns; the mappings are made when they are read."""
        requested, others = table.amounts_requested.core, table.amounts_requested.others
        self._names = table.names.copy()
        self._rows = [row for row in table.rows.values() if table.nodes[row] is not None]
        self._offered = table.offered.by_row.copy()
        self._requested = {name: column.values.copy() for name, column in requested.items()}
        self._others = {name: rows.copy() for name, rows in others.items()}
        self._pods = table.pod_count.values.copy(), table.allowed_pods.values.copy()

    @property
    def node_count(self) -> int:
        return len(self._rows)

    @cached_property
    def nodes(self) -> Mapping[str, Mapping[str, Usage]]:
        """Usage by node name and resource."""
        columns = {name: column.tolist() for name, column in self._requested.items()}
        pods, allowed = (column.tolist() for column in self._pods)
        found: dict[str, dict[str, Usage]] = {}
        for row in self._rows:
            usages = found[self._names[row]] = {
                name: Usage(amount, columns[name][row] if name in columns else self._others.get(name, {}).get(row, 0))
                for name, amount in self._offered[row].items()
                if name != PODS
            }
            usages[PODS] = Usage(allowed[row], pods[row])
        return found

    @cached_property
    def cluster(self) -> Mapping[str, Usage]:
        """Usage of all nodes together by resource."""
        return _sum(self.nodes.values())

    def to_dict(self) -> dict[str, Any]:
        """Return both mappings as plain dicts."""
        document: dict[str, Any] = msgspec.to_builtins({"cluster": self.cluster, "nodes": self.nodes})
        return document

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Utilisation) and self.nodes == other.nodes

    __hash__ = None  # type: ignore[assignment]


class NodeArrays(msgspec.Struct, frozen=True, eq=False):
    """Copies of the scheduler's columns: row i of each array belongs to the node `names[i]`; cpu is
    in millicores."""

    names: tuple[str, ...]
    #: Amounts by resource, including `pods`.
    allocatable: Mapping[str, IntColumn]
    requested: Mapping[str, IntColumn]


def node_arrays(table: NodeTable) -> NodeArrays:
    """Return the allocatable and requested amounts of all nodes."""
    names = tuple(table.names[row] for row in table.alive.nonzero()[0].tolist())
    columns = dict(resource_columns(table))
    offered = {name: column for name, (_, column) in columns.items()}
    return NodeArrays(names, offered, {name: column for name, (column, _) in columns.items()})


def resource_columns(
    table: NodeTable, max_extended: int = MAX_EXTENDED
) -> Iterator[tuple[str, tuple[IntColumn, IntColumn]]]:
    """Yield each resource with copies of its requested and allocatable columns, of the rows that
    have a node."""
    alive, offered = table.alive, table.offered
    for name in (*CORE_RESOURCES, *offered.extended(max_extended)):
        if offered.has(name):
            yield name, (table.requested(name).values[alive], table.allocatable(name).values[alive])
    yield PODS, (table.pod_count.values[alive], table.allowed_pods.values[alive])


def _sum(nodes: Iterable[Mapping[str, Usage]]) -> dict[str, Usage]:
    allocatable: dict[str, int] = {}
    requested: dict[str, int] = {}
    for usages in nodes:
        for name, usage in usages.items():
            allocatable[name] = allocatable.get(name, 0) + usage.allocatable
            requested[name] = requested.get(name, 0) + usage.requested
    return {name: Usage(amount, requested[name]) for name, amount in allocatable.items()}
