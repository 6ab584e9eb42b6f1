# SPDX-License-Identifier: Apache-2.0
"""NodeDeclaredFeatures: a pod that needs a kubelet feature fits only on nodes that declare it.

PreFilter infers the needed features from the pod's spec and skips the plugin if there are none;
Filter compares them with the node's `status.declaredFeatures`. Only the two features below matter
for placement; the other declared ones (websockets to the kubelet, in-place resize of init
containers and of pod-level resources) concern running pods. Since few pods need a feature, the
vector form has no column and checks the nodes one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from steersman import api
from steersman.framework import (
    SKIP,
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
    PreFilterPlugin,
    QueueingHint,
    ReasonColumn,
    Rows,
    Status,
    StatusTable,
    changed,
    error,
    unresolvable,
)

ERR_REASON = "node(s) didn't match Pod's required features"
STATE_KEY = "PreFilterNodeDeclaredFeatures"
FEATURE_GATE = "NodeDeclaredFeatures"
RESTART_ALL_CONTAINERS = "RestartAllContainers"


class NodeDeclaredFeatures(PreFilterPlugin, FilterPlugin, ColumnarFilter, EnqueueExtensions):
    """Rejects nodes that lack a needed kubelet feature. Does nothing if its feature gate is off."""

    name = "NodeDeclaredFeatures"

    def __init__(self, args: None, handle: Handle) -> None:
        self._enabled = handle.gates.enabled(FEATURE_GATE)
        self.statuses = StatusTable()

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status | None:
        needed = self._needed(pod)
        if not needed:
            return SKIP
        state.write(STATE_KEY, needed)
        return None

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        if not self._enabled:
            return None
        needed = state.read(STATE_KEY, frozenset)
        if needed is None:
            return error(f'error reading "{STATE_KEY}" from cycle-state: not found')
        return None if needed.issubset(node.node.status.declared_features) else unresolvable(ERR_REASON)

    def filter_fragment(self, pod: PodInfo) -> frozenset[str]:
        return self._needed(pod)

    def filter_kernel(self, pod: PodInfo, view: NodesView) -> FilterKernel | None:
        needed = self._needed(pod)
        return MissingFeatures(view, needed, self.statuses.id_of(unresolvable(ERR_REASON))) if needed else None

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        if not self._enabled:
            return ()
        features_changed = ActionType.ADD | ActionType.UPDATE_NODE_DECLARED_FEATURE
        return (
            ClusterEventWithHint(ClusterEvent(EventResource.NODE, features_changed), self.after_node_change),
            ClusterEventWithHint(ClusterEvent(EventResource.POD, ActionType.UPDATE), self.after_pod_update),
        )

    def after_node_change(self, waiting: api.Pod, old: object, new: object) -> QueueingHint:
        """Queue if the node is new or declares different features than before."""
        before, now = changed(api.Node, old, new)
        if before is not None and before.status.declared_features == now.status.declared_features:
            return QueueingHint.SKIP
        return QueueingHint.QUEUE

    def after_pod_update(self, waiting: api.Pod, old: object, new: object) -> QueueingHint:
        """Queue if an update of the waiting pod itself changes the needed features."""
        before, now = changed(api.Pod, old, new)
        if now.metadata.uid != waiting.metadata.uid:
            return QueueingHint.SKIP
        if before is not None and required_features(before.spec) == required_features(now.spec):
            return QueueingHint.SKIP
        return QueueingHint.QUEUE

    def _needed(self, pod: PodInfo) -> frozenset[str]:
        return required_features(pod.spec) if self._enabled else frozenset()


def required_features(spec: api.PodSpec) -> frozenset[str]:
    """Return the features that a kubelet needs to run the pod as specified."""
    return frozenset(feature for feature, is_needed in _NEEDED_FOR_SCHEDULING.items() if is_needed(spec))


def _restarts_all_containers(spec: api.PodSpec) -> bool:
    containers = (*spec.containers, *spec.init_containers)
    return any(rule.action == RESTART_ALL_CONTAINERS for c in containers for rule in c.restart_policy_rules)


def _user_namespace_on_host_network(spec: api.PodSpec) -> bool:
    return spec.host_network and spec.host_users is False


_NEEDED_FOR_SCHEDULING: Final[dict[str, Callable[[api.PodSpec], bool]]] = {
    "RestartAllContainersOnContainerExits": _restarts_all_containers,
    "UserNamespacesHostNetworkSupport": _user_namespace_on_host_network,
}


# -- the vector form ---------------------------------------------------------------------------------------------------


class MissingFeatures(FilterKernel):
    """Rejects nodes that do not declare all of the needed features."""

    def __init__(self, view: NodesView, needed: frozenset[str], reason: int) -> None:
        self._view = view
        self._needed = needed
        self._reason = reason

    def rows(self, rows: Rows) -> ReasonColumn:
        indexes, alive = np.arange(self._view.capacity)[rows], self._view.alive
        return np.fromiter((self.row(row) if alive[row] else 0 for row in indexes.tolist()), np.int32, len(indexes))

    def row(self, row: int) -> int:
        return 0 if self._needed.issubset(self._view.node(row).status.declared_features) else self._reason
