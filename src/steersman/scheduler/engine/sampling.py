# SPDX-License-Identifier: Apache-2.0
"""An explicit percentageOfNodesToScore: stop after enough feasible nodes, and start the next search
where this one ended.

If it is unset or 0, all nodes are evaluated, because that is cheap here. Search order, rounding,
and which nodes count as visited are upstream's (`schedule_one.go`): nodes are in the order of the
list built when a node was last added or removed, round-robin over zones; the next search starts
after the nodes found feasible or rejected; if nothing scores nodes, the first feasible one is
enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from steersman.base import CacheSpec, Memo
from steersman.base.graph_copy import copied_attributes, no_value, shallow
from steersman.framework import BoolColumn, Feasible
from steersman.scheduler.engine.signature import Signature
from steersman.scheduler.state.node_table import NodeTable

MIN_FEASIBLE_NODES: Final = 100
_ALL: Final = 100


SEARCH_ORDER = CacheSpec(
    name="order of a search",
    attributes=("NodeSearch._rows",),
    contents="the rows in the order in which upstream visits nodes",
    key="one for each scheduler",
    invalidation="number of nodes added and removed (`Memo`)",
    limit="one for each scheduler",
    reference="the rows of `NodeSearch.names`",
)


class SavedSearch(msgspec.Struct, frozen=True):
    """Where the next search begins, and the nodes of the latest cycle where they differ from the
    order of the tree."""

    index: int
    names: tuple[str, ...] | None = None
    is_up_to_date: bool = True


@copied_attributes(names=shallow, _visited=no_value)
class NodeSearch:
    """The node order of a search, and where the next one starts; shared by all profiles of a
    scheduler."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        #: Start index of the next search, and of the latest one.
        self.index = 0
        self._began = 0
        #: Number of nodes of the latest search: those of the placement, or of the cluster.
        self._all_nodes = 1
        #: Nodes in the order used by the latest cycle.
        self.names: dict[str, None] = {}
        #: Membership of the tree for which the names were last compared.
        self._compared = -1
        self._rows: Memo[NDArray[np.intp]] = Memo()
        #: bool[capacity]: rows visited by the search of the latest cycle; None if there was none.
        self._visited: BoolColumn | None = None

    def begin_cycle(self) -> None:
        """Update the node order. As in upstream's snapshot, the order stays while the set of nodes
        is the same, even if zones changed or a node was removed and added since the last cycle."""
        tree, self._began, self._visited = self._table.tree, self.index, None
        if self._compared != tree.membership:
            self._compared = tree.membership
            if not tree.has_all(self.names):
                self.names = dict.fromkeys(tree.in_turn())

    def rows(self) -> NDArray[np.intp]:
        """Return the rows in search order from index 0."""
        rows = self._table.rows
        return self._rows.get(self._compared, lambda: np.fromiter((rows[name] for name in self.names), np.intp))

    @property
    def is_up_to_date(self) -> bool:
        """Whether no node was added or removed since the latest cycle."""
        return self._compared == self._table.tree.membership

    def saved(self) -> SavedSearch:
        """Return the state between two cycles."""
        names = tuple(self.names)
        is_order = names == tuple(self._table.tree.in_turn())
        return SavedSearch(self.index, None if is_order else names, self.is_up_to_date)

    def restore(self, saved: SavedSearch) -> None:
        """Continue from that state on a table with the same nodes."""
        self.index = saved.index
        self.names = dict.fromkeys(self._table.tree.in_turn() if saved.names is None else saved.names)
        self._compared = self._table.tree.membership if saved.is_up_to_date else -1

    def end(self, rows: NDArray[np.intp], all_nodes: int) -> None:
        """Record that a search among `all_nodes` visited these rows."""
        self._visited = np.zeros(self._table.capacity, np.bool_)
        self._visited[rows] = True
        self._all_nodes = all_nodes
        self._move(len(rows))

    def count_nominated(self, row: int) -> None:
        """Count the pod's nominated node, which was evaluated and rejected before the search of
        this cycle, once."""
        if self._visited is not None and not self._visited[row]:
            self._move(1)

    def visited_names(self) -> frozenset[str] | None:
        """Return the nodes visited by the search of the latest cycle; None if there was none."""
        if self._visited is None:
            return None
        names = self._table.names
        return frozenset(names[row] for row in self._visited.nonzero()[0].tolist())

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Undo the effects of a search at the end of a `with` block."""
        saved = self.index, self._began, self._visited, self.names, self._compared
        try:
            yield
        finally:
            self.index, self._began, self._visited, self.names, self._compared = saved

    def rewind(self) -> None:
        """Reset the start index, to repeat the search of the latest cycle."""
        self.index = self._began

    def _move(self, nodes: int) -> None:
        self.index = (self.index + nodes) % self._all_nodes


class Sampling:
    """Number of feasible nodes that are enough, for one profile."""

    def __init__(self, percentage: int | None, search: NodeSearch, *, has_scoring: bool = True) -> None:
        """`has_scoring` says whether plugins or extenders score nodes."""
        self.search = search
        self._percentage = percentage or _ALL
        self._stops_at_first = bool(percentage) and not has_scoring
        #: Whether every node is evaluated.
        self.evaluates_all_nodes = self._percentage >= _ALL and not self._stops_at_first
        #: Whether all profiles evaluate every node, so that the search index is irrelevant.
        self.is_off = self.evaluates_all_nodes

    def enough(self, all_nodes: int) -> int:
        """Return the number of feasible nodes after which a search ends."""
        if self._stops_at_first:
            return min(1, all_nodes)
        if all_nodes < MIN_FEASIBLE_NODES:
            return all_nodes
        return max(MIN_FEASIBLE_NODES, all_nodes * self._percentage // _ALL)

    def sample(
        self,
        feasible: Feasible,
        table: NodeTable,
        signature: Signature,
        outside: BoolColumn | None = None,
        refused: int | None = None,
        all_nodes: int | None = None,
    ) -> Feasible:
        """Return the feasible rows that a search would have found before it stopped.

        Rows `outside` of the restriction of PreFilter are not searched and do not count for the
        percentage. The row of a nominated node that was `refused` counts as visited. `all_nodes` is
        the size of the placement; by default that of the cluster.
        """
        if self.is_off or not table.node_count:
            return feasible
        order = self.search.rows()
        if outside is not None:
            order = order[~outside[order]]
        order = np.roll(order, -self.search.index)
        visited = self._visited(feasible.mask[order])
        self.search.end(order[:visited], all_nodes or table.node_count)
        if refused is not None:
            self.search.count_nominated(refused)
        if visited == len(order):
            return feasible
        beyond = np.zeros(table.capacity, np.bool_)
        beyond[order[visited:]] = True
        return signature.without(beyond, feasible)

    def _visited(self, found: BoolColumn) -> int:
        """Return the number of nodes that a search visits. It ends at the first feasible node
        beyond the required number; infeasible nodes before that one were visited."""
        wanted, reached = self.enough(len(found)), np.cumsum(found)
        finds_all = not len(found) or reached[-1] <= wanted
        return len(found) if finds_all else int(np.searchsorted(reached, wanted + 1))


def share_search(samplings: Iterable[Sampling]) -> None:
    """Share the search index among the profiles of one scheduler, if any of them samples."""
    together = list(samplings)
    are_off = all(sampling.evaluates_all_nodes for sampling in together)
    for sampling in together:
        sampling.is_off = are_off
