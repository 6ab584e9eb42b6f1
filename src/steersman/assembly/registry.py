# SPDX-License-Identifier: Apache-2.0
"""The plugins that a configuration may name, and those that it gets without naming them. There is one registry.

Steersman's own are those of `plugins`, and preemption, which rests on the cycle. A plugin that is handed to a host (a file, a
class) is meant to run: it is enabled in every profile unless the configuration says something about it. Plugins of installed
packages are only there to be named. `runtime.registry` finds and imports them.
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike, fspath
from pathlib import Path
from typing import TypeAlias

import msgspec

from steersman.api import Object
from steersman.config import (
    ExtensionPoint,
    FeatureGates,
    KubeSchedulerProfile,
    PluginEntry,
    SchedulerConfiguration,
    build,
)
from steersman.errors import InputError
from steersman.framework.plugin import Plugin as PluginBase
from steersman.framework.watching import WATCHED_KINDS, with_custom
from steersman.plugins.in_tree import IN_TREE
from steersman.preemption import DefaultPreemption
from steersman.runtime.capabilities import capabilities_of
from steersman.runtime.profiles import kinds_of_configuration, reads_of_configuration
from steersman.runtime.registry import Registry

PluginSource: TypeAlias = "str | PathLike[str] | type[PluginBase]"
"""A Python file, or a plugin class."""

_replace = msgspec.structs.replace


def default_registry() -> Registry:
    """Steersman's own plugins, in a registry to which others may be added."""
    return Registry({**IN_TREE, DefaultPreemption.name: DefaultPreemption})


def register(sources: Iterable[PluginSource]) -> tuple[Registry, list[str]]:
    """All plugins that a configuration may name, and the names of those that `sources` brought."""
    registry = default_registry()
    registry.add_entry_points()
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
    """The kinds that a scheduler looks at."""

    #: With those that plugins declare.
    watched: tuple[type[Object], ...] = WATCHED_KINDS
    #: What plugins read by themselves (`Plugin.reads`), watched or not.
    read: tuple[type[Object], ...] = ()


def kinds_of_scheduler(
    configuration: SchedulerConfiguration, gates: FeatureGates, registry: Registry
) -> SchedulerKinds:
    """The kinds of a scheduler that has not been made. PluginError for a kind that is unusable."""
    effective = build(configuration, capabilities_of(registry), gates).profiles
    watched = with_custom(kinds_of_configuration(effective, registry))
    return SchedulerKinds(watched, reads_of_configuration(effective, registry))


def with_enabled(configuration: SchedulerConfiguration, names: Iterable[str]) -> SchedulerConfiguration:
    """The configuration with the plugins it does not mention enabled, at all points they have, in every profile."""
    mentioned = {name for profile in configuration.profiles for name in _mentioned(profile)}
    added = tuple(PluginEntry(name=name, weight=1) for name in names if name not in mentioned)
    if not added:
        return configuration
    return _replace(configuration, profiles=tuple(_extended(profile, added) for profile in configuration.profiles))


def _mentioned(profile: KubeSchedulerProfile) -> Iterable[str]:
    sections = (profile.plugins.multi_point, *(profile.plugins.at(point) for point in ExtensionPoint))
    return (plugin.name for section in sections for plugin in (*section.enabled, *section.disabled))


def _extended(profile: KubeSchedulerProfile, added: tuple[PluginEntry, ...]) -> KubeSchedulerProfile:
    multi_point = profile.plugins.multi_point
    multi_point = _replace(multi_point, enabled=(*multi_point.enabled, *added))
    return _replace(profile, plugins=_replace(profile.plugins, multi_point=multi_point))
