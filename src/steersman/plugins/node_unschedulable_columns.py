# SPDX-License-Identifier: Apache-2.0
"""The vector form of NodeUnschedulable: the column of cordoned nodes is the answer."""

from __future__ import annotations

import numpy as np

from steersman.framework.columns import FilterKernel
from steersman.framework.nodes_view import NodesView, ReasonColumn, Rows


class CordonedNodes(FilterKernel):
    """Rejects every cordoned node: for pods that do not tolerate the cordon."""

    def __init__(self, view: NodesView, reason: int) -> None:
        self._cordoned = view.unschedulable
        self._cordoned_cell = view.unschedulable.data
        self._reason = reason

    def rows(self, rows: Rows) -> ReasonColumn:
        return np.multiply(self._cordoned[rows], self._reason, dtype=np.int32)

    def row(self, row: int) -> int:
        return self._reason if self._cordoned_cell[row] else 0
