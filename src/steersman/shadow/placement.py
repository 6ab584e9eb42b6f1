# SPDX-License-Identifier: Apache-2.0
"""The node that the other scheduler chose, beside what every node is worth here at that moment."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steersman.engine.columnar import ColumnarEvaluation
from steersman.engine.evaluation import ScoreTable
from steersman.framework.nodes_view import BoolColumn
from steersman.shadow.comparison import ComparedScores, PluginDifference
from steersman.state.node_table import NodeTable


class PlacementScores:
    """A node against all nodes, by one evaluation. Valid until the state changes."""

    def __init__(self, evaluation: ColumnarEvaluation, table: NodeTable, node: str) -> None:
        self.evaluation = evaluation
        self.node = node
        self._table = table
        #: The node's row; -1: there is no such node.
        row = table.row_of(node)
        self.row = -1 if row is None else row
        self.totals = evaluation.feasible_totals()
        rows, totals = self.totals.rows, self.totals.totals
        #: bool[capacity]: the pod fits.
        self.feasible: BoolColumn = np.zeros(table.capacity, np.bool_)
        self.feasible[rows] = True
        found = (rows == self.row).nonzero()[0]
        #: The node's total; None: the pod does not fit there.
        self.total: int | None = int(totals[found[0]]) if len(found) else None
        self.best_total: int | None = int(totals.max()) if len(totals) else None
        self._better_positions: NDArray[np.intp] | None = None

    @property
    def feasible_count(self) -> int:
        return len(self.totals.rows)

    @property
    def is_best(self) -> bool:
        """Whether no node is better."""
        return self.total is not None and self.total == self.best_total

    @property
    def ties(self) -> int:
        """How many nodes are the best."""
        return int(np.count_nonzero(self.totals.totals == self.best_total)) if self.feasible_count else 0

    @property
    def better_rows(self) -> NDArray[np.intp]:
        """Rows of nodes with a better total; all that fit if the node itself does not."""
        if self.total is None:
            return self.totals.rows
        return self.totals.rows[self.totals.totals > self.total]

    def names_of_better(self, most: int) -> list[str]:
        """Names of the nodes of `better_rows`; none if they are more than so many."""
        rows = self.better_rows
        return [self._table.names[row] for row in rows.tolist()] if len(rows) <= most else []

    @property
    def best_node(self) -> str:
        """A node with the best total, the other scheduler's if it is one of them; "" if the pod fits nowhere."""
        if self.is_best:
            return self.node
        if not self.feasible_count:
            return ""
        return self._table.names[int(self.totals.rows[self.totals.totals.argmax()])]

    @property
    def is_relative(self) -> bool:
        """Whether totals depend on which other nodes were looked at."""
        return self.evaluation.scores_are_relative

    def better_positions(self, order: NDArray[np.intp]) -> NDArray[np.intp]:
        """Where nodes with a better total are in an order of rows, ascending."""
        if self._better_positions is None:
            self._better_positions = np.isin(order, self.better_rows).nonzero()[0]
        return self._better_positions

    def best_positions(self, order: NDArray[np.intp]) -> NDArray[np.intp]:
        """Where the best nodes are in an order of rows."""
        return np.isin(order, self.totals.rows[self.totals.totals == self.best_total]).nonzero()[0]

    def position_in(self, order: NDArray[np.intp]) -> int:
        """Where the node is in an order of rows."""
        return int((order == self.row).argmax())

    def better_without(self, excluded: BoolColumn) -> NDArray[np.intp]:
        """Rows of better nodes if the search did not come to the excluded rows, of which the node's own is none."""
        rows, totals = self.evaluation.feasible_totals(excluded)
        better: NDArray[np.intp] = rows[totals > totals[rows == self.row][0]]
        return better

    def difference(self) -> ComparedScores:
        """The node beside a best one, plugin by plugin."""
        better = len(self.better_rows)
        if self.total is None:
            status = self.evaluation.statuses().of(self.node)
            if status is None:
                return ComparedScores(None, self.best_total, better, objection=f"there is no node {self.node}")
            return ComparedScores(None, self.best_total, better, status.plugin, status.message)
        table = self.evaluation.scores()
        plugins = () if table is None else tuple(_by_plugin(table, self.node, self.best_node))
        decisive = max(plugins, key=lambda one: one.ours - one.theirs, default=None)
        name = decisive.plugin if decisive is not None and decisive.ours > decisive.theirs else ""
        return ComparedScores(self.total, self.best_total, better, name, plugins=plugins)


def _by_plugin(table: ScoreTable, theirs: str, ours: str) -> list[PluginDifference]:
    their, our = table.nodes.index(theirs), table.nodes.index(ours)
    return [
        PluginDifference(one.name, one.weight * int(one.normalised[their]), one.weight * int(one.normalised[our]))
        for one in table.plugins
    ]
