# SPDX-License-Identifier: Apache-2.0
"""Build stage: what really runs with a configuration. One ordered list per extension point, and weights.

Follows `validation`. Takes profiles and the capabilities of the registered plugins (see `catalog`). The checks are
kube-scheduler's, in its order and words, and need no plugin instances: the TLS material of extenders, arguments of
NodeResourcesFit, extension points and weights, one queue sort for all profiles.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Final

from steersman.api.go_text import quote
from steersman.config.args_validation import args_errors
from steersman.config.catalog import IN_TREE_CAPABILITIES, Capabilities
from steersman.config.configuration import (
    ALL_PLUGINS,
    ARGS_TYPES,
    Args,
    ConfigStruct,
    Extender,
    ExtensionPoint,
    KubeSchedulerProfile,
    PluginEntry,
    Plugins,
    PluginSet,
    SchedulerConfiguration,
)
from steersman.config.durations import Duration
from steersman.config.errors import ConfigError, ConfigProblem, ConfigStage, joined
from steersman.config.extenders import ExtenderConfigError, check_tls, in_call_order, timeout, with_ignored_resources
from steersman.config.feature_gates import DEFAULT_GATES, FeatureGates

_MAX_NODE_SCORE: Final = 100
_MAX_TOTAL_SCORE: Final = 2**63 - 1

POINT_ORDER: Final = (
    ExtensionPoint.PRE_FILTER,
    ExtensionPoint.FILTER,
    ExtensionPoint.POST_FILTER,
    ExtensionPoint.RESERVE,
    ExtensionPoint.PRE_SCORE,
    ExtensionPoint.SCORE,
    ExtensionPoint.PRE_BIND,
    ExtensionPoint.BIND,
    ExtensionPoint.POST_BIND,
    ExtensionPoint.PERMIT,
    ExtensionPoint.PRE_ENQUEUE,
    ExtensionPoint.QUEUE_SORT,
    ExtensionPoint.PLACEMENT_GENERATE,
    ExtensionPoint.PLACEMENT_SCORE,
)
"""The order in which points are filled, which decides what error is found first."""


class EffectiveConfiguration(ConfigStruct, frozen=True):
    """Profiles and extenders as a scheduler with this configuration runs them."""

    profiles: tuple[EffectiveProfile, ...]
    extenders: tuple[Extender, ...] = ()
    """Extenders in the order in which they are called."""
    extender_timeouts: tuple[Duration, ...] = ()
    """Time limits of the extenders in the order of the document."""


def build(
    config: SchedulerConfiguration,
    capabilities: Capabilities = IN_TREE_CAPABILITIES,
    gates: FeatureGates = DEFAULT_GATES,
    file: str | None = None,
) -> EffectiveConfiguration:
    """The configuration as it runs with the given plugins; reads the TLS files of extenders. Raises `ConfigError`."""
    try:
        check_tls(config.extenders)
        profiles = tuple(_effective(config, capabilities, gates))
    except ExtenderConfigError as error:
        raise _error(f"couldn't build extenders: {error}", file) from None
    except ExpansionError as error:
        raise _error(f"initializing profiles: {error}", file) from None
    return EffectiveConfiguration(
        profiles=profiles,
        extenders=in_call_order(config.extenders),
        extender_timeouts=tuple(timeout(extender) for extender in config.extenders),
    )


def effective_profiles(
    config: SchedulerConfiguration,
    capabilities: Capabilities = IN_TREE_CAPABILITIES,
    gates: FeatureGates = DEFAULT_GATES,
    file: str | None = None,
) -> list[EffectiveProfile]:
    """The profiles as they run, without touching the extenders' files. Raises `ConfigError`."""
    try:
        return list(_effective(config, capabilities, gates))
    except ExtenderConfigError as error:
        raise _error(f"couldn't build extenders: {error}", file) from None
    except ExpansionError as error:
        raise _error(f"initializing profiles: {error}", file) from None


def check_disabled(
    config: SchedulerConfiguration, capabilities: Capabilities = IN_TREE_CAPABILITIES, file: str | None = None
) -> None:
    """Raises `ConfigError` if a profile disables what is no plugin. kube-scheduler passes over it, and nothing is disabled."""
    problems = [problem for index, _ in enumerate(config.profiles) for problem in _unknown(config, index, capabilities)]
    if problems:
        raise ConfigError(ConfigStage.BUILD, problems, file=file)


