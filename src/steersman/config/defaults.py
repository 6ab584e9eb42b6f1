# SPDX-License-Identifier: Apache-2.0
"""Defaulting: what a document says, completed to a configuration.

Takes the `DecodedDocument` that `documents` makes of a text. Most defaults are the defaults of the Structs themselves; here
are those that depend on other fields or on feature gates: profiles, their plugins merged with the default plugins of
`catalog`, and the arguments of every enabled plugin. Merged plugins still have MultiPoint plugins as such;
`effective_configuration` spreads them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from steersman.config.catalog import default_multi_point
from steersman.config.configuration import (
    ALL_PLUGINS,
    ARGS_TYPES,
    DEFAULT_SCHEDULER_NAME,
    MAX_CUSTOM_PRIORITY_SCORE,
    ClientConnection,
    DynamicResourcesArgs,
    ExtensionPoint,
    KubeSchedulerProfile,
    LeaderElectionConfiguration,
    PluginArgs,
    PluginConfig,
    PluginEntry,
    Plugins,
    PluginSet,
    SchedulerConfiguration,
    UtilizationShapePoint,
    VolumeBindingArgs,
)
from steersman.config.durations import Duration
from steersman.config.feature_gates import BINDING_CONDITION_GATES, FeatureGates
from steersman.config.schema import ARGS

_DEFAULT_SHAPE: Final = (
    UtilizationShapePoint(utilization=0, score=MAX_CUSTOM_PRIORITY_SCORE),
    UtilizationShapePoint(utilization=100, score=0),
)

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
"""A document of the internal version, which nothing is filled into."""


class DecodedDocument(msgspec.Struct, frozen=True):
    """The values that a document gives. With `internal` set it is of the version that gets no defaults."""

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
    """The arguments of an in-tree plugin when nobody gives any; `None` if it takes none."""
    if name not in ARGS_TYPES:
        return None
    args = _with_gated_defaults(ARGS[f"{name}Args"].zero(), gates)
    assert isinstance(args, ARGS_TYPES[name])
    return args


def _profiles(documents: Sequence[Mapping[str, Any]], gates: FeatureGates) -> tuple[KubeSchedulerProfile, ...]:
    """The profiles, completed. The only one may do without a name; several must have one each, and validation insists."""
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
    typed = isinstance(args, DynamicResourcesArgs | VolumeBindingArgs)
    return PluginConfig(name=entry.get("name", ""), args=_with_gated_defaults(args, gates) if typed else args)


def _with_gated_defaults(args: object, gates: FeatureGates) -> Any:
    """The arguments with the defaults that a feature brings while it is on."""
    if isinstance(args, DynamicResourcesArgs):
        return _dynamic_resources(args, gates)
    if isinstance(args, VolumeBindingArgs) and not args.shape and gates.enabled("StorageCapacityScoring"):
        return msgspec.structs.replace(args, shape=_DEFAULT_SHAPE)
    return args


def _dynamic_resources(args: DynamicResourcesArgs, gates: FeatureGates) -> DynamicResourcesArgs:
    standard = DynamicResourcesArgs()
    filter_timeout, binding_timeout = args.filter_timeout, args.binding_timeout
    if filter_timeout is None and gates.enabled("DRASchedulerFilterTimeout"):
        filter_timeout = standard.filter_timeout
    if binding_timeout is None and all(gates.enabled(gate) for gate in BINDING_CONDITION_GATES):
        binding_timeout = standard.binding_timeout
    return DynamicResourcesArgs(filter_timeout=filter_timeout, binding_timeout=binding_timeout)


# -- the default plugins -----------------------------------------------------------------------------------------------


def merged_plugins(custom: Plugins | None, gates: FeatureGates) -> Plugins:
    """The plugins of a profile: MultiPoint merged with the defaults, other sections as written."""
    defaults = PluginSet(enabled=default_multi_point(gates))
    if custom is None:
        return Plugins(multi_point=defaults)
    sections = {point.name.lower(): merged_set(PluginSet(), custom.at(point)) for point in ExtensionPoint}
    return Plugins(multi_point=merged_set(defaults, custom.multi_point), **sections)


def merged_set(defaults: PluginSet, custom: PluginSet) -> PluginSet:
    """A section merged with its defaults: one that is enabled again keeps its place and takes the new weight; the rest is
    appended."""
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
