# SPDX-License-Identifier: Apache-2.0
"""The v1 types of plugin arguments as tables, with the core types that occur in them.

Part of the tables in `schema`. `decoder` finds the table of an argument object by its kind.
"""

from __future__ import annotations

from typing import Final, cast

from steersman.api import (
    LabelSelector,
    LabelSelectorRequirement,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
    TopologySpreadConstraint,
)
from steersman.config.field_kinds import (
    BOOL,
    INT32,
    INT64,
    TEXT,
    TEXTS,
    UNWRITTEN_LIST,
    DurationText,
    Field,
    ListOf,
    MapOf,
    ObjectOf,
    Printed,
    Raw,
    always,
    header,
)
from steersman.config.json_tree import PlainValue
from steersman.config.plugin_args import (
    ConfigStruct,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    RequestedToCapacityRatioParam,
    ResourceSpec,
    ScoringStrategy,
    UtilizationShapePoint,
    VolumeBindingArgs,
)

_TIMEOUT: Final = DurationText(nullable=True)

NODE_SELECTOR_REQUIREMENT: Final = ObjectOf(
    NodeSelectorRequirement,
    {
        "key": always("key", TEXT),
        "operator": always("operator", TEXT),
        "values": Field("values", TEXTS, absent=UNWRITTEN_LIST),
    },
)
NODE_SELECTOR_TERM: Final = ObjectOf(
    NodeSelectorTerm,
    {
        "matchExpressions": Field("match_expressions", ListOf(NODE_SELECTOR_REQUIREMENT)),
        "matchFields": Field("match_fields", ListOf(NODE_SELECTOR_REQUIREMENT)),
    },
)
NODE_SELECTOR: Final = ObjectOf(
    NodeSelector,
    {
        "nodeSelectorTerms": Field(
            "node_selector_terms", ListOf(NODE_SELECTOR_TERM), printed=Printed.ALWAYS, absent=UNWRITTEN_LIST
        )
    },
)
NODE_AFFINITY: Final = ObjectOf(
    NodeAffinity,
    {
        "requiredDuringSchedulingIgnoredDuringExecution": Field(
            "required_during_scheduling_ignored_during_execution", NODE_SELECTOR
        ),
        "preferredDuringSchedulingIgnoredDuringExecution": Field(
            "preferred_during_scheduling_ignored_during_execution",
            ListOf(
                ObjectOf(
                    PreferredSchedulingTerm,
                    {"weight": always("weight", INT32), "preference": always("preference", NODE_SELECTOR_TERM)},
                )
            ),
        ),
    },
)
LABEL_SELECTOR: Final = ObjectOf(
    LabelSelector,
    {
        "matchLabels": Field("match_labels", MapOf(TEXT)),
        "matchExpressions": Field(
            "match_expressions",
            ListOf(
                ObjectOf(
                    LabelSelectorRequirement,
                    {
                        "key": always("key", TEXT),
                        "operator": always("operator", TEXT),
                        "values": Field("values", TEXTS),
                    },
                )
            ),
        ),
    },
)
TOPOLOGY_SPREAD_CONSTRAINT: Final = ObjectOf(
    TopologySpreadConstraint,
    {
        "maxSkew": always("max_skew", INT32),
        "topologyKey": always("topology_key", TEXT),
        "whenUnsatisfiable": always("when_unsatisfiable", TEXT),
        "labelSelector": Field("label_selector", LABEL_SELECTOR),
        "minDomains": Field("min_domains", INT32, printed=Printed.UNLESS_NONE),
        "nodeAffinityPolicy": Field("node_affinity_policy", TEXT, printed=Printed.UNLESS_NONE),
        "nodeTaintsPolicy": Field("node_taints_policy", TEXT, printed=Printed.UNLESS_NONE),
        "matchLabelKeys": Field("match_label_keys", TEXTS),
    },
)

