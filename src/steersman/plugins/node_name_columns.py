# SPDX-License-Identifier: Apache-2.0
"""The vector form of NodeName: all rows but one are rejected."""

from __future__ import annotations

import numpy as np

from steersman.framework.columns import FilterKernel
from steersman.framework.nodes_view import NodesView, ReasonColumn, Rows


class OtherNodes(FilterKernel):
    """Rejects every node but the one of that name, which may come and go."""

    def __init__(self, view: NodesView, wanted: str, reason: int) -> None:
        self._view = view
        self._wanted = wanted
        self._reason = reason

    def rows(self, rows: Rows) -> ReasonColumn:
        reasons = np.full(self._view.capacity, self._reason, np.int32)
        wanted = self._view.row_of(self._wanted)
        if wanted is not None:
            reasons[wanted] = 0
        return reasons[rows]

    def row(self, row: int) -> int:
        return 0 if self._view.row_of(self._wanted) == row else self._reason