def _unknown(config: SchedulerConfiguration, index: int, capabilities: Capabilities) -> Iterator[ConfigProblem]:
    plugins = config.profiles[index].plugins
    sections = {point.value: plugins.at(point).disabled for point in ExtensionPoint}
    for section, entries in {"multiPoint": plugins.multi_point.disabled, **sections}.items():
        for position, entry in enumerate(entries):
            if entry.name != ALL_PLUGINS and entry.name not in capabilities:
                field = f"profiles[{index}].plugins.{section}.disabled[{position}].name"
                yield ConfigProblem(
                    f"{field}: {quote(entry.name)} is no plugin, so nothing is disabled by it",
                    field=field,
                    bad_value=entry.name,
                    hint=_similar(entry.name, capabilities),
                )


def _similar(name: str, capabilities: Capabilities) -> str:
    close = get_close_matches(name, capabilities, n=1)
    return f"did you mean {quote(close[0])}?" if close else "`steersman config show --effective` lists the plugins"


def _error(text: str, file: str | None) -> ConfigError:
    return ConfigError(ConfigStage.BUILD, [ConfigProblem(text)], file=file)


def _effective(
    config: SchedulerConfiguration, capabilities: Capabilities, gates: FeatureGates
) -> Iterator[EffectiveProfile]:
    first: tuple[str, Args] | None = None
    for profile in with_ignored_resources(config):
        try:
            _check_args(profile, capabilities, gates)
            effective = effective_profile(profile, capabilities)
        except ExpansionError as error:
            raise ExpansionError(f"creating profile for scheduler name {profile.scheduler_name}: {error}") from None
        first = first or _queue_sort(profile, effective)
        _check_same_queue_sort(profile, first, _queue_sort(profile, effective))
        yield effective


def _check_args(profile: KubeSchedulerProfile, capabilities: Capabilities, gates: FeatureGates) -> None:
    """Checks the arguments of every plugin that is made; after `validation` only those of NodeResourcesFit can be wrong."""
    running = profile.plugins.enabled_names() & set(capabilities)
    for entry in sorted(profile.plugin_config, key=lambda entry: entry.name):
        if entry.name not in running or entry.name not in ARGS_TYPES:
            continue
        if not isinstance(entry.args, ARGS_TYPES[entry.name]):
            wanted = ARGS_TYPES[entry.name].__name__
            got = type(entry.args).__name__
            raise ExpansionError(f'initializing plugin "{entry.name}": want args to be of type {wanted}, got {got}')
        errors = args_errors("", entry.args, gates)
        if errors:
            raise ExpansionError(f'initializing plugin "{entry.name}": {joined(errors)}')


def _queue_sort(profile: KubeSchedulerProfile, effective: EffectiveProfile) -> tuple[str, Args]:
    name = effective.at(ExtensionPoint.QUEUE_SORT)[0]
    return name, next((entry.args for entry in profile.plugin_config if entry.name == name), None)


def _check_same_queue_sort(profile: KubeSchedulerProfile, first: tuple[str, Args], own: tuple[str, Args]) -> None:
    where = f"profile {quote(profile.scheduler_name)}"
    if own[0] != first[0]:
        raise ExpansionError(f"different queue sort plugins for {where}: {quote(own[0])}, first: {quote(first[0])}")
    if own[1] != first[1]:
        raise ExpansionError(f"different queue sort plugin args for {where}")


# -- one profile -------------------------------------------------------------------------------------------------------


class ExpansionError(ValueError):
    """A profile cannot run with the registered plugins."""


class EffectiveProfile(ConfigStruct, frozen=True):
    """The plugins that run for one scheduler name, with weights and arguments."""

    scheduler_name: str
    percentage_of_nodes_to_score: int | None = None
    plugins: Mapping[ExtensionPoint, tuple[str, ...]] = {}
    """Names in calling order; points without plugins are missing."""
    score_weights: Mapping[str, int] = {}
    placement_score_weights: Mapping[str, int] = {}
    args: Mapping[str, Args] = {}
    """Arguments of the plugins that take part, sorted by name; plugins without arguments are missing."""

    def at(self, point: ExtensionPoint) -> tuple[str, ...]:
        return self.plugins.get(point, ())


def effective_profile(profile: KubeSchedulerProfile, capabilities: Capabilities) -> EffectiveProfile:
    """The profile as it runs; raises `ExpansionError`."""
    names = {point: _explicit(point, profile.plugins.at(point), capabilities) for point in POINT_ORDER}
    if profile.plugins.multi_point.enabled:
        names = {point: _expanded(point, profile.plugins, capabilities, names[point]) for point in POINT_ORDER}
    _check_counts(profile.scheduler_name, names)
    score_weights = _weights(profile.plugins, ExtensionPoint.SCORE, capabilities, "score plugins")
    placement_weights = _weights(
        profile.plugins, ExtensionPoint.PLACEMENT_SCORE, capabilities, "placement score plugins"
    )
    return EffectiveProfile(
        scheduler_name=profile.scheduler_name,
        percentage_of_nodes_to_score=profile.percentage_of_nodes_to_score,
        plugins={point: names[point] for point in ExtensionPoint if names[point]},
        score_weights={name: score_weights[name] for name in names[ExtensionPoint.SCORE]},
        placement_score_weights={name: placement_weights[name] for name in names[ExtensionPoint.PLACEMENT_SCORE]},
        args=_args(profile, capabilities),
    )


