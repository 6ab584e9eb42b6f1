# SPDX-License-Identifier: Apache-2.0
"""NodeName: a pod that names its node in `spec.nodeName` fits on no other.

Filter only. Pods with a node name normally never reach a scheduling cycle; the rule also serves what-if questions. In
the vector form all rows but one are rejected.
"""

from __future__ import annotations

import numpy as np

from steersman.framework.columns import ColumnarFilter, FilterKernel, StatusTable
from steersman.framework.cycle_state import CycleState
from steersman.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource
from steersman.framework.node_info import NodeInfo
from steersman.framework.nodes_view import NodesView, ReasonColumn, Rows
from steersman.framework.plugin import EnqueueExtensions, FilterPlugin
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Status, unresolvable

ERR_REASON = "node(s) didn't match the requested node name"


class NodeName(FilterPlugin, ColumnarFilter, EnqueueExtensions):
    """Rejects every node but the one that the pod asks for."""

    name = "NodeName"

    def __init__(self) -> None:
        self.statuses = StatusTable()

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        wanted = pod.spec.node_name
        return None if wanted in ("", node.name) else unresolvable(ERR_REASON)

    def filter_fragment(self, pod: PodInfo) -> str:
        return pod.spec.node_name

    def filter_kernel(self, pod: PodInfo, view: NodesView) -> FilterKernel | None:
        wanted = self.filter_fragment(pod)
        return OtherNodes(view, wanted, self.statuses.id_of(unresolvable(ERR_REASON))) if wanted else None

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        return (ClusterEventWithHint(ClusterEvent(EventResource.NODE, ActionType.ADD)),)


# -- the vector form ---------------------------------------------------------------------------------------------------


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
