# SPDX-License-Identifier: Apache-2.0
"""Room for one more of a pod, node by node: for the colours of the map."""

from __future__ import annotations

import numpy as np

from steersman import api
from steersman.assembly import Scheduler
from steersman.framework.pod_info import PodInfo
from steersman.state.node_table import NodeTable
from steersman.web.answers import WebPart
from steersman.web.evaluation import evaluated


class RoomReport(WebPart, frozen=True):
    """By node: how many copies fit by resources alone, and whether all filters agree with one."""

    pod: str
    now: float
    row: list[int]
    room: list[int]
    fits: list[int]


def room_report(scheduler: Scheduler, pod: api.Pod) -> RoomReport:
    """The room for copies of a pod, which is taken as if it had no node; NotEvaluated if nothing can be said of it."""
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
    """How many such pods the free amounts, and the limit of pods, have room for."""
    if not rows:
        return []
    room = table.allowed_pods.values[rows] - table.pod_count.values[rows]
    for resource, asked in pod.shape.requests.items():
        if asked > 0:
            offered = np.array([table.offered.by_row[row].get(resource, 0) for row in rows], np.int64)
            taken = np.array([table.amounts_requested.amount(resource, row) for row in rows], np.int64)
            room = np.minimum(room, (offered - taken) // asked)
    copies: list[int] = np.maximum(room, 0).tolist()
    return copies
