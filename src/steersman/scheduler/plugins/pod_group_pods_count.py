# SPDX-License-Identifier: Apache-2.0
"""PodGroupPodsCount: prefers placements that hold more members of the group.

PlacementScore only: the members placed there and those that run already, relative to the greatest
number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from steersman.framework import (
    MAX_NODE_SCORE,
    CycleState,
    Handle,
    PlacementScore,
    PlacementScorePlugin,
    PodGroupAssignments,
    PodGroupInfo,
    Status,
    error,
)

ERR_NO_PODS: Final = "no pods from pod group are assigned to any of the candidate placements"


class PodGroupPodsCount(PlacementScorePlugin):
    """Scores a placement by its number of members."""

    name = "PodGroupPodsCount"

    def __init__(self, args: None, handle: Handle) -> None:
        self._handle = handle

    def score_placement(self, state: CycleState, group: PodGroupInfo, placed: PodGroupAssignments) -> int:
        groups = self._handle.pod_groups
        scheduled = (
            0
            if groups is None
            else sum(groups.state(leaf.key.namespace, leaf.key.name).scheduled_count for leaf in group.leaves())
        )
        return scheduled + len(placed.assignments)

    def normalize_placement_scores(
        self, state: CycleState, group: PodGroupInfo, scores: Sequence[PlacementScore]
    ) -> Status | None:
        greatest = max((score.score for score in scores), default=0)
        if greatest == 0:
            return error(ERR_NO_PODS)
        for score in scores:
            score.score = score.score * MAX_NODE_SCORE // greatest
        return None
