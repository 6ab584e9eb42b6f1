# SPDX-License-Identifier: Apache-2.0
"""Plugin arguments are validated with kube-scheduler's texts."""

from __future__ import annotations

import pytest
from tests.config.documents import with_args
from tests.config.failures import validation_texts

from steersman.config import ConfigError, FeatureGates, KubeSchedulerProfile, PluginConfig, SchedulerConfiguration, load
from steersman.config.validation import configuration_errors

_ARGS = "profiles[0].pluginConfig[0].args."


@pytest.mark.parametrize(
    ("plugin", "args", "texts"),
    [
        (
            "DefaultPreemption",
            "{minCandidateNodesPercentage: -1, minCandidateNodesAbsolute: -1}",
            [
                "minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)",
                "minCandidateNodesPercentage: Invalid value: -1: not in valid range [0, 100]",
            ],
        ),
        (
            "DefaultPreemption",
            "{minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}",
            [
                "minCandidateNodesAbsolute: Invalid value: 0: cannot be zero at the same time as minCandidateNodesPercentage",
                "minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same time as minCandidateNodesAbsolute",
            ],
        ),
        (
            "InterPodAffinity",
            "{hardPodAffinityWeight: 101}",
            ["hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]"],
        ),
        (
            "DynamicResources",
            "{filterTimeout: -1s, bindingTimeout: 999ms}",
            [
                'bindingTimeout: Invalid value: "999ms": must be at least 1 second',
                'filterTimeout: Invalid value: "-1s": must be zero or positive',
            ],
        ),
        (
            "NodeResourcesBalancedAllocation",
            "{resources: [{name: cpu, weight: 2}, {name: cpu}]}",
            ["resources[0].weight: Invalid value: 2: must be 1", 'resources[1].name: Duplicate value: "cpu"'],
        ),
        (
            "VolumeBinding",
            "{bindTimeoutSeconds: -1}",
            ["bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative value"],
        ),
        (
            "PodTopologySpread",
            "{defaultingType: list}",
            ['defaultingType: Unsupported value: "list": supported values: "System", "List"'],
        ),
        (
            "PodTopologySpread",
            "{defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]}",
            ['defaultingType: Invalid value: "System": when .defaultConstraints are not empty'],
        ),
        (
            "PodTopologySpread",
            "{defaultingType: List, defaultConstraints: [{labelSelector: {}}]}",
            [
                "defaultConstraints[0].labelSelector: Forbidden: constraint must not define a selector, "
                "as they deduced for each pod",
                "defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)",
                "defaultConstraints[0].topologyKey: Required value: can not be empty",
                "defaultConstraints[0].whenUnsatisfiable: Required value: can not be empty",
            ],
        ),
    ],
)
def test_bad_arguments_are_named(plugin: str, args: str, texts: list[str]) -> None:
    assert validation_texts(with_args(plugin, args)) == [_ARGS + text for text in texts]


def test_repeated_default_constraints_are_refused() -> None:
    constraint = "{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}"
    args = f"{{defaultingType: List, defaultConstraints: [{constraint}, {constraint}]}}"
    assert validation_texts(with_args("PodTopologySpread", args)) == [
        _ARGS + 'defaultConstraints[1]: Duplicate value: "{zone, DoNotSchedule}"'
    ]


def test_arguments_of_node_resources_fit_pass_validation() -> None:
    load(with_args("NodeResourcesFit", "{scoringStrategy: {type: Nonsense}}"))


def test_fields_of_features_that_are_off_are_forbidden() -> None:
    gates = FeatureGates({"DRASchedulerFilterTimeout": False})
    with pytest.raises(
        ConfigError, match="filterTimeout: Forbidden: DRASchedulingFilterTimeout feature gate is disabled"
    ):
        load(with_args("DynamicResources", "{filterTimeout: 5s}"), gates=gates)


def test_a_shape_of_storage_capacity_scoring_without_its_gate_is_refused() -> None:
    with pytest.raises(ConfigError, match="unexpected field `shape`, remove it or turn on the feature gate Storage"):
        load(with_args("VolumeBinding", "{shape: []}"), gates=FeatureGates(version="1.36"))


def test_arguments_of_the_wrong_type_are_refused_in_a_configuration_made_by_a_program() -> None:
    profile = KubeSchedulerProfile(plugin_config=(PluginConfig(name="NodeAffinity", args={"x": 1}),))
    (error,) = configuration_errors(SchedulerConfiguration(profiles=(profile,)))
    assert (error.field, error.detail) == ("profiles[0].pluginConfig[0].args", "has to match plugin args")
