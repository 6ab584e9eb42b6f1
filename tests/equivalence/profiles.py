# SPDX-License-Identifier: Apache-2.0
"""Configurations that make the in-tree plugins behave otherwise than by default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st
from tests.equivalence.vocabulary import GPU, HOSTNAME, ZONE

Args = Mapping[str, Any]


def _plugin_config(*entries: tuple[str, Args]) -> list[dict[str, Any]]:
    return [{"name": name, "args": args} for name, args in entries]


def configuration(
    plugin_config: Sequence[Mapping[str, Any]] = (), plugins: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    profile: dict[str, Any] = {"schedulerName": "default-scheduler", "pluginConfig": list(plugin_config)}
    if plugins:
        profile["plugins"] = plugins
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }


MOST_ALLOCATED = configuration(
    _plugin_config(
        (
            "NodeResourcesFit",
            {
                "ignoredResources": ["example.com/other"],
                "scoringStrategy": {
                    "type": "MostAllocated",
                    "resources": [{"name": "cpu", "weight": 3}, {"name": GPU, "weight": 2}],
                },
            },
        ),
        (
            "NodeResourcesBalancedAllocation",
            {"resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}, {"name": GPU, "weight": 1}]},
        ),
    )
)
CAPACITY_RATIO = configuration(
    _plugin_config(
        (
            "NodeResourcesFit",
            {
                "scoringStrategy": {
                    "type": "RequestedToCapacityRatio",
                    "resources": [{"name": "cpu", "weight": 1}, {"name": GPU, "weight": 5}],
                    "requestedToCapacityRatio": {
                        "shape": [{"utilization": 0, "score": 10}, {"utilization": 70, "score": 0}]
                    },
                }
            },
        )
    )
)
ADDED_AFFINITY = configuration(
    _plugin_config(
        (
            "NodeAffinity",
            {
                "addedAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [{"matchExpressions": [{"key": "size", "operator": "DoesNotExist"}]}]
                    },
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {
                            "weight": 30,
                            "preference": {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]},
                        }
                    ],
                }
            },
        )
    )
)
LISTED_DEFAULT_CONSTRAINTS = configuration(
    _plugin_config(
        (
            "PodTopologySpread",
            {
                "defaultingType": "List",
                "defaultConstraints": [
                    {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"},
                    {"maxSkew": 2, "topologyKey": HOSTNAME, "whenUnsatisfiable": "ScheduleAnyway"},
                ],
            },
        ),
        ("InterPodAffinity", {"hardPodAffinityWeight": 50, "ignorePreferredTermsOfExistingPods": True}),
    )
)
FEWER_PLUGINS = configuration(
    _plugin_config(("InterPodAffinity", {"hardPodAffinityWeight": 0})),
    {
        "multiPoint": {
            "enabled": [{"name": "TaintToleration", "weight": 50}],
            "disabled": [{"name": "TaintToleration"}, {"name": "NodePorts"}],
        },
        "filter": {"disabled": [{"name": "PodTopologySpread"}]},
        "score": {"disabled": [{"name": "ImageLocality"}]},
    },
)

configurations = st.sampled_from(
    [MOST_ALLOCATED, CAPACITY_RATIO, ADDED_AFFINITY, LISTED_DEFAULT_CONSTRAINTS, FEWER_PLUGINS]
)
