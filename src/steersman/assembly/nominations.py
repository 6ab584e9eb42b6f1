"""Nominated pods as the cycle sees them: by node, each with what is computed from a pod once.

The queue's nominator says who is nominated where, and which nodes changed in that since it was last asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steersman.framework.pod_info import PodInfo, PodShapes
from steersman.queue import SchedulingQueue


class NominatedPods:
    """The only reader of the nominator's changes."""

    def __init__(self, queue: SchedulingQueue, shapes: PodShapes) -> None:
        self._queue = queue
        self._shapes = shapes
        self._by_node: dict[str, Sequence[PodInfo]] = {}

    def by_node(self) -> Mapping[str, Sequence[PodInfo]]:
        """All of them. Usually there are none, and this costs next to nothing."""
        nominator = self._queue.nominator
        if not nominator.changed_nodes:
            return self._by_node
        for name in nominator.take_changed_nodes():
            pods = self._queue.nominated_pods_for_node(name) if name else ()
            if pods:
                self._by_node[name] = [self._shapes.info(pod) for pod in pods]
            else:
                self._by_node.pop(name, None)
        return self._by_node

    def on(self, node_name: str) -> Sequence[PodInfo]:
        return self.by_node().get(node_name, ())
