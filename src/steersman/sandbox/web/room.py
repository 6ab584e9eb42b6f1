# SPDX-License-Identifier: Apache-2.0
"""Room for copies of a pod on each node, for the colours of the map."""

from __future__ import annotations

import numpy as np

from steersman import api
from steersman.framework import PodInfo
from steersman.sandbox.web.answers import WebPart
from steersman.scheduler.assembly import Scheduler
from steersman.scheduler.diagnosis import evaluated
from steersman.scheduler.state import NodeTable


class RoomReport(WebPart, frozen=True):
    """Number of copies that fit on each node by resources alone, and whether one passes all
    filters."""

    pod: str
    now: float
    row: list[int]
    room: list[int]
    fits: list[int]


def room_report(scheduler: Scheduler, pod: api.Pod) -> RoomReport:
    """Return the room for copies of a pod, as if it had no node. Raises `NotEvaluated`."""
    with evaluated(scheduler, pod) as found:
        table = scheduler.cache.nodes
        rows = sorted(table.live_rows())
        fitting = set(found.evaluation.feasible())
        return RoomReport(
            found.pod.key,
            scheduler.clock.now(),
            rows,
            _copies(table, found.pod, rows),
            [int(table.names[row] in fitting) for row in rows],
        )


def _copies(table: NodeTable, pod: PodInfo, rows: list[int]) -> list[int]:
    """Return how many such pods fit by free amounts and the limit of pods."""
    if not rows:
        return []
    room = table.allowed_pods.values[rows] - table.pod_count.values[rows]
    for resource, requested in pod.shape.requests.items():
        if requested > 0:
            offered = np.array([table.offered.by_row[row].get(resource, 0) for row in rows], np.int64)
            taken = np.array([table.amounts_requested.amount(resource, row) for row in rows], np.int64)
            room = np.minimum(room, (offered - taken) // requested)
    copies: list[int] = np.maximum(room, 0).tolist()
    return copies
