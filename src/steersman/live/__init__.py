# SPDX-License-Identifier: Apache-2.0
"""A live cluster, looked at once and left as it was: `steersman explain`.

    read ─► ReadCluster ─► read_simulation ─► Simulation (nothing has happened in it yet) ─► why

Nothing is watched and nothing is written. `app` runs a scheduler on the same cluster, `sim` one without a cluster.
"""

from steersman.live.cluster_reader import PLANNED_KINDS, LiveError, ReadCluster, read
from steersman.live.live_simulation import LiveSimulation, read_simulation
from steersman.live.served_documents import served_documents

__all__ = [
    "PLANNED_KINDS",
    "LiveError",
    "LiveSimulation",
    "ReadCluster",
    "read",
    "read_simulation",
    "served_documents",
]
