# SPDX-License-Identifier: Apache-2.0
"""The vector form of NodeDeclaredFeatures. Few pods need a feature: no column is kept, the nodes themselves are asked."""

from __future__ import annotations

import numpy as np

from steersman.framework.columns import FilterKernel
from steersman.framework.nodes_view import NodesView, ReasonColumn, Rows


class MissingFeatures(FilterKernel):
    """Rejects nodes that do not declare all of the needed features."""

    def __init__(self, view: NodesView, needed: frozenset[str], reason: int) -> None:
        self._view = view
        self._needed = needed
        self._reason = reason

    def rows(self, rows: Rows) -> ReasonColumn:
        asked, alive = np.arange(self._view.capacity)[rows], self._view.alive
        return np.fromiter((self.row(row) if alive[row] else 0 for row in asked.tolist()), np.int32, len(asked))

    def row(self, row: int) -> int:
        return 0 if self._needed.issubset(self._view.node(row).status.declared_features) else self._reason
