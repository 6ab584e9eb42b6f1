# SPDX-License-Identifier: Apache-2.0
"""Sets of nodes, such as placements of pod groups: topology domains, and the rows of given nodes.

label key ─► domains ─► names of the nodes of one domain ─► rows ─► sums of columns
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steersman.base import CacheSpec, Memo
from steersman.framework import CPU, MEMORY, NodeAmounts
from steersman.scheduler.state.node_table import NodeTable

MAX_SETS: Final = 1024

DOMAINS_OF_NODES = CacheSpec(
    name="topology domains of nodes",
    attributes=("NodeSets._domains",),
    contents="the names of the nodes with each value of a label",
    key="label key",
    invalidation="end of the log of changed nodes (`Memo`)",
    limit="the keys that were used since the last change of a node",
    reference="the labels of all nodes",
    checked_by="tests/state/test_node_sets.py",
)
SETS_OF_NODES = CacheSpec(
    name="rows of sets of nodes",
    attributes=("NodeSets._sets",),
    contents="the rows of the nodes with given names",
    key="identity of the tuple of names",
    invalidation="end of the log of changed nodes (`Memo`)",
    limit="1,024 sets, then all are dropped",
    reference="`NodeTable.row_of` of each name",
    checked_by="tests/state/test_node_sets.py",
)


class NodeSet(NamedTuple):
    """Nodes by name and by row. Names without a node have no row."""

    names: frozenset[str]
    #: In ascending order.
    rows: NDArray[np.intp]
    #: Some name without a node; "" if there is none.
    unknown: str
    #: The tuple that identifies the set, which must live as long as the set.
    given: Sequence[str]


class NodeSets:
    """Sets of the nodes of a table."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._domains: Memo[dict[str, dict[str, tuple[str, ...]]]] = Memo()
        self._sets: Memo[dict[int, NodeSet]] = Memo()

    def domains(self, key: str) -> Mapping[str, tuple[str, ...]]:
        """Return the names of the nodes with each value of the label. The tuples are the same until
        a node changes."""
        known = self._domains.get(self._version, dict)
        if key not in known:
            found: dict[str, list[str]] = {}
            table = self._table
            for row in table.live_rows():
                value = table.node(row).metadata.labels.get(key)
                if value is not None:
                    found.setdefault(value, []).append(table.names[row])
            known[key] = {value: tuple(names) for value, names in found.items()}
        return known[key]

    def get(self, names: Sequence[str]) -> NodeSet:
        """Return the set of the nodes with these names; a tuple is looked up by identity."""
        known = self._sets.get(self._version, dict)
        found = known.get(id(names))
        if found is not None and found.given is names:
            return found
        made = self._set(names)
        if isinstance(names, tuple):
            if len(known) >= MAX_SETS:
                known.clear()
            known[id(names)] = made
        return made

    def _set(self, names: Sequence[str]) -> NodeSet:
        rows = [self._table.row_of(name) for name in names]
        known = np.array(sorted(row for row in rows if row is not None), np.intp)
        unknown = next((name for name, row in zip(names, rows, strict=True) if row is None), "")
        return NodeSet(frozenset(names), known, unknown, names)

    def amounts(self, names: Sequence[str], resource: str) -> NodeAmounts:
        """Return the sums over the nodes with these names that offer the resource."""
        table, rows = self._table, self.get(names).rows
        offered = table.allocatable(resource).values[rows]
        column = table.nonzero_requested(resource) if resource in (CPU, MEMORY) else table.requested(resource)
        return NodeAmounts(int(offered.sum()), int(column.values[rows][offered != 0].sum()))

    @property
    def _version(self) -> tuple[int, int]:
        return self._table.node_log.end, self._table.generation
