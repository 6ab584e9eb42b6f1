# SPDX-License-Identifier: Apache-2.0
"""Index of a store's pods by node, shared by the node controllers.

Created by the first query, to avoid the cost in clusters without failed nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from steersman.api import Object, Pod, key
from steersman.base import GroupedDict
from steersman.cluster.store import EventType, Store


class PodsByNode:
    """Index of pods by node; see `pods_by_node`."""

    def __init__(self, store: Store) -> None:
        #: Node name → pod key → pod, in order of arrival.
        self._pods: GroupedDict[str, str, Pod] = GroupedDict()
        self._listeners: list[Callable[[Pod | None, Pod | None], None]] = []
        store.subscribe(self._on_pod, (Pod,))

    def pods_on(self, node: str) -> Sequence[Pod]:
        """Return the pods bound to the node."""
        return tuple(self._pods.entries_of(node).values())

    def listen(self, listener: Callable[[Pod | None, Pod | None], None]) -> None:
        """Register a listener for pod changes, called after the index is updated."""
        self._listeners.append(listener)

    def _on_pod(self, _: EventType, old: Object | None, new: Object | None) -> None:
        before = old if isinstance(old, Pod) else None
        after = new if isinstance(new, Pod) else None
        if before is not None and after is None:
            self._pods.remove(before.spec.node_name, key(before))
        if after is not None and after.spec.node_name:
            self._pods.put(after.spec.node_name, key(after), after)
        for listener in self._listeners:
            listener(before, after)


def pods_by_node(store: Store) -> PodsByNode:
    """Return the index of the store's pods, created at the first call."""
    index = store.indexes.get(PodsByNode)
    if not isinstance(index, PodsByNode):
        index = store.indexes[PodsByNode] = PodsByNode(store)
    return index
