# SPDX-License-Identifier: Apache-2.0
"""The node that the other scheduler chose, compared with our scores of all nodes at that time."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from steersman.api import ZONE_LABEL
from steersman.framework import BoolColumn
from steersman.run.shadow.comparison import ComparedScores, PluginDifference
from steersman.scheduler.engine import ColumnarEvaluation, ScoreTable
from steersman.scheduler.state import NodeTable

_MAX_GROUPED: Final = 64


class PlacementScores:
    """One node compared with all nodes in one evaluation. Valid until the state changes."""

    def __init__(self, evaluation: ColumnarEvaluation, table: NodeTable, node: str) -> None:
        self.evaluation = evaluation
        self.node = node
        self._table = table
        #: Row of the node; -1 if the node does not exist.
        row = table.row_of(node)
        self.row = -1 if row is None else row
        self.totals = evaluation.feasible_totals()
        rows, totals = self.totals.rows, self.totals.totals
        #: bool[capacity]: whether the pod fits.
        self.feasible: BoolColumn = np.zeros(table.capacity, np.bool_)
        self.feasible[rows] = True
        found = (rows == self.row).nonzero()[0]
        #: Total of the node; None if the pod does not fit there.
        self.total: int | None = int(totals[found[0]]) if len(found) else None
        self.best_total: int | None = int(totals.max()) if len(totals) else None
        self._better_positions: NDArray[np.intp] | None = None

    @property
    def feasible_count(self) -> int:
        return len(self.totals.rows)

    @property
    def is_best(self) -> bool:
        """Whether no node has a better total."""
        return self.total is not None and self.total == self.best_total

    @property
    def ties(self) -> int:
        """Number of best nodes."""
        return int(np.count_nonzero(self.totals.totals == self.best_total)) if self.feasible_count else 0

    @property
    def better_rows(self) -> NDArray[np.intp]:
        """Rows of nodes with a better total; all feasible rows if the node does not fit."""
        if self.total is None:
            return self.totals.rows
        return self.totals.rows[self.totals.totals > self.total]

    def names_of_better(self, most: int) -> list[str]:
        """Return the names of the nodes of `better_rows`; none if there are more than `most`."""
        rows = self.better_rows
        return [self._table.names[row] for row in rows.tolist()] if len(rows) <= most else []

    @property
    def best_node(self) -> str:
        """A node with the best total, preferably the other scheduler's; "" if none fits."""
        if self.is_best:
            return self.node
        if not self.feasible_count:
            return ""
        return self._table.names[int(self.totals.rows[self.totals.totals.argmax()])]

    @property
    def is_relative(self) -> bool:
        """Whether totals depend on which nodes were evaluated."""
        return self.evaluation.scores_are_relative

    def better_positions(self, order: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the ascending positions of the nodes with a better total in an order of rows."""
        if self._better_positions is None:
            self._better_positions = np.isin(order, self.better_rows).nonzero()[0]
        return self._better_positions

    def best_positions(self, order: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the positions of the best nodes in an order of rows."""
        return np.isin(order, self.totals.rows[self.totals.totals == self.best_total]).nonzero()[0]

    def groups_of_best(self) -> int:
        """Return the number of combinations of zone and size among the first best nodes."""
        best = self.totals.rows[self.totals.totals == self.best_total][:_MAX_GROUPED]
        nodes = [self._table.info(row).node for row in best.tolist()]
        return len({(node.metadata.labels.get(ZONE_LABEL), tuple(node.status.allocatable.items())) for node in nodes})

    def position_in(self, order: NDArray[np.intp]) -> int:
        """Return the position of the node in an order of rows."""
        return int((order == self.row).argmax())

    def better_without(self, excluded: BoolColumn) -> NDArray[np.intp]:
        """Return the rows of better nodes if the excluded rows are not evaluated."""
        rows, totals = self.evaluation.feasible_totals(excluded)
        better: NDArray[np.intp] = rows[totals > totals[rows == self.row][0]]
        return better

    def difference(self) -> ComparedScores:
        """Compare the node with a best one, plugin by plugin."""
        better = len(self.better_rows)
        if self.total is None:
            status = self.evaluation.statuses().status_of(self.node)
            if status is None:
                return ComparedScores(None, self.best_total, better, objection=f"there is no node {self.node}")
            return ComparedScores(None, self.best_total, better, status.plugin, status.message)
        table = self.evaluation.scores()
        plugins = () if table is None else tuple(_by_plugin(table, self.node, self.best_node))
        decisive = max(plugins, key=lambda one: one.ours - one.theirs, default=None)
        name = decisive.plugin if decisive is not None and decisive.ours > decisive.theirs else ""
        return ComparedScores(self.total, self.best_total, better, name, plugins=plugins)


def _by_plugin(table: ScoreTable, theirs: str, ours: str) -> list[PluginDifference]:
    their, our = table.weighted(theirs), table.weighted(ours)
    return [PluginDifference(name, their[name], our[name]) for name in their]
