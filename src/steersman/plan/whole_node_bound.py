# SPDX-License-Identifier: Apache-2.0
"""A lower bound of the cost of a packing in whole nodes: an integer program over numbers of nodes.

For any prices of pods, the value of a plan's nodes and of the room on remaining nodes must reach
the total price of all pods; a node has the value of its best pattern. Column generation
(`pattern_bound`) yields such prices and values in every round; the amounts of each dimension are
prices too. The relaxed program allows fractions of nodes; with few nodes, integers prove much more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import highspy
import numpy as np

from steersman.plan.packing import Packing, ValueRow, dimension_rows
from steersman.plan.pattern_programs import quiet_solver
from steersman.plan.time_limit import TimeLimit

MAX_ROWS: Final = 200
TIME_LIMIT_SECONDS: Final = 5.0
TOLERANCE: Final = 1e-6
"""Relative reduction of a row's demand to account for the solver's floating-point errors."""


def whole_node_bound(packing: Packing, rows: Sequence[ValueRow], limit: TimeLimit) -> float:
    """Return a cost below which no plan of whole nodes satisfies all rows; 0 if none is proven."""
    solver = quiet_solver()
    solver.setOptionValue("time_limit", min(TIME_LIMIT_SECONDS, limit.remaining()))
    for index, kind in enumerate(packing.kinds):
        solver.addVar(0.0, highspy.kHighsInf if kind.most is None else float(kind.most))
        solver.changeColIntegrality(index, highspy.HighsVarType.kInteger)
        solver.changeColCost(index, kind.price)
    for name, limits in packing.pools.items():
        members = [index for index, kind in enumerate(packing.kinds) if kind.pool == name]
        most = highspy.kHighsInf if limits.most is None else float(limits.most)
        solver.addRow(float(limits.least), most, len(members), np.array(members, np.int32), np.ones(len(members)))
    for row in (*dimension_rows(packing), *rows[-MAX_ROWS:]):
        _add(solver, row)
    solver.run()
    if solver.getModelStatus() not in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kTimeLimit):
        return 0.0
    return float(solver.getInfo().mip_dual_bound)


def _add(solver: highspy.Highs, row: ValueRow) -> None:
    members = [index for index, value in enumerate(row.node_values) if value > 0]
    if row.demand <= 0 or not members:
        return
    shares = np.array([row.node_values[index] / row.demand for index in members])
    solver.addRow(1.0 - TOLERANCE, highspy.kHighsInf, len(members), np.array(members, np.int32), shares)
