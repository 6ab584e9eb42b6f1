# SPDX-License-Identifier: Apache-2.0
"""Taint eviction: deletes pods from nodes with NoExecute taints, after any tolerated time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from steersman.api import NO_EXECUTE, Condition, Node, Object, Pod, Taint, Toleration, key, tolerates
from steersman.cluster.controllers.controller import Cluster, Controller
from steersman.cluster.controllers.pods_by_node import PodsByNode, pods_by_node
from steersman.cluster.store import EventType, NotFound, Pods

EVICTION: Final = "TaintManagerEviction"
DELETED_BY_TAINT: Final = Condition(
    type="DisruptionTarget",
    status="True",
    reason="DeletionByTaintManager",
    message="Taint manager: deleting due to NoExecute taint",
)


_replace = msgspec.structs.replace


class _Eviction(NamedTuple):
    """Uid of the pod to delete, and the time on the monotonic scale."""

    uid: str
    due: float


class TaintEvictionController(Controller):
    """Taint eviction controller; keys are node names, and `namespace/name` of pods."""

    NAME = "taint-eviction"

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self._pods = Pods(self.store)
        self._index: PodsByNode | None = None
        self._tainted: dict[str, tuple[Taint, ...]] = {}
        self._evictions: dict[str, _Eviction] = {}
        #: Owners and nodes of evicted pods. A replacement on the same node is evicted again.
        self._evicted: set[tuple[str, str]] = set()
        self.store.subscribe(self._on_node, (Node,))

    # -- events ------------------------------------------------------------------------------------

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

    # -- reconciling -------------------------------------------------------------------------------

    def reconcile(self, name: str) -> None:
        if "/" in name:
            pod = self.store.find(Pod, name)
            if pod is not None:
                self._look_at(pod)
        elif self._index is not None:
            for pod in self._index.pods_on(name):
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
            is_repeated = _owner_and_node(pod) in self._evicted
            self.call_after(seconds, lambda: self._evict(name, due), is_background=is_repeated)
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
        self._evicted.add(_owner_and_node(pod))
        self.cluster.record(pod, EVICTION, f"Marking for deletion Pod {name}")
        try:
            condition = _replace(DELETED_BY_TAINT, observed_generation=pod.metadata.generation)
            self._pods.patch_status(name, condition=condition, uid=eviction.uid)
            self._pods.delete(name, grace_period_seconds=None, uid=eviction.uid)
        except NotFound:
            pass
        self._evictions.pop(name, None)


def _owner_and_node(pod: Pod) -> tuple[str, str]:
    owner = next((owner.uid for owner in pod.metadata.owner_references if owner.controller), pod.metadata.uid)
    return owner, pod.spec.node_name


def _no_execute_taints(node: Node) -> tuple[Taint, ...]:
    taints = node.spec.taints
    return tuple(taint for taint in taints if taint.effect == NO_EXECUTE) if taints else ()


def _tolerated_seconds(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> float | None:
    """Return the seconds that the pod may stay; None for no limit."""
    least: float | None = None
    for taint in taints:
        toleration = next((known for known in tolerations if tolerates(known, taint)), None)
        if toleration is None:
            return 0.0
        seconds = toleration.toleration_seconds
        if seconds is not None:
            least = max(0.0, float(seconds)) if least is None else min(least, max(0.0, float(seconds)))
    return least
