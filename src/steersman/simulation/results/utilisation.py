# SPDX-License-Identifier: Apache-2.0
"""Utilisation of nodes: requested and allocatable amounts, from the scheduler's columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

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


class Utilisation(msgspec.Struct, frozen=True):
    """Utilisation of every node, by name, and of all nodes together, by resource."""

    cluster: Mapping[str, Usage]
    nodes: Mapping[str, Mapping[str, Usage]]


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
    """Yield each resource with copies of its requested and allocatable columns, of the rows that have a node."""
    alive, offered = table.alive, table.offered
    for name in (*CORE_RESOURCES, *offered.extended(max_extended)):
        if offered.has(name):
            yield name, (table.requested(name).values[alive], table.allocatable(name).values[alive])
    yield PODS, (table.pod_count.values[alive], table.allowed_pods.values[alive])


def utilisation(table: NodeTable) -> Utilisation:
    nodes = {table.names[row]: _of_row(table, row) for row in table.live_rows()}
    return Utilisation(_sum(nodes.values()), nodes)


def _of_row(table: NodeTable, row: int) -> dict[str, Usage]:
    """Return allocatable and requested amounts of a row, pods last."""
    requested = table.amounts_requested.amount
    usages = {
        name: Usage(amount, requested(name, row)) for name, amount in table.offered.by_row[row].items() if name != PODS
    }
    usages[PODS] = Usage(table.allowed_pods.cell[row], table.pod_count.cell[row])
    return usages


def _sum(nodes: Iterable[Mapping[str, Usage]]) -> dict[str, Usage]:
    allocatable: dict[str, int] = {}
    requested: dict[str, int] = {}
    for usages in nodes:
        for name, usage in usages.items():
            allocatable[name] = allocatable.get(name, 0) + usage.allocatable
            requested[name] = requested.get(name, 0) + usage.requested
    return {name: Usage(amount, requested[name]) for name, amount in allocatable.items()}
