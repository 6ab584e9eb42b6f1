# SPDX-License-Identifier: Apache-2.0
"""Reads a live cluster once, for commands that explain or plan.

    read ─► ReadCluster ─► read_simulation ─► Simulation (nothing has happened in it yet)

Nothing is watched and nothing is written. `served_documents` reads single objects whole, for
patches.
"""

from steersman.base import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "cluster_reader": "LiveError PLANNED_KINDS ReadCluster granted read served_documents",
        "live_simulation": "LiveSimulation filtering_all_nodes read_simulation",
    },
)
