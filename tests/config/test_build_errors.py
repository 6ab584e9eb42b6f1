# SPDX-License-Identifier: Apache-2.0
"""The build stage finds what needs the registered plugins, in kube-scheduler's words."""

from __future__ import annotations

import pytest
from tests.config.documents import configuration, with_args, with_plugins
from tests.config.failures import build_text

from steersman.config import load

_PROFILE = "initializing profiles: creating profile for scheduler name default-scheduler: "


@pytest.mark.parametrize(
    ("plugins", "text"),
    [
        ("multiPoint: {enabled: [{name: Mine}]}", 'PreFilterPlugin "Mine" does not exist'),
        ("multiPoint: {enabled: [{name: EBSLimits}]}", 'PreFilterPlugin "EBSLimits" does not exist'),
        ("score: {enabled: [{name: '*'}]}", 'ScorePlugin "*" does not exist'),
        ("permit: {enabled: [{name: NodeName}]}", 'plugin "NodeName" does not extend PermitPlugin plugin'),
        (
            "filter: {enabled: [{name: NodeName}, {name: NodeName}]}",
            'plugin "NodeName" already registered as "FilterPlugin"',
        ),
        (
            "multiPoint: {enabled: [{name: NodeName}, {name: NodeName}]}",
            'plugin "NodeName" already registered as "PreFilterPlugin"',
        ),
        (
            "queueSort: {disabled: [{name: '*'}]}",
            'only one queue sort plugin required for profile with scheduler name "default-scheduler", but got 0',
        ),
        (
            "bind: {disabled: [{name: '*'}]}",
            'at least one bind plugin is needed for profile with scheduler name "default-scheduler"',
        ),
    ],
)
def test_plugins_that_cannot_run_are_refused(plugins: str, text: str) -> None:
    assert build_text(with_plugins(plugins)) == _PROFILE + text


def test_disabling_an_unknown_plugin_is_fine() -> None:
    load(with_plugins("filter: {disabled: [{name: Mine}]}"))


def test_arguments_of_the_fit_plugin_are_validated_here_with_relative_paths() -> None:
    assert build_text(
        with_args("NodeResourcesFit", "{scoringStrategy: {type: X, resources: [{name: a, weight: -1}]}}")
    ) == (
        f'{_PROFILE}initializing plugin "NodeResourcesFit": '
        '[scoringStrategy.type: Unsupported value: "X": supported values: '
        '"LeastAllocated", "MostAllocated", "RequestedToCapacityRatio", '
        "scoringStrategy.resources[0].weight: Invalid value: -1: resource weight of a not in valid range (0, 100]]"
    )


@pytest.mark.parametrize(
    ("strategy", "text"),
    [
        ("{type: RequestedToCapacityRatio}", "Required value: must be specified when type is RequestedToCapacityRatio"),
        (
            "{type: MostAllocated, requestedToCapacityRatio: {}}",
            "Forbidden: must be nil when type is not RequestedToCapacityRatio",
        ),
    ],
)
def test_a_strategy_and_its_parameters_must_fit(strategy: str, text: str) -> None:
    found = build_text(with_args("NodeResourcesFit", f"{{scoringStrategy: {strategy}}}"))
    assert found.endswith(f"scoringStrategy.requestedToCapacityRatio: {text}")


def test_a_shape_must_rise() -> None:
    points = "[{utilization: 50, score: 0}, {utilization: 50, score: 11}]"
    strategy = f"{{type: RequestedToCapacityRatio, requestedToCapacityRatio: {{shape: {points}}}}}"
    text = build_text(with_args("NodeResourcesFit", f"{{scoringStrategy: {strategy}}}"))
    assert "shape[1].utilization: Invalid value: 50: values must be sorted in increasing order" in text
    assert "shape[1].score: Invalid value: 11: not in valid range [0, 10]" in text


def test_queue_sort_arguments_must_be_the_same_in_all_profiles() -> None:
    body = """
        profiles:
        - schedulerName: a
          pluginConfig: [{name: PrioritySort, args: {x: 1}}]
        - schedulerName: b
    """
    text = 'initializing profiles: different queue sort plugin args for profile "b"'
    assert build_text(configuration(body)) == text
