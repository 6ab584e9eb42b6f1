# SPDX-License-Identifier: Apache-2.0
"""Whether a pod that was bound to a node may run there: what a kubelet checks before it takes a pod.

The scheduler has checked it before, but another one may have given the same room away, or a pod came with its node. `Kubelets`
asks for every new pod where the policy says so; a pod that does not fit fails with kubelet's reason and message.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from steersman.api import Node, Object, Pod, node_selectors
from steersman.api.tolerations import find_untolerated_taint
from steersman.embedded import EventType, Store
from steersman.embedded.pods import FINISHED_PHASES
from steersman.framework.pod_info import PodInfo, PodShapes
from steersman.framework.pod_resources import is_extended, pod_requests
from steersman.plugins.node_affinity import ERR_REASON_POD
from steersman.plugins.node_ports import ERR_REASON as ERR_REASON_PORTS
from steersman.plugins.node_ports import ports_conflict
from steersman.plugins.node_resources.insufficient import checked_requests, insufficient_resources
from steersman.state.plain_node import PlainNodeInfo

NO_EXECUTE: Final = "NoExecute"
ERR_REASON_TAINTS: Final = "node(s) had taints that the pod didn't tolerate"


class Misfit(NamedTuple):
    """Why a pod is rejected, in kubelet's words."""

    reason: str
    message: str


class NodeRoom:
    """Follows the pods on all nodes. Pods that have finished take no room."""

    def __init__(self, store: Store) -> None:
        self._shapes = PodShapes()
        self._nodes = store.objects(Node)
        #: By node and uid.
        self._pods: dict[str, dict[str, PodInfo]] = {}
        #: The sums of `_pods`; made when they are asked for, and anew after a change of the node.
        self._sums: dict[str, PlainNodeInfo] = {}
        store.subscribe(self._on_node, (Node,))
        store.subscribe(self._on_pod, (Pod,))

    def misfit(self, pod: Pod) -> Misfit | None:
        """None if the pod may run on its node, next to the other pods there."""
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

    # -- following the cluster ---------------------------------------------------------------------------------------

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
