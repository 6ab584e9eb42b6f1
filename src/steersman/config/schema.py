# SPDX-License-Identifier: Apache-2.0
"""The v1 types as tables: field name in the document, attribute in the typed configuration, kind of value.

`documents` decodes by them (strictly: a field that is not here is unknown) and prints by them. Two tables make plain dicts
rather than finished objects, the configuration and its profiles: their defaults depend on each other and on feature gates,
and `defaults` completes them.
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
from steersman.config.configuration import (
    CONFIGURATION_KIND,
    ClientConnection,
    ConfigStruct,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    Extender,
    ExtenderManagedResource,
    ExtenderTLSConfig,
    ExtensionPoint,
    InterPodAffinityArgs,
    LeaderElectionConfiguration,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PluginEntry,
    Plugins,
    PluginSet,
    PodTopologySpreadArgs,
    RequestedToCapacityRatioParam,
    ResourceSpec,
    ScoringStrategy,
    UtilizationShapePoint,
    VolumeBindingArgs,
)
from steersman.config.document_tree import PlainValue
from steersman.config.field_kinds import (
    BOOL,
    DURATION,
    INT32,
    INT64,
    TEXT,
    TEXTS,
    UNWRITTEN_LIST,
    Base64,
    DurationText,
    Field,
    Float32,
    ListOf,
    MapOf,
    ObjectOf,
    Printed,
    Raw,
    always,
    header,
    zero_is_default,
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


LEADER_ELECTION: Final = ObjectOf(
    LeaderElectionConfiguration,
    {
        "leaderElect": always("leader_elect", BOOL),
        "leaseDuration": zero_is_default("lease_duration", DURATION),
        "renewDeadline": zero_is_default("renew_deadline", DURATION),
        "retryPeriod": zero_is_default("retry_period", DURATION),
        "resourceLock": zero_is_default("resource_lock", TEXT),
        "resourceName": zero_is_default("resource_name", TEXT),
        "resourceNamespace": zero_is_default("resource_namespace", TEXT),
    },
)

CLIENT_CONNECTION: Final = ObjectOf(
    ClientConnection,
    {
        "kubeconfig": always("kubeconfig", TEXT),
        "acceptContentTypes": always("accept_content_types", TEXT),
        "contentType": zero_is_default("content_type", TEXT),
        "qps": zero_is_default("qps", Float32()),
        "burst": zero_is_default("burst", INT32),
    },
)

PLUGIN: Final = ObjectOf(PluginEntry, {"name": always("name", TEXT), "weight": always("weight", INT32)})
PLUGIN_SET: Final = ObjectOf(
    PluginSet, {"enabled": Field("enabled", ListOf(PLUGIN)), "disabled": Field("disabled", ListOf(PLUGIN))}
)
PLUGINS: Final = ObjectOf(
    Plugins,
    {
        **{point.value: always(point.name.lower(), PLUGIN_SET) for point in ExtensionPoint},
        "multiPoint": always("multi_point", PLUGIN_SET),
    },
)
PLUGIN_CONFIG: Final = ObjectOf(dict, {"name": always("name", TEXT), "args": always("args", PLUGIN_ARGS)})
PROFILE: Final = ObjectOf(
    dict,
    {
        "schedulerName": always("scheduler_name", TEXT),
        "percentageOfNodesToScore": Field("percentage_of_nodes_to_score", INT32, printed=Printed.UNLESS_NONE),
        "plugins": Field("plugins", PLUGINS),
        "pluginConfig": Field("plugin_config", ListOf(PLUGIN_CONFIG)),
    },
)

MANAGED_RESOURCE: Final = ObjectOf(
    ExtenderManagedResource,
    {"name": always("name", TEXT), "ignoredByScheduler": Field("ignored_by_scheduler", BOOL)},
)
TLS_CONFIG: Final = ObjectOf(
    ExtenderTLSConfig,
    {
        "insecure": Field("insecure", BOOL),
        "serverName": Field("server_name", TEXT),
        "certFile": Field("cert_file", TEXT),
        "keyFile": Field("key_file", TEXT),
        "caFile": Field("ca_file", TEXT),
        "certData": Field("cert_data", Base64()),
        "keyData": Field("key_data", Base64()),
        "caData": Field("ca_data", Base64()),
    },
)
EXTENDER: Final = ObjectOf(
    Extender,
    {
        "urlPrefix": always("url_prefix", TEXT),
        "filterVerb": Field("filter_verb", TEXT),
        "preemptVerb": Field("preempt_verb", TEXT),
        "prioritizeVerb": Field("prioritize_verb", TEXT),
        "weight": Field("weight", INT64),
        "bindVerb": Field("bind_verb", TEXT),
        "enableHTTPS": Field("enable_https", BOOL),
        "tlsConfig": Field("tls_config", TLS_CONFIG),
        "httpTimeout": always("http_timeout", DURATION),
        "nodeCacheCapable": Field("node_cache_capable", BOOL),
        "managedResources": Field("managed_resources", ListOf(MANAGED_RESOURCE)),
        "ignorable": Field("ignorable", BOOL),
    },
)

CONFIGURATION: Final = ObjectOf(
    dict,
    {
        "parallelism": always("parallelism", INT32),
        "leaderElection": always("leader_election", LEADER_ELECTION),
        "clientConnection": always("client_connection", CLIENT_CONNECTION),
        "enableProfiling": Field("enable_profiling", BOOL, printed=Printed.ALWAYS, embedded="DebuggingConfiguration"),
        "enableContentionProfiling": Field(
            "enable_contention_profiling", BOOL, printed=Printed.ALWAYS, embedded="DebuggingConfiguration"
        ),
        "percentageOfNodesToScore": Field("percentage_of_nodes_to_score", INT32, printed=Printed.UNLESS_NONE),
        "podInitialBackoffSeconds": always("pod_initial_backoff_seconds", INT64),
        "podMaxBackoffSeconds": always("pod_max_backoff_seconds", INT64),
        "profiles": Field("profiles", ListOf(PROFILE)),
        "extenders": Field("extenders", ListOf(EXTENDER)),
        "delayCacheUntilActive": Field("delay_cache_until_active", BOOL),
    },
    header=header(CONFIGURATION_KIND),
)