def _explicit(point: ExtensionPoint, section: PluginSet, capabilities: Capabilities) -> tuple[str, ...]:
    """The plugins of a point's own section."""
    names: list[str] = []
    for plugin in section.enabled:
        if plugin.name not in capabilities:
            raise _missing(point, plugin.name)
        if point not in capabilities[plugin.name]:
            raise ExpansionError(f"plugin {quote(plugin.name)} does not extend {point.interface} plugin")
        if plugin.name in names:
            raise _repeated(point, plugin.name)
        names.append(plugin.name)
    return tuple(names)


def _expanded(
    point: ExtensionPoint, plugins: Plugins, capabilities: Capabilities, explicit: Sequence[str]
) -> tuple[str, ...]:
    """Explicit plugins that MultiPoint has too, then the other MultiPoint plugins, then the other explicit ones."""
    disabled = {plugin.name for plugin in plugins.at(point).disabled}
    if ALL_PLUGINS in disabled:
        return tuple(explicit)
    overridden: set[str] = set()
    spread: list[str] = []
    for name in _implementing(point, plugins.multi_point.enabled, capabilities):
        if name in disabled:
            continue
        if name in explicit:
            overridden.add(name)
        elif name in spread:
            raise _repeated(point, name)
        else:
            spread.append(name)
    return (
        *(name for name in explicit if name in overridden),
        *spread,
        *(name for name in explicit if name not in overridden),
    )


def _implementing(point: ExtensionPoint, enabled: Iterable[PluginEntry], capabilities: Capabilities) -> Iterable[str]:
    for plugin in enabled:
        if plugin.name not in capabilities:
            raise _missing(point, plugin.name)
        if point in capabilities[plugin.name]:
            yield plugin.name


def _missing(point: ExtensionPoint, name: str) -> ExpansionError:
    return ExpansionError(f"{point.interface} {quote(name)} does not exist")


def _repeated(point: ExtensionPoint, name: str) -> ExpansionError:
    return ExpansionError(f"plugin {quote(name)} already registered as {quote(point.interface)}")


def _check_counts(scheduler_name: str, names: Mapping[ExtensionPoint, Sequence[str]]) -> None:
    profile = f"profile with scheduler name {quote(scheduler_name)}"
    sorters = len(names[ExtensionPoint.QUEUE_SORT])
    if sorters != 1:
        raise ExpansionError(f"only one queue sort plugin required for {profile}, but got {sorters}")
    if not names[ExtensionPoint.BIND]:
        raise ExpansionError(f"at least one bind plugin is needed for {profile}")
    if len(names[ExtensionPoint.PLACEMENT_GENERATE]) > 1:
        raise ExpansionError(f"at most one placement generate plugin is allowed for {profile}")


def _weights(plugins: Plugins, point: ExtensionPoint, capabilities: Capabilities, title: str) -> dict[str, int]:
    """The weight of every plugin that implements the point; the point's own section goes before MultiPoint."""
    weights: dict[str, int] = {}
    total = 0
    for plugin in (*plugins.at(point).enabled, *plugins.multi_point.enabled):
        if point not in capabilities.get(plugin.name, ()) or plugin.name in weights:
            continue
        weights[plugin.name] = plugin.weight or 1
        score = weights[plugin.name] * _MAX_NODE_SCORE
        if score > _wrapped(_MAX_TOTAL_SCORE - total):
            raise ExpansionError(f"{title}: total score of Score plugins could overflow")
        total = _wrapped(total + score)
    return weights


def _wrapped(value: int) -> int:
    """The value as a 64-bit integer that overflows silently: with a negative total the check overflows too, as upstream's."""
    return (value + 2**63) % 2**64 - 2**63


def _args(profile: KubeSchedulerProfile, capabilities: Capabilities) -> dict[str, Args]:
    running = profile.plugins.enabled_names() & set(capabilities)
    given = {entry.name: entry.args for entry in profile.plugin_config}
    return {name: given[name] for name in sorted(running) if given.get(name) is not None}
