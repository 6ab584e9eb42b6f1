# SPDX-License-Identifier: Apache-2.0
"""The plugins that a configuration may name, and those that are enabled by default.

Steersman's own are those of `plugins`, and preemption, which depends on the cycle. A plugin passed
to a host (a file, a class) is enabled in every profile unless the configuration mentions it.
Plugins of installed packages are enabled only if the configuration names them. `runtime.registry`
finds and imports them.
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike, fspath
from pathlib import Path
from typing import TypeAlias

import msgspec

from steersman.api import Object
from steersman.base import InputError
from steersman.config import (
    ExtensionPoint,
    FeatureGates,
    KubeSchedulerProfile,
    PluginEntry,
    SchedulerConfiguration,
    build,
)
from steersman.framework import WATCHED_KINDS, Plugin as PluginBase, with_custom
from steersman.scheduler.optional_plugins import OPTIONAL_PLUGINS
from steersman.scheduler.plugins.in_tree import IN_TREE
from steersman.scheduler.preemption import DefaultPreemption
from steersman.scheduler.runtime.capabilities import capabilities_of
from steersman.scheduler.runtime.declared_kinds import kinds_by_gates
from steersman.scheduler.runtime.profiles import kinds_of_configuration, reads_of_configuration
from steersman.scheduler.runtime.registry import Registry

PluginSource: TypeAlias = "str | PathLike[str] | type[PluginBase]"
"""A Python file, or a plugin class."""

_replace = msgspec.structs.replace


def default_registry() -> Registry:
    """Return a registry with Steersman's own plugins."""
    return Registry({**IN_TREE, DefaultPreemption.name: DefaultPreemption})


def register(sources: Iterable[PluginSource]) -> tuple[Registry, list[str]]:
    """Return a registry with all plugins that a configuration may name, and the names of those from
    `sources`."""
    registry = default_registry()
    registry.add_entry_points()
    registry.add_entry_points([entry for entry in OPTIONAL_PLUGINS if entry.name not in registry])
    names: list[str] = []
    for source in sources:
        if isinstance(source, (str, PathLike)):
            names += registry.add_file(Path(fspath(source)))
        elif isinstance(source, type):
            registry.add(source.name, source, f"{source.__module__}.{source.__qualname__}")
            names.append(source.name)
        else:
            raise InputError("is neither a file nor a plugin class", object="plugin", value=repr(source))
    return registry, names


class SchedulerKinds(msgspec.Struct, frozen=True):
    """The kinds that a scheduler uses."""

    #: Including those that plugins declare.
    watched: tuple[type[Object], ...] = WATCHED_KINDS
    #: Kinds that plugins read themselves (`Plugin.reads`), watched or not.
    read: tuple[type[Object], ...] = ()

    @property
    def known(self) -> tuple[type[Object], ...]:
        """Kinds that are watched or read; manifests of these kinds are loaded."""
        return (*self.watched, *self.read)


def kinds_of_scheduler(
    configuration: SchedulerConfiguration, gates: FeatureGates, registry: Registry
) -> SchedulerKinds:
    """Return the kinds of a scheduler without creating it. Raises PluginError for an unusable
    kind."""
    effective = build(configuration, capabilities_of(registry, gates), gates).profiles
    watched = with_custom((*kinds_of_configuration(effective, registry), *kinds_by_gates(gates)))
    return SchedulerKinds(watched, reads_of_configuration(effective, registry))


def with_enabled(configuration: SchedulerConfiguration, names: Iterable[str]) -> SchedulerConfiguration:
    """Enable the plugins that the configuration does not mention, at all of their extension points,
    in every profile."""
    mentioned = {name for profile in configuration.profiles for name in _mentioned(profile)}
    added = tuple(PluginEntry(name=name, weight=1) for name in names if name not in mentioned)
    if not added:
        return configuration
    return _replace(configuration, profiles=tuple(_extended(profile, added) for profile in configuration.profiles))


def _mentioned(profile: KubeSchedulerProfile) -> Iterable[str]:
    sections = (profile.plugins.multi_point, *(profile.plugins.plugins_at(point) for point in ExtensionPoint))
    return (plugin.name for section in sections for plugin in (*section.enabled, *section.disabled))


def _extended(profile: KubeSchedulerProfile, added: tuple[PluginEntry, ...]) -> KubeSchedulerProfile:
    multi_point = profile.plugins.multi_point
    multi_point = _replace(multi_point, enabled=(*multi_point.enabled, *added))
    return _replace(profile, plugins=_replace(profile.plugins, multi_point=multi_point))
