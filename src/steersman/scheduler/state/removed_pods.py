# SPDX-License-Identifier: Apache-2.0
"""Removal of running pods from the columns for the time of a what-if question.

The cost is proportional to the number of the pods; readers of the table's log update the rows of
these pods twice. The records of the cache stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from steersman.framework import PlacedPod
from steersman.scheduler.state.node_table import NodeTable


@contextmanager
def removed(table: NodeTable, pods: Iterable[PlacedPod]) -> Iterator[None]:
    """Remove the pods, whose nodes are alive, within a `with` block.

    Afterwards everything is restored, including the order of the pods on their nodes and the state
    of their ports. Pods may be added in the block if they are removed again.
    """
    generation = table.generation
    gone: list[PlacedPod] = []
    orders: dict[str, list[str]] = {}
    restorers = []
    try:
        for placed in pods:
            name = placed.node_name
            if name not in orders:
                row = table.rows[name]
                orders[name] = list(table.pods_on[row])
                restorers.append(table.sparse.restorer(row))
            table.remove_pod(placed.pod, name)
            gone.append(placed)
        yield
    finally:
        for pod, name in gone:
            # After an internal error in the block the table was rebuilt with all pods.
            if name not in table.rows or pod.uid not in table.pods_on[table.rows[name]]:
                table.add_pod(pod, name)
        for name, order in orders.items():
            table.order_pods(name, order)
        if table.generation == generation:
            for restore in restorers:
                restore()
