# SPDX-License-Identifier: Apache-2.0
"""Priorities become score plugins with weights."""

from __future__ import annotations

import pytest
from tests.config.policy.conversions import converted, refused, running

from steersman.config import (
    DefaultingType,
    ExtensionPoint,
    InterPodAffinityArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    ScoringStrategyType,
)


def _priorities(*entries: str) -> str:
    return f"predicates: []\npriorities: [{', '.join(entries)}]\n"


def test_without_priorities_the_defaults_of_old_run() -> None:
    assert running("").score_weights == {
        "NodeResourcesBalancedAllocation": 1,
        "PodTopologySpread": 2,
        "ImageLocality": 1,
        "InterPodAffinity": 1,
        "NodeResourcesFit": 1,
        "NodeAffinity": 1,
        "TaintToleration": 1,
    }


def test_of_the_defaults_only_preferring_to_avoid_pods_is_lost_and_that_is_reported() -> None:
    lost = [warning for warning in converted("").warnings if "left out" in warning]
    assert [warning.partition(" is left out")[0] for warning in lost] == [
        "default priorities: NodePreferAvoidPodsPriority"
    ]


@pytest.mark.parametrize(
    ("priority", "plugin"),
    [
        ("BalancedResourceAllocation", "NodeResourcesBalancedAllocation"),
        ("EvenPodsSpreadPriority", "PodTopologySpread"),
        ("ImageLocalityPriority", "ImageLocality"),
        ("InterPodAffinityPriority", "InterPodAffinity"),
        ("LeastRequestedPriority", "NodeResourcesFit"),
        ("MostRequestedPriority", "NodeResourcesFit"),
        ("NodeAffinityPriority", "NodeAffinity"),
        ("SelectorSpreadPriority", "PodTopologySpread"),
        ("ServiceSpreadingPriority", "PodTopologySpread"),
        ("TaintTolerationPriority", "TaintToleration"),
    ],
)
def test_each_priority_has_its_plugin_and_weight(priority: str, plugin: str) -> None:
    profile = running(_priorities(f"{{name: {priority}, weight: 7}}"))
    assert profile.score_weights == {plugin: 7}
    assert plugin not in profile.plugins_at(ExtensionPoint.FILTER) or plugin == "TaintToleration"


@pytest.mark.parametrize(
    ("priority", "strategy"),
    [
        ("LeastRequestedPriority", ScoringStrategyType.LEAST_ALLOCATED),
        ("MostRequestedPriority", ScoringStrategyType.MOST_ALLOCATED),
    ],
)
def test_requested_priorities_are_strategies_of_the_fit_plugin(priority: str, strategy: ScoringStrategyType) -> None:
    args = running(_priorities(f"{{name: {priority}, weight: 1}}")).args["NodeResourcesFit"]
    assert isinstance(args, NodeResourcesFitArgs)
    assert args.scoring_strategy is not None
    assert args.scoring_strategy.type == strategy


def test_a_capacity_ratio_keeps_shape_and_resources() -> None:
    ratio = "{shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}], resources: [{name: a/b, weight: 3}]}"
    entry = f"{{name: Mine, weight: 2, argument: {{requestedToCapacityRatioArguments: {ratio}}}}}"
    profile = running(_priorities(entry))
    args = profile.args["NodeResourcesFit"]
    assert isinstance(args, NodeResourcesFitArgs)
    strategy = args.scoring_strategy
    assert strategy is not None
    assert strategy.requested_to_capacity_ratio is not None
    assert [(point.utilization, point.score) for point in strategy.requested_to_capacity_ratio.shape] == [
        (0, 0),
        (100, 10),
    ]
    assert [(resource.name, resource.weight) for resource in strategy.resources] == [("a/b", 3)]
    assert profile.score_weights == {"NodeResourcesFit": 2}


@pytest.mark.parametrize(
    ("priority", "defaulting"),
    [("SelectorSpreadPriority", DefaultingType.SYSTEM), ("EvenPodsSpreadPriority", DefaultingType.LIST)],
)
def test_only_selector_spreading_brings_the_system_defaults(priority: str, defaulting: DefaultingType) -> None:
    args = running(_priorities(f"{{name: {priority}, weight: 1}}")).args["PodTopologySpread"]
    assert args == PodTopologySpreadArgs(defaulting_type=defaulting)


def test_of_two_weights_for_one_plugin_the_first_by_name_counts_and_that_is_reported() -> None:
    body = _priorities("{name: SelectorSpreadPriority, weight: 3}", "{name: EvenPodsSpreadPriority, weight: 2}")
    assert running(body).score_weights == {"PodTopologySpread": 2}
    assert (
        "priorities: SelectorSpreadPriority: PodTopologySpread keeps weight 2, 3 is left out"
        in converted(body).warnings
    )


def test_the_symmetric_weight_goes_to_inter_pod_affinity() -> None:
    body = _priorities("{name: InterPodAffinityPriority, weight: 1}") + "hardPodAffinitySymmetricWeight: 33\n"
    assert running(body).args["InterPodAffinity"] == InterPodAffinityArgs(hard_pod_affinity_weight=33)


def test_a_symmetric_weight_without_the_priority_is_told_to_have_no_effect() -> None:
    warnings = converted("predicates: []\npriorities: []\nhardPodAffinitySymmetricWeight: 33\n").warnings
    assert "hardPodAffinitySymmetricWeight: has no effect without InterPodAffinityPriority" in warnings


@pytest.mark.parametrize(
    "entry",
    [
        "{name: EqualPriority, weight: 1}",
        "{name: NodePreferAvoidPodsPriority, weight: 1}",
        "{name: Mine, weight: 1, argument: {serviceAntiAffinity: {label: zone}}}",
        "{name: Mine, weight: 1, argument: {labelPreference: {label: zone, presence: true}}}",
    ],
)
def test_preferences_that_cannot_be_kept_are_reported(entry: str) -> None:
    conversion = converted(_priorities(entry))
    assert any(warning.startswith("priorities[0]: ") and "left out" in warning for warning in conversion.warnings)
    assert running(_priorities(entry)).score_weights == {}


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        (["{name: Nonsense, weight: 1}"], "priority type not found"),
        (["{name: ImageLocalityPriority}"], "should have a positive weight"),
        (["{name: ImageLocalityPriority, weight: 2147483648}"], "should have a positive weight"),
        (["{name: RequestedToCapacityRatio, weight: 1}"], "with a shape are required"),
        (["{name: Mine, weight: 1, argument: {}}"], "exactly 1 priority argument is required"),
        (
            ["{name: Mine, weight: 1, argument: {requestedToCapacityRatioArguments: {}}}"],
            "at least one point must be specified",
        ),
        (
            ["{name: LeastRequestedPriority, weight: 1}", "{name: MostRequestedPriority, weight: 1}"],
            "NodeResourcesFit scores by one strategy only",
        ),
    ],
)
def test_priorities_that_make_no_sense_are_errors(entries: list[str], reason: str) -> None:
    (line,) = refused(_priorities(*entries))
    assert reason in line


def test_a_symmetric_weight_out_of_range_is_an_error() -> None:
    assert refused("hardPodAffinitySymmetricWeight: 101\n") == [
        "policy.yaml: hardPodAffinitySymmetricWeight: Invalid value: 101: not in valid range [0-100]"
    ]