SHAPE: Final = ListOf(
    ObjectOf(UtilizationShapePoint, {"utilization": always("utilization", INT32), "score": always("score", INT32)})
)
RESOURCES: Final = ListOf(
    ObjectOf(ResourceSpec, {"name": always("name", TEXT), "weight": Field("weight", INT64, zero_is_absent=True)})
)
SCORING_STRATEGY: Final = ObjectOf(
    ScoringStrategy,
    {
        "type": Field("type", TEXT, absent=""),
        "resources": Field("resources", RESOURCES, zero_is_absent=True),
        "requestedToCapacityRatio": Field(
            "requested_to_capacity_ratio", ObjectOf(RequestedToCapacityRatioParam, {"shape": Field("shape", SHAPE)})
        ),
    },
)

ARGS: Final[dict[str, ObjectOf]] = {
    "DefaultPreemptionArgs": ObjectOf(
        DefaultPreemptionArgs,
        {
            "minCandidateNodesPercentage": always("min_candidate_nodes_percentage", INT32),
            "minCandidateNodesAbsolute": always("min_candidate_nodes_absolute", INT32),
        },
        header=header("DefaultPreemptionArgs"),
    ),
    "DynamicResourcesArgs": ObjectOf(
        DynamicResourcesArgs,
        {
            "filterTimeout": Field("filter_timeout", _TIMEOUT, printed=Printed.ALWAYS, absent=None),
            "bindingTimeout": Field("binding_timeout", _TIMEOUT, printed=Printed.UNLESS_NONE, absent=None),
        },
        header=header("DynamicResourcesArgs"),
    ),
    "InterPodAffinityArgs": ObjectOf(
        InterPodAffinityArgs,
        {
            "hardPodAffinityWeight": always("hard_pod_affinity_weight", INT32),
            "ignorePreferredTermsOfExistingPods": always("ignore_preferred_terms_of_existing_pods", BOOL),
        },
        header=header("InterPodAffinityArgs"),
    ),
    "NodeAffinityArgs": ObjectOf(
        NodeAffinityArgs,
        {"addedAffinity": Field("added_affinity", NODE_AFFINITY)},
        header=header("NodeAffinityArgs"),
    ),
    "NodeResourcesBalancedAllocationArgs": ObjectOf(
        NodeResourcesBalancedAllocationArgs,
        {"resources": Field("resources", RESOURCES, zero_is_absent=True)},
        header=header("NodeResourcesBalancedAllocationArgs"),
    ),
    "NodeResourcesFitArgs": ObjectOf(
        NodeResourcesFitArgs,
        {
            "ignoredResources": Field("ignored_resources", TEXTS),
            "ignoredResourceGroups": Field("ignored_resource_groups", TEXTS),
            "scoringStrategy": Field("scoring_strategy", SCORING_STRATEGY),
        },
        header=header("NodeResourcesFitArgs"),
    ),
    "PodTopologySpreadArgs": ObjectOf(
        PodTopologySpreadArgs,
        {
            "defaultConstraints": Field("default_constraints", ListOf(TOPOLOGY_SPREAD_CONSTRAINT)),
            "defaultingType": Field("defaulting_type", TEXT, zero_is_absent=True),
        },
        header=header("PodTopologySpreadArgs"),
    ),
    "VolumeBindingArgs": ObjectOf(
        VolumeBindingArgs,
        {"bindTimeoutSeconds": always("bind_timeout_seconds", INT64), "shape": Field("shape", SHAPE)},
        header=header("VolumeBindingArgs"),
    ),
}
"""Kind of the arguments to their table."""


class _PluginArgs(Raw, frozen=True):
    """Arguments of any plugin: raw when read, because their type depends on the plugin's name, typed when printed."""

    def encode(self, value: object) -> PlainValue:
        if isinstance(value, ConfigStruct):
            return ARGS[type(value).__name__].encode(value)
        return cast(PlainValue, value)


PLUGIN_ARGS: Final = _PluginArgs()
