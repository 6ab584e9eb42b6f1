# SPDX-License-Identifier: Apache-2.0
"""NodeName: a pod with `spec.nodeName` fits only on that node.

Filter; since v1.37 also PreFilter, which does nothing. Pods with a node name normally never reach a
scheduling cycle; the rule also serves what-if queries. The vector form rejects all rows but one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steersman.framework import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    ColumnarFilter,
    CycleState,
    EnqueueExtensions,
    EventResource,
    FilterKernel,
    FilterPlugin,
    NodeInfo,
    NodesView,
    PodInfo,
    ReasonColumn,
    Rows,
    Status,
    StatusTable,
    unresolvable,
)

ERR_REASON = "node(s) didn't match the requested node name"


class NodeName(FilterPlugin, ColumnarFilter, EnqueueExtensions):
    """Rejects every node except the one in `spec.nodeName`."""

    name = "NodeName"

    def __init__(self) -> None:
        self.statuses = StatusTable()

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> None:
        """Do nothing: profiles of v1.37 list the plugin at this point."""

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
    """Rejects every node except the named one, which may be added or deleted at any time."""

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
