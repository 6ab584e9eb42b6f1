# SPDX-License-Identifier: Apache-2.0
"""A kubelet's admission of pods: whether a bound pod may run on its node.

The scheduler has already checked this, but another scheduler may have used the same room, or the
pod was created with a node name. `Kubelets` checks every new pod if the policy says so; a pod that
does not fit fails with kubelet's reason and message.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from steersman.api import FINISHED_PHASES, Node, Object, Pod, find_untolerated_taint, node_selectors
from steersman.cluster.store import EventType, Store
from steersman.framework import PodInfo, PodShapes, is_extended, pod_requests
from steersman.scheduler.plugins import (
    ERR_REASON as ERR_REASON_PORTS,
    ERR_REASON_POD,
    checked_requests,
    insufficient_resources,
    ports_conflict,
)
from steersman.scheduler.state import PlainNodeInfo

NO_EXECUTE: Final = "NoExecute"
ERR_REASON_TAINTS: Final = "node(s) had taints that the pod didn't tolerate"


class Misfit(NamedTuple):
    """Reason for rejecting a pod, with kubelet's texts."""

    reason: str
    message: str


class NodeRoom:
    """Tracks the pods on all nodes, without finished ones."""

    def __init__(self, store: Store) -> None:
        self._shapes = PodShapes()
        self._nodes = store.objects(Node)
        #: Node → uid → pod.
        self._pods: dict[str, dict[str, PodInfo]] = {}
        #: Sums of `_pods`, computed on demand and dropped when the node changes.
        self._sums: dict[str, PlainNodeInfo] = {}
        store.subscribe(self._on_node, (Node,))
        store.subscribe(self._on_pod, (Pod,))

    def misfit(self, pod: Pod) -> Misfit | None:
        """Return why the pod cannot run on its node with the other pods; None if it can."""
        node = self._nodes[pod.spec.node_name]
        return (
            self._insufficient(pod, node)
            or _unwanted_node(pod, node)
            or self._taken_ports(pod)
            or _untolerated_taint(pod, node)
        )

    def _insufficient(self, pod: Pod, node: Node) -> Misfit | None:
        sums = self._sums_of(node)
        requests = {
            resource: amount
            for resource, amount in pod_requests(pod, status=False).items()
            if sums.offers(resource) or not is_extended(resource)
        }
        own = self._pods.get(node.metadata.name, {}).get(pod.metadata.uid)
        if own is not None:
            sums.remove_pod(own)
        lacking = insufficient_resources(checked_requests(requests), sums)
        if own is not None:
            sums.add_pod(own)
        if not lacking:
            return None
        name, _, wanted, used, capacity, _ = lacking[0]
        message = f"Node didn't have enough resource: {name}, requested: {wanted}, used: {used}, capacity: {capacity}"
        return Misfit(f"OutOf{name}", message)

    def _taken_ports(self, pod: Pod) -> Misfit | None:
        on_node = self._pods.get(pod.spec.node_name, {})
        own = on_node.get(pod.metadata.uid)
        wanted = self._shapes.info(pod).shape.host_ports if own is None else own.shape.host_ports
        if not wanted:
            return None
        used = {port for uid, info in on_node.items() if uid != pod.metadata.uid for port in info.shape.host_ports}
        return _failed_predicate("NodePorts", ERR_REASON_PORTS) if ports_conflict(wanted, used) else None

    # -- following the cluster ---------------------------------------------------------------------

    def _sums_of(self, node: Node) -> PlainNodeInfo:
        name = node.metadata.name
        sums = self._sums.get(name)
        if sums is None:
            sums = self._sums[name] = PlainNodeInfo(node, self._pods.get(name, {}).values())
        return sums

    def _on_node(self, _: EventType, old: Object | None, new: Object | None) -> None:
        changed = new or old
        if changed is not None:
            self._sums.pop(changed.metadata.name, None)

    def _on_pod(self, _: EventType, old: Object | None, new: Object | None) -> None:
        if isinstance(old, Pod) and old.spec.node_name:
            self._remove(old)
        if isinstance(new, Pod) and new.spec.node_name and new.status.phase not in FINISHED_PHASES:
            self._add(new)

    def _add(self, pod: Pod) -> None:
        info, node = self._shapes.info(pod), pod.spec.node_name
        self._pods.setdefault(node, {})[info.uid] = info
        if node in self._sums:
            self._sums[node].add_pod(info)

    def _remove(self, pod: Pod) -> None:
        node = pod.spec.node_name
        known = self._pods.get(node, {}).pop(pod.metadata.uid, None)
        if known is not None and node in self._sums:
            self._sums[node].remove_pod(known)


def _unwanted_node(pod: Pod, node: Node) -> Misfit | None:
    matches = node_selectors.required(pod).matches(node.metadata.labels, node.metadata.name)
    return None if matches else _failed_predicate("NodeAffinity", ERR_REASON_POD)


def _untolerated_taint(pod: Pod, node: Node) -> Misfit | None:
    taint = find_untolerated_taint(node.spec.taints, pod.spec.tolerations, (NO_EXECUTE,))
    return None if taint is None else _failed_predicate("TaintToleration", ERR_REASON_TAINTS)


def _failed_predicate(name: str, description: str) -> Misfit:
    return Misfit(name, f"Predicate {name} failed: {description}")
