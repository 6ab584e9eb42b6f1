# SPDX-License-Identifier: Apache-2.0
"""The nodes to which other pods are nominated: a pod must leave room for those ahead of it, and fit without them as well.

Part of one evaluation of the columnar engine. What local filters (`local_filters`) object to is found by a few operations on
the columns of `state.nominations`. If others come behind them, the nodes that are left are examined on their own, where it
matters: one that does not pass as it is does not pass with those pods, and only a diagnosis wants to know what comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from steersman.engine.local_filters import LocalFilters
from steersman.engine.report import RowIndex, rows_by_status
from steersman.framework.nodes_view import BoolColumn
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Status
from steersman.state.nominations import NominatedAhead

Examine = Callable[[int, Sequence[PodInfo]], Status | None]
"""The first objection against a row, with and without these pods on it."""

#: Up to this many nodes, one after the other is cheaper than vector operations.
FEW = 4
_NONE: RowIndex = np.zeros(0, np.intp)


class NominatedPodsFilter:
    """Rejects the rows that a pod must leave to nominated pods ahead of it. Valid as long as the evaluation."""

    __slots__ = ("_ahead", "_are_all", "_ask", "_leading", "_objections")

    def __init__(self, ahead: NominatedAhead, leading: LocalFilters | None, are_all: bool, ask: Examine) -> None:
        """`leading` are the filters that are asked first, or all of them; None: nodes have to be examined on their own."""
        #: Without the pods on rows that have been examined.
        self._ahead = ahead
        self._leading = leading
        self._are_all = are_all
        self._ask = ask
        #: Objections against rows that were examined on their own.
        self._objections: dict[int, Status] = {}

    def examine(self, rows: BoolColumn) -> None:
        """Asks for each of the rows on which there are such pods, unless columns tell."""
        if self._are_all:
            return
        for row, others in self._ahead.among(rows).items():
            status = self._ask(row, others)
            if status is not None:
                self._objections[row] = status
        self._ahead = self._ahead.among(~rows)

    def rejected(self, feasible: BoolColumn) -> RowIndex:
        """The rows, of those that pass as they are, that the pod must leave to nominated pods."""
        by_columns = self._rejected_by_columns(feasible)
        if self._are_all:
            return by_columns
        self.examine(_without(feasible, by_columns))
        return np.concatenate([by_columns, np.array([row for row in self._objections if feasible[row]], np.intp)])

    def _rejected_by_columns(self, feasible: BoolColumn) -> RowIndex:
        """The rows of which the leading filters tell that there is no room for the nominated pods as well."""
        leading = self._leading
        if leading is None or not feasible[self._ahead.rows].any():
            return _NONE
        some = self._ahead.among(feasible)
        if len(some) > FEW:
            return leading.rejected_with(some)
        return np.array([row for row, others in some.items() if leading.objection(row, others) is not None], np.intp)

    def objections(self, rows: BoolColumn) -> Iterator[Mapping[Status, RowIndex]]:
        """Statuses of those of the rows on which there are such pods. No row occurs twice."""
        left = rows
        if self._leading is not None:
            found = self._leading.objections(self._ahead.among(rows))
            left = _without(rows, *found.values())
            yield found
        self.examine(left)
        yield rows_by_status({row: status for row, status in self._objections.items() if rows[row]})


def _without(rows: BoolColumn, *others: RowIndex) -> BoolColumn:
    left = rows.copy()
    for other in others:
        left[other] = False
    return left
