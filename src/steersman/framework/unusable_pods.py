# SPDX-License-Identifier: Apache-2.0
"""Kernels for pods that a plugin cannot parse: invalid selectors, terms or constraints that an API
server would not admit.

The result of PreFilter or PreScore for such a pod applies to every row.
"""

from __future__ import annotations

import numpy as np

from steersman.framework.columns import ClusterFilterKernel, ClusterScoreKernel, Feasible, KernelFault, StatusTable
from steersman.framework.nodes_view import AnyIntColumn, BoolColumn, IntColumn, NodesView, ReasonColumn
from steersman.framework.status import Status


class RejectedPodKernel(ClusterFilterKernel):
    """Kernel of a pod that PreFilter rejects because it cannot parse it."""

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
    """Score of a pod that PreScore cannot parse: an internal error, but only if there are nodes to
    score."""

    def __init__(self, status: Status) -> None:
        self._status = status

    def skipped(self, feasible: Feasible) -> bool:
        raise KernelFault(self._status)

    def raw(self, feasible: Feasible) -> IntColumn:
        raise KernelFault(self._status)

    def normalized(self, feasible: Feasible) -> AnyIntColumn | None:
        raise KernelFault(self._status)
