# SPDX-License-Identifier: Apache-2.0
"""An explicit percentageOfNodesToScore: stop after enough feasible nodes, and start the next search where this one ended.

Unset, or 0, means all nodes: looking at every node costs little here. Order of search, rounding, and what counts as looked at
are upstream's (`schedule_one.go`): nodes come as the list has them that was made when a node last came or went, zone by turn;
the next search begins as many nodes further as were found, or have something against them; where nothing scores nodes, the
first one that fits is enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np
from numpy.typing import NDArray

from steersman.derived import Derived
from steersman.engine.signature import ClaimOverlay, Signature
from steersman.framework.columns import Feasible
from steersman.framework.nodes_view import BoolColumn
from steersman.graph_copy import copied_attributes, no_value, shallow
from steersman.kept import Kept
from steersman.state.node_table import NodeTable

MIN_FEASIBLE_NODES: Final = 100
_ALL: Final = 100


SEARCH_ORDER = Kept(
    name="order of a search",
    attributes=("NodeSearch._rows",),
    holds="the rows in the order in which upstream looks at nodes",
    key="one for each scheduler",
    stamps="number of nodes that came and went (`Derived`)",
    bound="one for each scheduler",
    twin="the rows of `NodeSearch.names`",
)


@copied_attributes(names=shallow, _looked_at=no_value)
class NodeSearch:
    """The nodes as a search takes them, and where the next one begins; shared by all profiles of a scheduler."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        #: Where the next search begins, and where it would have begun in the latest cycle.
        self.index = 0
        self._began = 0
        #: The nodes as the latest cycle has them: the order of the tree when one of them last came or went.
        self.names: dict[str, None] = {}
        #: The membership of the tree that was compared with the names last.
        self._compared = -1
        self._rows: Derived[NDArray[np.intp]] = Derived()
        #: bool[capacity]: the rows that the search of the latest cycle has looked at; None: there was none.
        self._looked_at: BoolColumn | None = None

    def begin_cycle(self) -> None:
        """Takes the nodes as they are now. As upstream's snapshot does, it leaves the order alone while they are the same
        nodes, whatever became of their zones, and also if one of them has been away since the last cycle."""
        tree, self._began, self._looked_at = self._table.tree, self.index, None
        if self._compared != tree.membership:
            self._compared = tree.membership
            if not tree.has_all(self.names):
                self.names = dict.fromkeys(tree.in_turn())

    def rows(self) -> NDArray[np.intp]:
        """The rows in the order of a search from index 0 on."""
        rows = self._table.rows
        return self._rows.at(self._compared, lambda: np.fromiter((rows[name] for name in self.names), np.intp))

    @property
    def is_up_to_date(self) -> bool:
        """Whether no node has come or gone since the latest cycle."""
        return self._compared == self._table.tree.membership

    def end(self, rows: NDArray[np.intp]) -> None:
        """A search has looked at these rows."""
        self._looked_at = np.zeros(self._table.capacity, np.bool_)
        self._looked_at[rows] = True
        self._move(len(rows))

    def count_nominated(self, row: int) -> None:
        """The pod's nominated node was looked at before the search of this cycle, and refused. It counts once."""
        if self._looked_at is not None and not self._looked_at[row]:
            self._move(1)

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Within the block a search may be made that does not count: the next cycle finds everything as it was."""
        kept = self.index, self._began, self._looked_at, self.names, self._compared
        try:
            yield
        finally:
            self.index, self._began, self._looked_at, self.names, self._compared = kept

    def take_back(self) -> None:
        """The search of the latest cycle is to be made again."""
        self.index = self._began

    def _move(self, nodes: int) -> None:
        self.index = (self.index + nodes) % self._table.node_count


class Sampling:
    """How many feasible nodes are enough, for one profile."""

    def __init__(self, percentage: int | None, search: NodeSearch, *, has_scoring: bool = True) -> None:
        """`has_scoring`: plugins score nodes, or extenders have a say."""
        self.search = search
        self._percentage = percentage or _ALL
        self._wants_first = bool(percentage) and not has_scoring
        #: Whether every node is looked at.
        self.looks_at_all = self._percentage >= _ALL and not self._wants_first
        #: Whether all profiles look at every node, so that nobody has to know where a search began.
        self.is_off = self.looks_at_all

    def enough(self, all_nodes: int) -> int:
        """After so many feasible nodes among these a search ends."""
        if self._wants_first:
            return min(1, all_nodes)
        if all_nodes < MIN_FEASIBLE_NODES:
            return all_nodes
        return max(MIN_FEASIBLE_NODES, all_nodes * self._percentage // _ALL)

    def sample(
        self,
        feasible: Feasible,
        table: NodeTable,
        signature: Signature | ClaimOverlay,
        outside: BoolColumn | None = None,
        refused: int | None = None,
    ) -> Feasible:
        """The feasible rows that a search would have found before it stopped. Rows `outside` of what PreFilter admits are
        not searched, and do not count among those of which a share is enough. The row of a nominated node that was `refused`
        counts as looked at."""
        if self.is_off or not table.node_count:
            return feasible
        order = self.search.rows()
        if outside is not None:
            order = order[~outside[order]]
        order = np.roll(order, -self.search.index)
        looked_at = self._looked_at(feasible.mask[order])
        self.search.end(order[:looked_at])
        if refused is not None:
            self.search.count_nominated(refused)
        if looked_at == len(order):
            return feasible
        beyond = np.zeros(table.capacity, np.bool_)
        beyond[order[looked_at:]] = True
        return signature.without(beyond, feasible)

    def _looked_at(self, found: BoolColumn) -> int:
        """How many nodes a search looks at. It ends when it meets one feasible node more than it wants: unfit nodes before that
        one were looked at."""
        wanted, reached = self.enough(len(found)), np.cumsum(found)
        finds_all = not len(found) or reached[-1] <= wanted
        return len(found) if finds_all else int(np.searchsorted(reached, wanted + 1))


def share_search(samplings: Iterable[Sampling]) -> None:
    """Profiles of one scheduler: where one samples, the searches of all move the index from which the next one begins."""
    together = list(samplings)
    are_off = all(sampling.looks_at_all for sampling in together)
    for sampling in together:
        sampling.is_off = are_off
