# SPDX-License-Identifier: Apache-2.0
"""What a document does not say has kube-scheduler's defaults."""

from __future__ import annotations

import pytest
from tests.config.documents import configuration, with_args, with_plugins

from steersman.api import Duration
from steersman.config import (
    ClientConnection,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    FeatureGates,
    InterPodAffinityArgs,
    LeaderElectionConfiguration,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    ResourceSpec,
    ScoringStrategy,
    VolumeBindingArgs,
    default_configuration,
    load,
)
from steersman.config.plugins.utilization_shape import UtilizationShapePoint


def test_a_document_with_only_a_header_is_the_default_configuration() -> None:
    assert load(configuration()) == default_configuration()


def test_the_default_configuration() -> None:
    config = default_configuration()
    assert config.parallelism == 16
    assert config.percentage_of_nodes_to_score == 0
    assert (config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds) == (1, 10)
    assert config.leader_election == LeaderElectionConfiguration(
        lease_duration=Duration.from_seconds(15),
        renew_deadline=Duration.from_seconds(10),
        retry_period=Duration.from_seconds(2),
    )
    assert config.client_connection == ClientConnection(qps=50, burst=100)
    assert [profile.scheduler_name for profile in config.profiles] == ["default-scheduler"]


def test_every_enabled_plugin_with_arguments_gets_its_defaults_sorted_by_name() -> None:
    (profile,) = default_configuration().profiles
    assert {entry.name: entry.args for entry in profile.plugin_config} == {
        "DefaultPreemption": DefaultPreemptionArgs(),
        "DynamicResources": DynamicResourcesArgs(),
        "InterPodAffinity": InterPodAffinityArgs(),
        "NodeAffinity": NodeAffinityArgs(),
        "NodeResourcesBalancedAllocation": NodeResourcesBalancedAllocationArgs(),
        "NodeResourcesFit": NodeResourcesFitArgs(),
        "PodTopologySpread": PodTopologySpreadArgs(),
        "VolumeBinding": VolumeBindingArgs(
            shape=(UtilizationShapePoint(utilization=0, score=10), UtilizationShapePoint(utilization=100, score=0))
        ),
    }
    names = [entry.name for entry in profile.plugin_config]
    assert names == sorted(names)


def test_given_arguments_keep_their_order_before_the_defaults() -> None:
    body = "profiles:\n- pluginConfig: [{name: VolumeBinding}, {name: Mine}, {name: DynamicResources}]\n"
    (profile,) = load(configuration(body)).profiles
    assert [entry.name for entry in profile.plugin_config][:4] == [
        "VolumeBinding",
        "Mine",
        "DynamicResources",
        "DefaultPreemption",
    ]


def test_plugins_that_are_not_enabled_get_no_arguments() -> None:
    document = with_plugins("multiPoint: {disabled: [{name: '*'}], enabled: [{name: NodeAffinity}]}\n")
    (profile,) = load(document).profiles
    assert [entry.name for entry in profile.plugin_config] == ["NodeAffinity"]


def test_zero_stands_for_the_default_in_connection_and_election() -> None:
    config = load(
        configuration("""
            clientConnection: {qps: 0, burst: 0, contentType: ''}
            leaderElection: {leaseDuration: 0s, resourceLock: '', resourceName: ''}
        """)
    )
    assert config.client_connection == ClientConnection()
    assert config.leader_election == LeaderElectionConfiguration()


def test_an_explicit_zero_of_other_fields_is_kept() -> None:
    config = load(configuration("podInitialBackoffSeconds: 1\nprofiles:\n- percentageOfNodesToScore: 0\n"))
    assert config.profiles[0].percentage_of_nodes_to_score == 0


@pytest.mark.parametrize(
    ("body", "profiling", "contention"),
    [
        ("", True, True),
        ("enableProfiling: false\n", False, False),
        ("enableProfiling: false\nenableContentionProfiling: true\n", False, True),
        ("enableContentionProfiling: false\n", True, False),
    ],
)
def test_contention_profiling_follows_profiling(body: str, profiling: bool, contention: bool) -> None:
    config = load(configuration(body))
    assert (config.enable_profiling, config.enable_contention_profiling) == (profiling, contention)


def test_resources_without_weight_weigh_one() -> None:
    strategy = (
        "scoringStrategy: {type: MostAllocated, resources: [{name: a}, {name: b, weight: 0}, {name: c, weight: 7}]}\n"
    )
    (profile,) = load(with_args("NodeResourcesFit", strategy)).profiles
    resources = (ResourceSpec(name="a"), ResourceSpec(name="b", weight=1), ResourceSpec(name="c", weight=7))
    expected = NodeResourcesFitArgs(scoring_strategy=ScoringStrategy(type="MostAllocated", resources=resources))
    assert profile.args("NodeResourcesFit", NodeResourcesFitArgs) == expected


def test_an_empty_list_of_resources_means_cpu_and_memory() -> None:
    (profile,) = load(with_args("NodeResourcesBalancedAllocation", "resources: []\n")).profiles
    args = profile.args("NodeResourcesBalancedAllocation", NodeResourcesBalancedAllocationArgs)
    assert [resource.name for resource in args.resources] == ["cpu", "memory"]


def test_a_feature_that_is_off_brings_no_timeout() -> None:
    gates = FeatureGates({"DRASchedulerFilterTimeout": False, "DRADeviceBindingConditions": False})
    (profile,) = default_configuration(gates).profiles
    args = profile.args("DynamicResources", DynamicResourcesArgs)
    assert (args.filter_timeout, args.binding_timeout) == (None, None)


def test_storage_capacity_scoring_brings_a_shape() -> None:
    (profile,) = default_configuration(FeatureGates({"StorageCapacityScoring": True})).profiles
    shape = profile.args("VolumeBinding", VolumeBindingArgs).shape
    assert shape is not None
    assert [(point.utilization, point.score) for point in shape] == [(0, 10), (100, 0)]


def test_feature_gates_add_default_plugins() -> None:
    gates = FeatureGates({"GenericWorkload": True, "TopologyAwareWorkloadScheduling": True})
    names = [plugin.name for plugin in default_configuration(gates).profiles[0].plugins.multi_point.enabled]
    assert names[-3:] == ["GangScheduling", "TopologyPlacementGenerator", "PodGroupPodsCount"]
