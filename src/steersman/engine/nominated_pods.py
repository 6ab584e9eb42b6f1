# SPDX-License-Identifier: Apache-2.0
"""The nodes to which other pods are nominated: there a pod must leave room for its rivals, and fit without them as well.

Part of one evaluation of the columnar engine. What local filters (`local_filters`) object to is found by a few operations on
the columns of `state.nominations`. If others come behind them, the nodes that are left are examined on their own, where it
matters: one that does not pass as it is does not pass with the rivals, and only a diagnosis wants to know what comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from steersman.engine.local_filters import LocalFilters
from steersman.engine.report import RowIndex, rows_by_status
from steersman.framework.nodes_view import BoolColumn
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Status
from steersman.state.nominations import Rivals

Examine = Callable[[int, Sequence[PodInfo]], Status | None]
"""The first objection against a row, with and without these pods on it."""

#: Up to this many nodes, one after the other is cheaper than vector operations.
FEW = 4
_NONE: RowIndex = np.zeros(0, np.intp)


class Crowding:
    """What a pod's rivals have to say. Valid as long as the evaluation."""

    __slots__ = ("_are_all", "_ask", "_known", "_leading", "_rivals")

    def __init__(self, rivals: Rivals, leading: LocalFilters | None, are_all: bool, ask: Examine) -> None:
        """`leading` are the filters that are asked first, or all of them; None: nodes have to be examined on their own."""
        #: Without those of rows that have been examined.
        self._rivals = rivals
        self._leading = leading
        self._are_all = are_all
        self._ask = ask
        #: Objections against rows that were examined on their own.
        self._known: dict[int, Status] = {}

    def examine(self, rows: BoolColumn) -> None:
        """Asks for each of the rows on which rivals are, unless columns tell."""
        if self._are_all:
            return
        for row, others in self._rivals.among(rows).items():
            status = self._ask(row, others)
            if status is not None:
                self._known[row] = status
        self._rivals = self._rivals.among(~rows)

    def lost(self, feasible: BoolColumn) -> RowIndex:
        """Those of the rows, which pass as they are, that the pod must leave to its rivals."""
        crowded = self._crowded(feasible)
        if self._are_all:
            return crowded
        self.examine(_without(feasible, crowded))
        return np.concatenate([crowded, np.array([row for row in self._known if feasible[row]], np.intp)])

    def _crowded(self, feasible: BoolColumn) -> RowIndex:
        """The same as far as columns tell."""
        leading = self._leading
        if leading is None or not feasible[self._rivals.rows].any():
            return _NONE
        some = self._rivals.among(feasible)
        if len(some) > FEW:
            return leading.crowded(some)
        return np.array([row for row, others in some.items() if leading.objection(row, others) is not None], np.intp)

    def objections(self, rows: BoolColumn) -> Iterator[Mapping[Status, RowIndex]]:
        """Against those of the rows on which rivals are, by status. No row occurs twice."""
        left = rows
        if self._leading is not None:
            found = self._leading.objections(self._rivals.among(rows))
            left = _without(rows, *found.values())
            yield found
        self.examine(left)
        yield rows_by_status({row: status for row, status in self._known.items() if rows[row]})


def _without(rows: BoolColumn, *others: RowIndex) -> BoolColumn:
    left = rows.copy()
    for other in others:
        left[other] = False
    return left
