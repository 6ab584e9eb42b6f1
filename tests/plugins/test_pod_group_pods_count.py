# SPDX-License-Identifier: Apache-2.0
"""PodGroupPodsCount prefers placements that hold more members."""

from __future__ import annotations

from tests.plugins.group_handles import GroupHandle

from steersman.framework import (
    CycleState,
    Placement,
    PlacementScore,
    PodGroupAssignments,
    ProposedAssignment,
    error,
)
from steersman.scheduler.plugins.pod_group_pods_count import PodGroupPodsCount
from steersman.testing import make_composite_pod_group, make_pod, make_pod_group

RACK = Placement("r1", ("n1",))


def placed(number: int) -> PodGroupAssignments:
    pods = (make_pod(f"p{i}").info() for i in range(number))
    return PodGroupAssignments(RACK, tuple(ProposedAssignment(pod, "n1", CycleState()) for pod in pods))


def test_members_that_run_and_members_placed_count() -> None:
    gang = make_pod_group("gang").gang(1)
    handle = GroupHandle([gang], [make_pod("a").in_group("gang").node("n1"), make_pod("b").in_group("gang")])
    assert PodGroupPodsCount(None, handle).score_placement(CycleState(), handle.info(gang), placed(2)) == 3


def test_members_of_all_descendants_count() -> None:
    root = make_composite_pod_group("root").gang(1)
    leaves = [make_pod_group(name).gang(1).parent("root") for name in ("left", "right")]
    members = [make_pod(f"in-{name}").in_group(name).node("n1") for name in ("left", "right", "apart")]
    handle = GroupHandle([root, *leaves], members, gates={"CompositePodGroup": True})
    assert PodGroupPodsCount(None, handle).score_placement(CycleState(), handle.info(root), placed(1)) == 3


def test_the_greatest_number_scores_100() -> None:
    gang = make_pod_group("gang").gang(1)
    handle = GroupHandle([gang])
    scores = [PlacementScore(RACK, score) for score in (3, 2, 0)]
    plugin = PodGroupPodsCount(None, handle)
    assert plugin.normalize_placement_scores(CycleState(), handle.info(gang), scores) is None
    assert [score.score for score in scores] == [100, 66, 0]


def test_placements_without_any_member_are_an_error() -> None:
    gang = make_pod_group("gang").gang(1)
    handle = GroupHandle([gang])
    status = PodGroupPodsCount(None, handle).normalize_placement_scores(
        CycleState(), handle.info(gang), [PlacementScore(RACK, 0)]
    )
    assert status == error("no pods from pod group are assigned to any of the candidate placements")
