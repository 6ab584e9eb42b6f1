# SPDX-License-Identifier: Apache-2.0
"""NodeUnschedulable: cordoned nodes (`spec.unschedulable`) take no new pods.

Filter; since v1.37 also PreFilter, which does nothing. Pods are exempt if they tolerate the taint
that the node controller puts on cordoned nodes. The vector form reads the column of cordoned nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from steersman import api
from steersman.api import NO_SCHEDULE, find_untolerated_taint
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
    Handle,
    NodeInfo,
    NodesView,
    PodInfo,
    QueueingHint,
    ReasonColumn,
    Rows,
    Status,
    StatusTable,
    changed,
    unresolvable,
)

ERR_REASON = "node(s) were unschedulable"
UNSCHEDULABLE_TAINT: Final = api.Taint(key="node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)
COMPARISON_OPERATORS_GATE = "TaintTolerationComparisonOperators"


class NodeUnschedulable(FilterPlugin, ColumnarFilter, EnqueueExtensions):
    """Rejects cordoned nodes."""

    name = "NodeUnschedulable"

    def __init__(self, args: None, handle: Handle) -> None:
        self._comparison_operators = handle.gates.enabled(COMPARISON_OPERATORS_GATE)
        self.statuses = StatusTable()

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> None:
        """Do nothing: profiles of v1.37 list the plugin at this point."""

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
        """Queue if the node is not cordoned, and is new or was cordoned before."""
        before, now = changed(api.Node, old, new)
        was_available = before is not None and not before.spec.unschedulable
        return QueueingHint.SKIP if was_available or now.spec.unschedulable else QueueingHint.QUEUE

    def after_toleration_added(self, waiting: api.Pod, old: object, new: object) -> QueueingHint:
        """Queue if the updated pod tolerates the taint; as a waiting pod, it did not before."""
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
    """Rejects every cordoned node, for pods that do not tolerate the taint."""

    def __init__(self, view: NodesView, reason: int) -> None:
        self._cordoned = view.unschedulable
        self._cordoned_cell = view.unschedulable.data
        self._reason = reason

    def rows(self, rows: Rows) -> ReasonColumn:
        return np.multiply(self._cordoned[rows], self._reason, dtype=np.int32)

    def row(self, row: int) -> int:
        return self._reason if self._cordoned_cell[row] else 0
