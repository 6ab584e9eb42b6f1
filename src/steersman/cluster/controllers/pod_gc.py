# SPDX-License-Identifier: Apache-2.0
"""The pod garbage collector: deletes pods that no kubelet will remove.

These are pods on missing nodes, terminating pods that were never scheduled, terminating pods on
out-of-service nodes, and the oldest finished pods beyond a threshold. Upstream checks every twenty
seconds; here each pod has a timer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from steersman.api import FINISHED_PHASES, Condition, Node, Object, Pod, key
from steersman.cluster.controllers.controller import Cluster, Controller, owned_key
from steersman.cluster.store import EventType, NotFound, Pods
from steersman.cluster.store.pods import with_condition

QUARANTINE_SECONDS: Final = 40.0
"""Time that a node may be missing before its pods are deleted."""
TERMINATED_POD_THRESHOLD: Final = 12_500
OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"
NODE_GONE: Final = Condition(
    type="DisruptionTarget", status="True", reason="DeletionByPodGC", message="PodGC: node no longer exists"
)
_FINISHED: Final = " finished"
"""Queue key for finished pods; it is not a valid pod key."""

_replace = msgspec.structs.replace


class PodGarbageCollector(Controller):
    """Pod garbage collector; keys are pods. `threshold` is the maximum number of finished pods, 0
    for no limit.

    A cluster that `retains_pods` has no limit, and keeps terminating pods without a node and pods
    of missing nodes that no controller would replace.
    """

    NAME = "pod-garbage-collector"

    def __init__(self, cluster: Cluster, *, threshold: int = TERMINATED_POD_THRESHOLD) -> None:
        super().__init__(cluster)
        self._threshold = 0 if cluster.retains_pods else threshold
        self._nodes = self.store.objects(Node)
        self._all_pods = self.store.objects(Pod)
        self._pods = Pods(self.store)
        self._finished: dict[str, None] = {}
        #: Missing node that pods refer to → time since when.
        self._missing: dict[str, float] = {}
        self.store.subscribe(self._on_node, (Node,))
        self.store.subscribe(self._on_pod, (Pod,))

    # -- events ------------------------------------------------------------------------------------

    def _on_node(self, _: EventType, old: Object | None, new: Object | None) -> None:
        if isinstance(new, Node):
            self._missing.pop(new.metadata.name, None)
            if _is_out_of_service(new):
                self._enqueue_where(lambda pod: pod.spec.node_name == new.metadata.name and _is_terminating(pod))
        elif isinstance(old, Node):
            self._miss(old.metadata.name, is_background=False)

    def _on_pod(self, _: EventType, old: Object | None, new: Object | None) -> None:
        if not isinstance(new, Pod):
            if isinstance(old, Pod):
                self._finished.pop(key(old), None)
            return
        node = new.spec.node_name
        if node and node not in self._nodes and node not in self._missing:
            self._miss(node, is_background=True)
        if new.metadata.deletion_timestamp is not None and self._has_no_kubelet(node):
            self.enqueue(key(new))
        if self._threshold and new.status.phase in FINISHED_PHASES:
            self._finished[key(new)] = None
            if len(self._finished) > self._threshold:
                self.enqueue(_FINISHED)

    def _has_no_kubelet(self, node_name: str) -> bool:
        node = self._nodes.get(node_name)
        if not node_name:
            return not self.cluster.retains_pods
        return node is not None and _is_out_of_service(node)

    def _miss(self, node: str, *, is_background: bool) -> None:
        now = self.store.clock.monotonic()
        is_first_now = now not in self._missing.values()
        self._missing[node] = now
        if is_first_now or not is_background:
            self.call_after(QUARANTINE_SECONDS, self._enqueue_lost, is_background=is_background)

    def _enqueue_lost(self) -> None:
        """Enqueue the pods of all nodes whose quarantine is over, in one pass."""
        due = self.store.clock.monotonic() - QUARANTINE_SECONDS
        lost = {node for node, since in self._missing.items() if since <= due}
        for node in lost:
            del self._missing[node]
        if lost:
            self._enqueue_where(lambda pod: pod.spec.node_name in lost)

    def _enqueue_where(self, is_meant: Callable[[Pod], bool]) -> None:
        for name, pod in self._all_pods.items():
            if is_meant(pod):
                self.enqueue(name)

    # -- reconciling -------------------------------------------------------------------------------

    def reconcile(self, name: str) -> None:
        if name == _FINISHED:
            self._delete_oldest_finished()
            return
        pod = self._all_pods.get(name)
        if pod is None:
            return
        node = pod.spec.node_name
        if not node:
            if _is_terminating(pod):
                self._fail_and_delete(pod, None)
        elif node not in self._nodes:
            if not self.cluster.retains_pods or self._will_be_replaced(pod):
                self._fail_and_delete(pod, NODE_GONE)
        elif _is_terminating(pod) and _is_out_of_service(self._nodes[node]):
            self._fail_and_delete(pod, None)

    def _will_be_replaced(self, pod: Pod) -> bool:
        """Return whether the pod's controller exists."""
        keys = ((kind, owned_key(pod, kind)) for kind in self.store.kinds)
        return any(name is not None and self.store.find(kind, name) is not None for kind, name in keys)

    def _delete_oldest_finished(self) -> None:
        finished = [self._all_pods[name] for name in self._finished]
        finished.sort(key=_evicted_and_oldest_first)
        for pod in finished[: len(finished) - self._threshold]:
            self._fail_and_delete(pod, None)

    def _fail_and_delete(self, pod: Pod, condition: Condition | None) -> None:
        status = pod.status
        if status.phase not in FINISHED_PHASES:
            generation = pod.metadata.generation
            status = _replace(status, phase="Failed", observed_generation=generation)
            if condition is not None:
                condition = _replace(condition, observed_generation=generation)
                conditions = with_condition(status.conditions, condition, self.store.timestamp())
                status = _replace(status, conditions=conditions)
            pod = self.store.update_status(_replace(pod, status=status))
        try:
            self._pods.delete(key(pod), grace_period_seconds=0)
        except NotFound:
            return


def _is_terminating(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is not None


def _is_out_of_service(node: Node) -> bool:
    if not any(taint.key == OUT_OF_SERVICE for taint in node.spec.taints):
        return False
    return not any(condition.type == "Ready" and condition.status == "True" for condition in node.status.conditions)


def _evicted_and_oldest_first(pod: Pod) -> tuple[bool, str, str]:
    is_evicted = pod.status.phase == "Failed" and pod.status.reason == "Evicted"
    return not is_evicted, pod.metadata.creation_timestamp or "", pod.metadata.name
