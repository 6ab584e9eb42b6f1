# SPDX-License-Identifier: Apache-2.0
"""How full the nodes are: what pods request of what nodes offer. Read from the scheduler's own sums."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from steersman.state.node_table import NodeTable

PODS: Final = "pods"


class Usage(msgspec.Struct, frozen=True):
    """One resource: cpu in millicores, everything else in its base unit."""

    allocatable: int
    requested: int

    @property
    def fraction(self) -> float:
        """0..1; 0 of a resource that there is none of."""
        return self.requested / self.allocatable if self.allocatable else 0.0


class Utilisation(msgspec.Struct, frozen=True):
    """The utilisation of every node, by name, and of all nodes together; each by resource."""

    cluster: Mapping[str, Usage]
    nodes: Mapping[str, Mapping[str, Usage]]


def utilisation(table: NodeTable) -> Utilisation:
    nodes = {table.names[row]: _of_row(table, row) for row in table.live_rows()}
    return Utilisation(_sum(nodes.values()), nodes)


def _of_row(table: NodeTable, row: int) -> dict[str, Usage]:
    """The amounts offered and requested on a row, pods last; read from the columns, since there may be thousands of nodes."""
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
