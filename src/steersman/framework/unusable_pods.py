# SPDX-License-Identifier: Apache-2.0
"""Kernels for pods that a plugin cannot understand: selectors, terms or constraints that no API server would have let in.

What a plugin says of such a pod as a whole, PreFilter's refusal or PreScore's fault, stands for every row.
"""

from __future__ import annotations

import numpy as np

from steersman.framework.columns import ClusterFilterKernel, ClusterScoreKernel, Feasible, KernelFault, StatusTable
from steersman.framework.nodes_view import AnyIntColumn, BoolColumn, IntColumn, NodesView, ReasonColumn
from steersman.framework.status import Status


class RefusedPodKernel(ClusterFilterKernel):
    """The kernel of a pod that PreFilter refuses as a whole, because the plugin cannot understand what it asks for."""

    def __init__(self, refusal: Status, view: NodesView, statuses: StatusTable) -> None:
        self._refusal = refusal
        self._reason = statuses.id_of(refusal)
        self._view = view

    def skipped(self) -> bool:
        return False

    def refusal(self) -> Status:
        return self._refusal

    def rejected(self) -> BoolColumn:
        return np.ones(self._view.capacity, np.bool_)

    def reasons(self) -> ReasonColumn:
        return np.full(self._view.capacity, self._reason, np.int32)


class BrokenScoreKernel(ClusterScoreKernel):
    """The score of a pod that PreScore cannot understand: a fault, but only when there are nodes to score."""

    def __init__(self, status: Status) -> None:
        self._status = status

    def skipped(self, feasible: Feasible) -> bool:
        raise KernelFault(self._status)

    def raw(self, feasible: Feasible) -> IntColumn:
        raise KernelFault(self._status)

    def normalized(self, feasible: Feasible) -> AnyIntColumn | None:
        raise KernelFault(self._status)
