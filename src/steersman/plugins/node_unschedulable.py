# SPDX-License-Identifier: Apache-2.0
"""NodeUnschedulable: cordoned nodes (`spec.unschedulable`) take no pods.

Filter only. The exception are pods that tolerate the taint which the node controller puts on cordoned nodes. In the
vector form the column of cordoned nodes is the answer.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from steersman import api
from steersman.api.tolerations import NO_SCHEDULE, find_untolerated_taint
from steersman.framework.columns import ColumnarFilter, FilterKernel, StatusTable
from steersman.framework.cycle_state import CycleState
from steersman.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource, QueueingHint
from steersman.framework.handle import Handle
from steersman.framework.hints import changed
from steersman.framework.node_info import NodeInfo
from steersman.framework.nodes_view import NodesView, ReasonColumn, Rows
from steersman.framework.plugin import EnqueueExtensions, FilterPlugin
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Status, unresolvable

ERR_REASON = "node(s) were unschedulable"
UNSCHEDULABLE_TAINT: Final = api.Taint(key="node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)
COMPARISON_OPERATORS_GATE = "TaintTolerationComparisonOperators"


class NodeUnschedulable(FilterPlugin, ColumnarFilter, EnqueueExtensions):
    """Rejects cordoned nodes."""

    name = "NodeUnschedulable"

    def __init__(self, args: None, handle: Handle) -> None:
        self._comparison_operators = handle.gates.enabled(COMPARISON_OPERATORS_GATE)
        self.statuses = StatusTable()

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        if not node.node.spec.unschedulable or self._tolerates_cordon(pod.spec):
            return None
        return unresolvable(ERR_REASON)

    def filter_fragment(self, pod: PodInfo) -> bool:
        return self._tolerates_cordon(pod.spec)

    def filter_kernel(self, pod: PodInfo, view: NodesView) -> FilterKernel | None:
        if self.filter_fragment(pod):
            return None
        return CordonedNodes(view, self.statuses.id_of(unresolvable(ERR_REASON)))

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        node_event = ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT)
        toleration_event = ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_TOLERATION)
        return (
            ClusterEventWithHint(node_event, self.after_node_change),
            ClusterEventWithHint(toleration_event, self.after_toleration_added),
        )

    def after_node_change(self, waiting: api.Pod, old: object, new: object) -> QueueingHint:
        """A node helps if it is not cordoned, and is new or was cordoned before."""
        before, now = changed(api.Node, old, new)
        was_available = before is not None and not before.spec.unschedulable
        return QueueingHint.SKIP if was_available or now.spec.unschedulable else QueueingHint.QUEUE

    def after_toleration_added(self, waiting: api.Pod, old: object, new: object) -> QueueingHint:
        """The waiting pod had no toleration of the taint, or it would not wait; so only the new ones matter."""
        _, now = changed(api.Pod, old, new)
        if now.metadata.uid == waiting.metadata.uid and self._tolerates_cordon(now.spec):
            return QueueingHint.QUEUE
        return QueueingHint.SKIP

    def _tolerates_cordon(self, spec: api.PodSpec) -> bool:
        untolerated = find_untolerated_taint(
            (UNSCHEDULABLE_TAINT,), spec.tolerations, comparison_operators=self._comparison_operators
        )
        return untolerated is None


# -- the vector form ---------------------------------------------------------------------------------------------------


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
