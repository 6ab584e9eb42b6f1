# SPDX-License-Identifier: Apache-2.0
"""A placement score: a group of pods goes to the rack whose nodes have the lowest label `price` on average.

Needs `--feature-gates=GenericWorkload=true,TopologyAwareWorkloadScheduling=true`.
"""

from __future__ import annotations

from collections.abc import Sequence

from steersman.framework import (
    CycleState,
    Handle,
    PlacementScore,
    PlacementScorePlugin,
    PodGroupAssignments,
    PodGroupInfo,
)


class CheapRacks(PlacementScorePlugin):
    """Prefer placements with cheap nodes: the dearest gets 0, a free one 100."""

    name = "CheapRacks"

    def __init__(self, args: object, handle: Handle) -> None:
        self._nodes = handle.nodes

    def score_placement(self, state: CycleState, group: PodGroupInfo, placed: PodGroupAssignments) -> int:
        names = () if placed.placement is None else placed.placement.node_names
        nodes = [node for node in map(self._nodes.get, names) if node is not None]
        return sum(int(node.labels.get("price", "0")) for node in nodes) // max(1, len(nodes))

    def normalize_placement_scores(
        self, state: CycleState, group: PodGroupInfo, scores: Sequence[PlacementScore]
    ) -> None:
        dearest = max(entry.score for entry in scores)
        for entry in scores:
            entry.score = 100 * (dearest - entry.score) // dearest if dearest else 100
