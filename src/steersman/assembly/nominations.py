# SPDX-License-Identifier: Apache-2.0
"""Nominated pods as the cycle sees them: by node, each with what is computed from a pod once.

The queue's nominator says who is nominated where, and which nodes changed in that since it was last asked.
"""

from __future__ import annotations

from collections.abc import Sequence

from steersman.framework.pod_info import PodInfo, PodShapes
from steersman.queue import SchedulingQueue
from steersman.state.node_table import NodeTable
from steersman.state.nominations import Nominations


class NominatedPods:
    """The only reader of the nominator's changes."""

    def __init__(self, queue: SchedulingQueue, shapes: PodShapes, table: NodeTable) -> None:
        self._queue = queue
        self._shapes = shapes
        self._nominations = Nominations(table)

    def all(self) -> Nominations:
        """The nominated pods of all nodes, as they are now. Usually there are none, and this costs next to nothing."""
        nominator = self._queue.nominator
        if nominator.changed_nodes:
            for name in nominator.take_changed_nodes():
                pods = self._queue.nominated_pods_for_node(name) if name else ()
                self._nominations.put(name, [self._shapes.info(pod) for pod in pods])
        return self._nominations

    def on(self, node_name: str) -> Sequence[PodInfo]:
        return self.all().on(node_name)
