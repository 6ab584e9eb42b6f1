# SPDX-License-Identifier: Apache-2.0
"""Nominated pods by node, as `PodInfo`, for the cycle.

The queue's nominator knows the nominations, and which nodes changed since the last read.
"""

from __future__ import annotations

from collections.abc import Sequence

from steersman.framework import PodInfo, PodShapes
from steersman.scheduler.queue import SchedulingQueue
from steersman.scheduler.state.node_table import NodeTable
from steersman.scheduler.state.nominations import Nominations


class NominatedPods:
    """The only reader of the nominator's changes."""

    def __init__(self, queue: SchedulingQueue, shapes: PodShapes, table: NodeTable) -> None:
        self._queue = queue
        self._shapes = shapes
        self._nominations = Nominations(table)

    def all(self) -> Nominations:
        """Return the nominated pods of all nodes. Usually there are none, and the call is cheap."""
        nominator = self._queue.nominator
        if nominator.changed_nodes:
            for name in nominator.take_changed_nodes():
                pods = self._queue.nominated_pods_for_node(name) if name else ()
                self._nominations.put(name, [self._shapes.info(pod) for pod in pods])
        return self._nominations

    def pods_on(self, node_name: str) -> Sequence[PodInfo]:
        return self.all().pods_on(node_name)
