# SPDX-License-Identifier: Apache-2.0
"""Defaulting: completes a decoded document to a configuration.

Input is the `DecodedDocument` of `documents`. Most defaults are those of the Structs themselves;
this module has those that depend on other fields or on feature gates: profiles, their plugins
merged with the defaults of `plugins.in_tree`, and the arguments of all enabled plugins. MultiPoint
plugins stay; `effective_configuration` expands them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from steersman.api import DEFAULT_SCHEDULER_NAME, Duration
from steersman.config.configuration import (
    ALL_PLUGINS,
    ClientConnection,
    ExtensionPoint,
    KubeSchedulerProfile,
    LeaderElectionConfiguration,
    PluginConfig,
    PluginEntry,
    Plugins,
    PluginSet,
    SchedulerConfiguration,
)
from steersman.config.feature_gates import FeatureGates
from steersman.config.plugins.arguments import PluginArgs
from steersman.config.plugins.in_tree import ARGS_TYPES, default_multi_point

_UNDEFAULTED: Final = SchedulerConfiguration(
    parallelism=0,
    leader_election=LeaderElectionConfiguration(
        leader_elect=False,
        lease_duration=Duration(0),
        renew_deadline=Duration(0),
        retry_period=Duration(0),
        resource_lock="",
        resource_name="",
        resource_namespace="",
    ),
    client_connection=ClientConnection(content_type="", qps=0.0, burst=0),
    enable_profiling=False,
    enable_contention_profiling=False,
    percentage_of_nodes_to_score=None,
    pod_initial_backoff_seconds=0,
    pod_max_backoff_seconds=0,
)
"""The configuration of a document of the internal version, which gets no defaults."""


class DecodedDocument(msgspec.Struct, frozen=True):
    """The values that a document gives. Documents of the `internal` version get no defaults."""

    values: Mapping[str, Any]
    internal: bool = False


def with_defaults(document: DecodedDocument, gates: FeatureGates) -> SchedulerConfiguration:
    if document.internal:
        return _UNDEFAULTED
    values = dict(document.values)
    values["profiles"] = _profiles(values.get("profiles", ()), gates)
    profiling = values.get("enable_profiling", True)
    values.setdefault("enable_contention_profiling", profiling)
    return SchedulerConfiguration(**values)


def default_args(name: str, gates: FeatureGates) -> PluginArgs | None:
    """Return the default arguments of an in-tree plugin; `None` if it takes none."""
    if name not in ARGS_TYPES:
        return None
    args = ARGS_TYPES[name].table().zero()
    assert isinstance(args, PluginArgs)
    return args.with_gated_defaults(gates)


def _profiles(documents: Sequence[Mapping[str, Any]], gates: FeatureGates) -> tuple[KubeSchedulerProfile, ...]:
    """Complete the profiles. A single one has a default name; validation requires all others."""
    documents = documents or ({},)
    unnamed = DEFAULT_SCHEDULER_NAME if len(documents) == 1 else ""
    return tuple(_profile({"scheduler_name": unnamed, **document}, gates) for document in documents)


def _profile(values: Mapping[str, Any], gates: FeatureGates) -> KubeSchedulerProfile:
    plugins = merged_plugins(values.get("plugins"), gates)
    given = tuple(_plugin_config(entry, gates) for entry in values.get("plugin_config", ()))
    missing = sorted(plugins.enabled_names() - {entry.name for entry in given})
    added = tuple(
        PluginConfig(name=name, args=args) for name in missing if (args := default_args(name, gates)) is not None
    )
    return KubeSchedulerProfile(
        scheduler_name=values["scheduler_name"],
        percentage_of_nodes_to_score=values.get("percentage_of_nodes_to_score"),
        plugins=plugins,
        plugin_config=given + added,
    )


def _plugin_config(entry: Mapping[str, Any], gates: FeatureGates) -> PluginConfig:
    args = entry.get("args")
    if isinstance(args, PluginArgs):
        args = args.with_gated_defaults(gates)
    return PluginConfig(name=entry.get("name", ""), args=args)


# -- the default plugins -----------------------------------------------------------------------------------------------


def merged_plugins(custom: Plugins | None, gates: FeatureGates) -> Plugins:
    """Return a profile's plugins; only MultiPoint is merged with the defaults."""
    defaults = PluginSet(enabled=default_multi_point(gates))
    if custom is None:
        return Plugins(multi_point=defaults)
    sections = {point.name.lower(): merged_set(PluginSet(), custom.plugins_at(point)) for point in ExtensionPoint}
    return Plugins(multi_point=merged_set(defaults, custom.multi_point), **sections)


def merged_set(defaults: PluginSet, custom: PluginSet) -> PluginSet:
    """Merge a section with its defaults: a default that is enabled again keeps its position with
    the new weight, other plugins are appended."""
    disabled = tuple(PluginEntry(name=plugin.name) for plugin in (*custom.disabled, *defaults.disabled))
    disabled_names = {plugin.name for plugin in disabled}
    last_position = {plugin.name: position for position, plugin in enumerate(custom.enabled)}
    enabled: list[PluginEntry] = []
    replacing: set[int] = set()
    for default in defaults.enabled if ALL_PLUGINS not in disabled_names else ():
        if default.name in disabled_names:
            continue
        position = last_position.get(default.name)
        if position is not None:
            replacing.add(position)
        enabled.append(default if position is None else custom.enabled[position])
    enabled += [plugin for position, plugin in enumerate(custom.enabled) if position not in replacing]
    return PluginSet(enabled=tuple(enabled), disabled=disabled)
