# SPDX-License-Identifier: Apache-2.0
"""Which pods are on which node: one index of a store for the controllers that look after nodes.

It is made when it is asked for first, so that clusters whose nodes are all well pay nothing for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from steersman.api import Object, Pod, key
from steersman.embedded import EventType, Store
from steersman.grouped_dict import GroupedDict


class PodsByNode:
    """The index of pods by their node; `pods_by_node` gives that of a store."""

    def __init__(self, store: Store) -> None:
        #: By name of the node, then by key, in the order in which they came.
        self._pods: GroupedDict[str, str, Pod] = GroupedDict()
        self._listeners: list[Callable[[Pod | None, Pod | None], None]] = []
        store.subscribe(self._on_pod, (Pod,))

    def on(self, node: str) -> Sequence[Pod]:
        """The pods that are bound to the node."""
        return tuple(self._pods.of(node).values())

    def listen(self, listener: Callable[[Pod | None, Pod | None], None]) -> None:
        """Tells of every change of a pod, after it is in the index."""
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
    """The index of the store's pods, made at the first call."""
    index = store.indexes.get(PodsByNode)
    if not isinstance(index, PodsByNode):
        index = store.indexes[PodsByNode] = PodsByNode(store)
    return index
