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
    assert str(change) == "leaderElection.retryPeriod: 2s -> 3s"


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


def test_the_same_plugins_and_weights_in_other_words_are_no_difference() -> None:
    in_other_words = with_plugins(
        "multiPoint: {enabled: [{name: ImageLocality}]}\nscore: {enabled: [{name: NodeAffinity, weight: 2}]}\n"
    )
    assert diff(load(configuration()), load(in_other_words)) == []


def test_the_order_of_profiles_arguments_and_resources_means_nothing() -> None:
    first = (
        "profiles: [{schedulerName: a, pluginConfig: [{name: NodeResourcesFit, args: {ignoredResources: [x/a, x/b]}}]}, "
        "{schedulerName: b}]\n"
    )
    second = (
        "profiles: [{schedulerName: b}, {schedulerName: a, pluginConfig: [{name: VolumeBinding, args: {}}, "
        "{name: NodeResourcesFit, args: {ignoredResources: [x/b, x/a], scoringStrategy: "
        "{type: LeastAllocated, resources: [{name: memory}, {name: cpu}]}}}]}]\n"
    )
    assert _paths(first, second) == []


def test_the_order_of_extenders_is_a_difference() -> None:
    one, two = ("{urlPrefix: 'http://a', filterVerb: f}", "{urlPrefix: 'http://b', filterVerb: f}")
    assert _paths(f"extenders: [{one}, {two}]\n", f"extenders: [{two}, {one}]\n") == ["extenders"]


def test_values_are_shown_as_a_configuration_file_has_them() -> None:
    changed = configuration("leaderElection: {leaderElect: false}\nprofiles: [{schedulerName: other}]\n")
    shown = [str(change) for change in diff(load(configuration()), load(changed))]
    assert shown[0] == "leaderElection.leaderElect: true -> false"
    assert "-> (not set)" in next(line for line in shown if line.startswith("profiles[default-scheduler]"))
    assert not [line for line in shown if "None" in line or "True" in line or "'" in line]


def test_plugins_that_are_not_known_are_compared_as_they_are_written() -> None:
    foreign = load(with_plugins("multiPoint: {enabled: [{name: Foreign}]}\n"))
    assert diff(foreign, foreign) == []
    assert [change.path for change in diff(load(configuration()), foreign)] == [
        "profiles[default-scheduler].plugins.multiPoint.enabled[Foreign]"
    ]
