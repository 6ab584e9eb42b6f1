# SPDX-License-Identifier: Apache-2.0
"""The v1 types as tables: field name in documents, attribute in the configuration, kind of value.

`documents` decodes and prints by these tables (strictly: other fields are unknown). Plugin
arguments declare their own tables (`plugins.arguments`). Two tables create plain dicts instead of
objects, the configuration and its profiles: their defaults depend on each other and on feature
gates, and `defaults` completes them.
"""

from __future__ import annotations

from functools import cache
from typing import Final, cast

from steersman.config.configuration import (
    CONFIGURATION_KIND,
    ClientConnection,
    Extender,
    ExtenderManagedResource,
    ExtenderTLSConfig,
    ExtensionPoint,
    LeaderElectionConfiguration,
    PluginEntry,
    Plugins,
    PluginSet,
    points_of,
)
from steersman.config.document_tree import PlainValue
from steersman.config.field_kinds import (
    BOOL,
    DURATION,
    INT32,
    INT64,
    TEXT,
    Base64,
    Field,
    Float32,
    ListOf,
    ObjectOf,
    Printed,
    Raw,
    always,
    header,
    zero_is_default,
)
from steersman.config.plugins.arguments import PluginArgs
from steersman.config.versions import V1_36, KubernetesVersion


class _PluginArgs(Raw, frozen=True):
    """Plugin arguments: decoded as raw, since the type depends on the plugin, printed as typed."""

    def encode(self, value: object) -> PlainValue:
        if isinstance(value, PluginArgs):
            return value.table().encode(value)
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
        **{point.value: always(point.name.lower(), PLUGIN_SET) for point in points_of(V1_36)},
        ExtensionPoint.POD_GROUP_POST_FILTER.value: Field(
            "pod_group_post_filter", PLUGIN_SET, printed=Printed.UNLESS_DEFAULT
        ),
        "multiPoint": always("multi_point", PLUGIN_SET),
    },
)
PLUGIN_CONFIG: Final = ObjectOf(dict, {"name": always("name", TEXT), "args": always("args", PLUGIN_ARGS)})


def _profile(plugins: ObjectOf) -> ObjectOf:
    return ObjectOf(
        dict,
        {
            "schedulerName": always("scheduler_name", TEXT),
            "percentageOfNodesToScore": Field("percentage_of_nodes_to_score", INT32, printed=Printed.UNLESS_NONE),
            "plugins": Field("plugins", plugins),
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


def _configuration(plugins: ObjectOf) -> ObjectOf:
    return ObjectOf(
        dict,
        {
            "parallelism": always("parallelism", INT32),
            "leaderElection": always("leader_election", LEADER_ELECTION),
            "clientConnection": always("client_connection", CLIENT_CONNECTION),
            "enableProfiling": Field(
                "enable_profiling", BOOL, printed=Printed.ALWAYS, embedded="DebuggingConfiguration"
            ),
            "enableContentionProfiling": Field(
                "enable_contention_profiling", BOOL, printed=Printed.ALWAYS, embedded="DebuggingConfiguration"
            ),
            "percentageOfNodesToScore": Field("percentage_of_nodes_to_score", INT32, printed=Printed.UNLESS_NONE),
            "podInitialBackoffSeconds": always("pod_initial_backoff_seconds", INT64),
            "podMaxBackoffSeconds": always("pod_max_backoff_seconds", INT64),
            "profiles": Field("profiles", ListOf(_profile(plugins))),
            "extenders": Field("extenders", ListOf(EXTENDER)),
            "delayCacheUntilActive": Field("delay_cache_until_active", BOOL),
        },
        header=header(CONFIGURATION_KIND),
    )


CONFIGURATION: Final = _configuration(PLUGINS)
"""The fields of every version."""


@cache
def configuration_of(version: KubernetesVersion) -> ObjectOf:
    """Return the fields of a version: extension points that it lacks are unknown fields."""
    known = {"multiPoint", *(point.value for point in points_of(version))}
    return _configuration(ObjectOf(Plugins, {name: field for name, field in PLUGINS.fields.items() if name in known}))
