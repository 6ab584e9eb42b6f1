# SPDX-License-Identifier: Apache-2.0
"""Two configurations are compared field by field, lists by the names of their items."""

from __future__ import annotations

from tests.config.documents import configuration, with_plugins

from steersman.config import diff, load


def _paths(before: str, after: str) -> list[str]:
    return [change.path for change in diff(load(configuration(before)), load(configuration(after)))]


def test_equal_configurations_have_no_difference() -> None:
    assert _paths("parallelism: 16\n", "") == []


def test_a_changed_field_is_shown_with_both_values() -> None:
    (change,) = diff(load(configuration()), load(configuration("leaderElection: {retryPeriod: 3s}\n")))
    assert str(change) == "leaderElection.retryPeriod: '2s' -> '3s'"


def test_profiles_are_matched_by_name() -> None:
    two = "profiles: [{schedulerName: a}, {schedulerName: b, percentageOfNodesToScore: 5}]\n"
    three = "profiles: [{schedulerName: new}, {schedulerName: a}, {schedulerName: b, percentageOfNodesToScore: 6}]\n"
    assert _paths(two, three) == ["profiles[b].percentageOfNodesToScore", "profiles[new]"]


def test_a_new_weight_is_a_change_of_that_plugin() -> None:
    changed = load(with_plugins("multiPoint: {enabled: [{name: NodeAffinity, weight: 9}]}\n"))
    (change,) = diff(load(configuration()), changed)
    assert change.path == "profiles[default-scheduler].plugins.multiPoint.enabled[NodeAffinity].weight"
    assert (change.before, change.after) == (2, 9)


def test_another_order_is_a_change_of_the_list() -> None:
    moved = with_plugins("multiPoint: {disabled: [{name: NodeName}], enabled: [{name: NodeName}]}\n")
    paths = [change.path for change in diff(load(configuration()), load(moved))]
    assert "profiles[default-scheduler].plugins.multiPoint.enabled" in paths
