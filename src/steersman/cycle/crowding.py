"""The nodes to which other pods are nominated: there a pod must leave room for its rivals, and fit without them as well.

Part of one evaluation of the columnar engine. Where all filters are local (`local_filters`) the answer is a few operations
on the columns of `state.nominations`; else every node is examined on its own, if it matters: one that does not pass as it
is does not pass with the rivals, and only a diagnosis wants to know what comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from steersman.cycle.local_filters import LocalFilters
from steersman.cycle.row_statuses import RowIndex, rows_by_status
from steersman.framework.nodes_view import BoolColumn
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Status
from steersman.state.nominations import Rivals

Examine = Callable[[int, Sequence[PodInfo]], Status | None]
"""The first objection against a row, with and without these pods on it."""


class Crowding:
    """What a pod's rivals have to say. Valid as long as the evaluation."""

    __slots__ = ("_ask", "_known", "_local", "_rivals")

    def __init__(self, rivals: Rivals, local: LocalFilters | None, ask: Examine) -> None:
        #: Without those of rows that have been examined.
        self._rivals = rivals
        self._local = local
        self._ask = ask
        #: Objections against rows that were examined on their own.
        self._known: dict[int, Status] = {}

    def examine(self, rows: BoolColumn) -> None:
        """Asks for each of the rows on which rivals are, unless columns tell."""
        if self._local is not None:
            return
        for row, others in self._rivals.among(rows).items():
            status = self._ask(row, others)
            if status is not None:
                self._known[row] = status
        self._rivals = self._rivals.among(~rows)

    def lost(self, feasible: BoolColumn) -> RowIndex:
        """Those of the rows, which pass as they are, that the pod must leave to its rivals."""
        if self._local is not None:
            return self._local.crowded(self._rivals.among(feasible))
        self.examine(feasible)
        return np.array([row for row in self._known if feasible[row]], np.intp)

    def objections(self, rows: BoolColumn) -> Mapping[Status, RowIndex]:
        """Against those of the rows on which rivals are, by status."""
        if self._local is not None:
            return self._local.objections(self._rivals.among(rows))
        self.examine(rows)
        return rows_by_status({row: status for row, status in self._known.items() if rows[row]})
