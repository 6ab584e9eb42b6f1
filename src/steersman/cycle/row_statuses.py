# SPDX-License-Identifier: Apache-2.0
"""Statuses of many nodes as row numbers: names are looked up when somebody wants to read them.

Made by `column_report` for a pod that fits nowhere; preemption works on the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from steersman.cycle.evaluation import NodeStatuses
from steersman.framework.status import Status

RowIndex = NDArray[np.intp]


def rows_by_status(statuses: Mapping[int, Status]) -> dict[Status, RowIndex]:
    """The other way round."""
    found: dict[Status, list[int]] = {}
    for row, status in statuses.items():
        found.setdefault(status, []).append(row)
    return {status: np.array(rows, np.intp) for status, rows in found.items()}


class RowStatuses(NodeStatuses):
    """`names` are those of all rows at the time of the evaluation."""

    __slots__ = ("_named", "names", "rows")

    def __init__(self, rows: Mapping[Status, RowIndex], names: Sequence[str], absent: Status | None = None) -> None:
        super().__init__(None, absent)
        #: The examined rows by status; no row is in two of them.
        self.rows = rows
        self.names = names
        self._named = False

    @property
    def groups(self) -> dict[Status, list[str]]:
        if not self._named:
            names = self.names
            self._groups = {status: [names[row] for row in rows.tolist()] for status, rows in self.rows.items()}
            self._named = True
        return self._groups

    def counts(self) -> Iterable[tuple[Status, int]]:
        return ((status, len(rows)) for status, rows in self.rows.items())
