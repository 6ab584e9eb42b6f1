# SPDX-License-Identifier: Apache-2.0
"""The extension points of pod groups in a profile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import pytest
from tests.runtime.test_profiles import Order

from steersman.base import ManualClock
from steersman.config import FeatureGates, default_configuration
from steersman.framework import CycleAborted, CycleState, Plugin, PodGroupAssignments, PodGroupInfo, Status, error
from steersman.scheduler.assembly import SchedulerOptions
from steersman.scheduler.runtime.profile import PluginRef, Profile, ProfileSpec, build
from steersman.scheduler.what_if import isolated_scheduler

GROUPS = {"GenericWorkload": True}
TOPOLOGY = {**GROUPS, "TopologyAwareWorkloadScheduling": True}


class Scores(Plugin):
    name = "Scores"

    def __init__(self, answer: object) -> None:
        self._answer = answer

    def score_placement(self, group: object, placed: object) -> object:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def default_profile(changed: Mapping[str, bool]) -> Profile:
    gates = FeatureGates(changed, "1.37")
    options = SchedulerOptions(default_configuration(gates), gates)
    return isolated_scheduler(options, ManualClock()).profiles["default-scheduler"]


def profile_with(plugin: Plugin, gates: FeatureGates) -> Profile:
    points = {"queueSort": [PluginRef("Order")], "placementScore": [PluginRef(plugin.name, 3)]}
    return build(ProfileSpec("test", points), {"Order": Order(), plugin.name: plugin}, gates=gates)


def score(answer: object) -> int:
    (call,) = profile_with(Scores(answer), FeatureGates(GROUPS, "1.37")).placement_score
    return call.run(CycleState(), cast(PodGroupInfo, None), cast(PodGroupAssignments, None))


def test_the_default_profile_schedules_groups_with_their_gates() -> None:
    profile = default_profile(TOPOLOGY)
    assert [call.name for call in profile.placement_generate] == ["TopologyPlacementGenerator"]
    assert [call.name for call in profile.placement_feasible] == ["GangScheduling"]
    assert [(call.name, call.weight) for call in profile.placement_score] == [
        ("NodeResourcesFit", 1),
        ("PodGroupPodsCount", 1),
    ]
    assert [call.name for call in profile.pod_group_post_filter] == ["DynamicResources", "DefaultPreemption"]
    assert [call.name for call in profile.permit] == ["GangScheduling"]


def test_without_the_gate_of_topology_groups_have_one_placement() -> None:
    assert default_profile(GROUPS).placement_generate == ()


def test_without_the_gate_of_groups_their_points_are_empty() -> None:
    profile = default_profile({})
    assert not profile.placement_feasible
    assert not profile.placement_score
    assert not profile.pod_group_post_filter
    assert not profile_with(Scores(1), FeatureGates(version="1.37")).placement_score


def test_a_placement_score_has_the_weight_of_the_configuration() -> None:
    (call,) = profile_with(Scores(7), FeatureGates(GROUPS, "1.37")).placement_score
    assert call.weight == 3
    assert call.normalize is None
    assert score(7) == 7


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (error("broken"), "broken"),
        (ValueError("broken"), "ValueError: broken"),
        ("many", "score_placement() returned 'many', expected an int"),
    ],
)
def test_a_failed_placement_score_names_the_plugin(answer: Status | Exception | str, message: str) -> None:
    with pytest.raises(CycleAborted) as aborted:
        score(answer)
    expected = f'running PlacementScore plugins: plugin "Scores" failed with: {message}'
    assert aborted.value.status.message.startswith(expected)
    assert aborted.value.status.plugin == "Scores"
