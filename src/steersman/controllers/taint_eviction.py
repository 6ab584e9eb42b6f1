# SPDX-License-Identifier: Apache-2.0
"""Taint eviction: pods leave a node with a NoExecute taint, at once or when they have tolerated it for long enough."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from steersman.api import Condition, Node, Object, Pod, Taint, Toleration, key
from steersman.api.tolerations import NO_EXECUTE, tolerates
from steersman.controllers.controller import Cluster, Controller
from steersman.controllers.pods_by_node import PodsByNode, pods_by_node
from steersman.embedded import EventType, NotFound, Pods

EVICTION: Final = "TaintManagerEviction"
DELETED_BY_TAINT: Final = Condition(
    type="DisruptionTarget",
    status="True",
    reason="DeletionByTaintManager",
    message="Taint manager: deleting due to NoExecute taint",
)


_replace = msgspec.structs.replace


class _Eviction(NamedTuple):
    """The pod that is to go, and when, on the monotonic scale."""

    uid: str
    due: float


class TaintEvictionController(Controller):
    """Reconciles nodes by name, and pods by `namespace/name`."""

    NAME = "taint-eviction"

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self._pods = Pods(self.store)
        self._index: PodsByNode | None = None
        self._tainted: dict[str, tuple[Taint, ...]] = {}
        self._evictions: dict[str, _Eviction] = {}
        self.store.subscribe(self._on_node, (Node,))

    # -- events ------------------------------------------------------------------------------------------------------

    def _on_node(self, _: EventType, old: Object | None, new: Object | None) -> None:
        before = _no_execute_taints(old) if isinstance(old, Node) else ()
        now = _no_execute_taints(new) if isinstance(new, Node) else ()
        node = new or old
        if node is None or before == now:
            return
        if self._index is None:
            self._index = pods_by_node(self.store)
            self._index.listen(self._on_pod)
        name = node.metadata.name
        if now:
            self._tainted[name] = now
        else:
            self._tainted.pop(name, None)
        self.enqueue(name)

    def _on_pod(self, before: Pod | None, after: Pod | None) -> None:
        if after is None:
            if before is not None:
                self._evictions.pop(key(before), None)
            return
        if not self._tainted or after.spec.node_name not in self._tainted:
            return
        is_same = before is not None and before.spec.node_name == after.spec.node_name
        if before is None or not is_same or before.spec.tolerations != after.spec.tolerations:
            self.enqueue(key(after))

    # -- reconciling -------------------------------------------------------------------------------------------------

    def reconcile(self, name: str) -> None:
        if "/" in name:
            pod = self.store.find(Pod, name)
            if pod is not None:
                self._look_at(pod)
        elif self._index is not None:
            for pod in self._index.on(name):
                self._look_at(pod)

    def _look_at(self, pod: Pod) -> None:
        name, taints = key(pod), self._tainted.get(pod.spec.node_name, ())
        if not taints:
            self._cancel(pod)
            return
        seconds = _tolerated_seconds(taints, pod.spec.tolerations)
        if seconds is None:
            self._cancel(pod)
            return
        known = self._evictions.get(name)
        due = self.store.clock.monotonic() + seconds
        if known is not None and known.uid == pod.metadata.uid and known.due <= due:
            return
        self._evictions[name] = _Eviction(pod.metadata.uid, due)
        if seconds:
            self.call_after(seconds, lambda: self._evict(name, due))
        else:
            self._evict(name, due)

    def _cancel(self, pod: Pod) -> None:
        if self._evictions.pop(key(pod), None) is not None:
            self.cluster.record(pod, EVICTION, f"Cancelling deletion of Pod {key(pod)}")

    def _evict(self, name: str, due: float) -> None:
        eviction, pod = self._evictions.get(name), self.store.find(Pod, name)
        if eviction is None or eviction.due != due:
            return
        if pod is None or pod.metadata.uid != eviction.uid:
            del self._evictions[name]
            return
        self.cluster.record(pod, EVICTION, f"Marking for deletion Pod {name}")
        try:
            condition = _replace(DELETED_BY_TAINT, observed_generation=pod.metadata.generation)
            self._pods.patch_status(name, condition=condition, uid=eviction.uid)
            self._pods.delete(name, grace_period_seconds=None, uid=eviction.uid)
        except NotFound:
            pass
        self._evictions.pop(name, None)


def _no_execute_taints(node: Node) -> tuple[Taint, ...]:
    taints = node.spec.taints
    return tuple(taint for taint in taints if taint.effect == NO_EXECUTE) if taints else ()


def _tolerated_seconds(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> float | None:
    """How long the pod may stay: 0 is not at all, None for ever."""
    least: float | None = None
    for taint in taints:
        toleration = next((known for known in tolerations if tolerates(known, taint)), None)
        if toleration is None:
            return 0.0
        seconds = toleration.toleration_seconds
        if seconds is not None:
            least = max(0.0, float(seconds)) if least is None else min(least, max(0.0, float(seconds)))
    return least
