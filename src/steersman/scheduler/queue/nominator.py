# SPDX-License-Identifier: Apache-2.0
"""Nominations: pods for which preemption makes room on a node.

Preemption nominates a node before the API server has stored it, so the nominator is ahead of
`status.nominatedNodeName`. Filters treat nominated pods as if they were already on their node.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from steersman import api

PodLookup = Callable[[str], api.Pod | None]
"""Returns the pod with this `namespace/name` from the informer's cache, or None."""


class PodRef(NamedTuple):
    """Reference to a nominated pod."""

    namespace: str
    name: str
    uid: str

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    def bare_pod(self) -> api.Pod:
        """Return a pod with no other fields than this reference."""
        return api.Pod(metadata=api.ObjectMeta(name=self.name, namespace=self.namespace, uid=self.uid))


class Nominator:
    """Nominations by node and by pod. A pod is nominated to at most one node; the name may be
    ""."""

    def __init__(self, lookup: PodLookup | None = None, *, allows_empty_node: bool = True) -> None:
        self._allows_empty_node = allows_empty_node
        self._lookup = lookup
        #: Node → nominated pods by UID, oldest nomination first. No empty values.
        self._by_node: dict[str, dict[str, PodRef]] = {}
        #: Pod UID → node; the inverse of `_by_node`.
        self._node_of: dict[str, str] = {}
        #: Nodes whose nominations, or whose nominated pods, changed since `take_changed_nodes`.
        self.changed_nodes: set[str] = set()

    def __len__(self) -> int:
        return len(self._node_of)

    def nodes(self) -> Iterator[str]:
        """Iterate over the names of the nodes that have nominated pods."""
        return iter(self._by_node)

    def for_node(self, node_name: str) -> tuple[PodRef, ...]:
        """Return the pods nominated to a node, oldest nomination first."""
        return tuple(self._by_node.get(node_name, {}).values())

    def take_changed_nodes(self) -> Collection[str]:
        """Return and reset `changed_nodes`; for a single reader."""
        changed, self.changed_nodes = self.changed_nodes, set()
        return changed

    def add(self, pod: api.Pod, node_name: str | None = None) -> None:
        """Set the pod's nomination to the given node or, without one, to that of its status.

        A pod that no longer exists or already has a node is not nominated.
        """
        if pod.metadata.uid in self._node_of:
            self.remove(pod)
        if node_name is None:
            node_name = pod.status.nominated_node_name
            if not node_name:
                return
        elif not node_name and not self._allows_empty_node:
            return
        if self._is_waiting(pod):
            meta = pod.metadata
            self._node_of[meta.uid] = node_name
            self._by_node.setdefault(node_name, {})[meta.uid] = PodRef(meta.namespace, meta.name, meta.uid)
            self.changed_nodes.add(node_name)

    def update(self, old: api.Pod, new: api.Pod) -> None:
        """Apply an update of the pod. A nomination made in memory is preserved while the status has
        none."""
        in_memory: str | None = None
        if not old.status.nominated_node_name and not new.status.nominated_node_name:
            in_memory = self._node_of.get(old.metadata.uid)
        self.remove(old)
        self.add(new, in_memory)

    def remove(self, pod: api.Pod) -> None:
        """Remove the pod's nomination, if it has one."""
        self.forget(pod.metadata.uid)

    def refresh(self, uid: str) -> None:
        """Note that the pod has left or entered the queue, which changes what is known of it."""
        node_name = self._node_of.get(uid)
        if node_name is not None:
            self.changed_nodes.add(node_name)

    def clear(self) -> None:
        """Remove all nominations."""
        for uid in list(self._node_of):
            self.forget(uid)

    def forget(self, uid: str) -> None:
        """Remove the nomination of the pod with this UID."""
        node_name = self._node_of.pop(uid, None)
        if node_name is None:
            return
        self.changed_nodes.add(node_name)
        nominated = self._by_node[node_name]
        del nominated[uid]
        if not nominated:
            del self._by_node[node_name]

    def _is_waiting(self, pod: api.Pod) -> bool:
        if self._lookup is None:
            return True
        current = self._lookup(api.key(pod))
        return current is not None and not current.spec.node_name

    def problems(self) -> Iterator[str]:
        by_uid = {uid: node for node, pods in self._by_node.items() for uid in pods}
        if by_uid != self._node_of or not all(self._by_node.values()):
            yield f"nominations by node {self._by_node} do not agree with those by pod {self._node_of}"
