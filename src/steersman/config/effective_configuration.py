# SPDX-License-Identifier: Apache-2.0
"""Build stage: one ordered list of plugins per extension point, and their weights.

Follows `validation`. Uses profiles and the capabilities of registered plugins (`plugins.in_tree`).
The checks, in kube-scheduler's order and words, need no plugin instances: extenders' TLS material,
arguments of NodeResourcesFit, extension points, weights, a common queue sort.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from steersman.api import Duration, quote
from steersman.config.configuration import (
    ALL_PLUGINS,
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
from steersman.config.errors import ConfigError, ConfigProblem, ConfigStage, joined, similar_name
from steersman.config.extenders import ExtenderConfigError, check_tls, in_call_order, timeout, with_ignored_resources
from steersman.config.feature_gates import DEFAULT_GATES, FeatureGates
from steersman.config.plugins.in_tree import ARGS_TYPES, IN_TREE_CAPABILITIES, Capabilities, in_tree_capabilities

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
    ExtensionPoint.POD_GROUP_POST_FILTER,
)
"""The order in which points are filled, which determines the first error."""


class EffectiveConfiguration(ConfigStruct, frozen=True):
    """Profiles and extenders as a scheduler with this configuration runs them."""

    profiles: tuple[EffectiveProfile, ...]
    extenders: tuple[Extender, ...] = ()
    """Extenders in calling order."""
    extender_timeouts: tuple[Duration, ...] = ()
    """Timeouts of the extenders in the order of the document."""


def build(
    config: SchedulerConfiguration,
    capabilities: Capabilities | None = None,
    gates: FeatureGates = DEFAULT_GATES,
    file: str | None = None,
) -> EffectiveConfiguration:
    """Return the configuration as it runs with these plugins, by default kube-scheduler's.

    Reads the TLS files of extenders. Raises `ConfigError`.
    """
    try:
        check_tls(config.extenders)
    except ExtenderConfigError as error:
        raise _error(f"couldn't build extenders: {error}", file) from None
    return EffectiveConfiguration(
        profiles=tuple(effective_profiles(config, capabilities, gates, file)),
        extenders=in_call_order(config.extenders),
        extender_timeouts=tuple(timeout(extender) for extender in config.extenders),
    )


def effective_profiles(
    config: SchedulerConfiguration,
    capabilities: Capabilities | None = None,
    gates: FeatureGates = DEFAULT_GATES,
    file: str | None = None,
) -> list[EffectiveProfile]:
    """Return the profiles as they run without reading extenders' files. Raises `ConfigError`."""
    if capabilities is None:
        capabilities = in_tree_capabilities(gates.version)
    try:
        return list(_effective(config, capabilities, gates))
    except ExtenderConfigError as error:
        raise _error(f"couldn't build extenders: {error}", file) from None
    except ExpansionError as error:
        raise _error(f"initializing profiles: {error}", file, error.hint) from None


def check_disabled(
    config: SchedulerConfiguration, capabilities: Capabilities = IN_TREE_CAPABILITIES, file: str | None = None
) -> None:
    """Raise `ConfigError` if a profile disables or configures unknown plugins, which kube-scheduler
    ignores."""
    problems = [problem for index, _ in enumerate(config.profiles) for problem in _unknown(config, index, capabilities)]
    if problems:
        raise ConfigError(ConfigStage.BUILD, problems, file=file)


def _unknown(config: SchedulerConfiguration, index: int, capabilities: Capabilities) -> Iterator[ConfigProblem]:
    plugins = config.profiles[index].plugins
    for position, given in enumerate(config.profiles[index].plugin_config):
        if given.name not in capabilities:
            field = f"profiles[{index}].pluginConfig[{position}].name"
            text = f"{field}: {quote(given.name)} is no plugin, so nothing reads its arguments"
            yield ConfigProblem(text, field=field, bad_value=given.name, hint=_similar(given.name, capabilities))
    sections = {point.value: plugins.plugins_at(point).disabled for point in ExtensionPoint}
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
    return similar_name(name, capabilities) or "`steersman config show --effective` lists the plugins"


def _error(text: str, file: str | None, hint: str = "") -> ConfigError:
    return ConfigError(ConfigStage.BUILD, [ConfigProblem(text, hint=hint)], file=file)


def _effective(
    config: SchedulerConfiguration, capabilities: Capabilities, gates: FeatureGates
) -> Iterator[EffectiveProfile]:
    first: tuple[str, Args] | None = None
    for profile in with_ignored_resources(config):
        try:
            _check_args(profile, capabilities, gates)
            effective = effective_profile(profile, capabilities)
        except ExpansionError as error:
            text = f"creating profile for scheduler name {profile.scheduler_name}: {error}"
            raise ExpansionError(text, error.hint) from None
        first = first or _queue_sort(profile, effective)
        _check_same_queue_sort(profile, first, _queue_sort(profile, effective))
        yield effective


def _check_args(profile: KubeSchedulerProfile, capabilities: Capabilities, gates: FeatureGates) -> None:
    """Check the arguments of all running plugins; validation skips those of NodeResourcesFit."""
    running = profile.plugins.enabled_names() & set(capabilities)
    for entry in sorted(profile.plugin_config, key=lambda entry: entry.name):
        wanted = ARGS_TYPES.get(entry.name)
        if wanted is None or entry.name not in running:
            continue
        if not isinstance(entry.args, wanted):
            mismatch = f"want args to be of type {wanted.__name__}, got {type(entry.args).__name__}"
            raise ExpansionError(f'initializing plugin "{entry.name}": {mismatch}')
        errors = entry.args.errors("", gates)
        if errors:
            raise ExpansionError(f'initializing plugin "{entry.name}": {joined(errors)}')


def _queue_sort(profile: KubeSchedulerProfile, effective: EffectiveProfile) -> tuple[str, Args]:
    name = effective.plugins_at(ExtensionPoint.QUEUE_SORT)[0]
    return name, next((entry.args for entry in profile.plugin_config if entry.name == name), None)


def _check_same_queue_sort(profile: KubeSchedulerProfile, first: tuple[str, Args], own: tuple[str, Args]) -> None:
    where = f"profile {quote(profile.scheduler_name)}"
    if own[0] != first[0]:
        raise ExpansionError(f"different queue sort plugins for {where}: {quote(own[0])}, first: {quote(first[0])}")
    if own[1] != first[1]:
        raise ExpansionError(f"different queue sort plugin args for {where}")


# -- one profile -------------------------------------------------------------------------------------------------------


class ExpansionError(ValueError):
    """A profile cannot run with the registered plugins. `hint` complements upstream's text."""

    def __init__(self, text: str, hint: str = "") -> None:
        super().__init__(text)
        self.hint = hint


class EffectiveProfile(ConfigStruct, frozen=True):
    """The plugins that run for one scheduler name, with weights and arguments."""

    scheduler_name: str
    percentage_of_nodes_to_score: int | None = None
    plugins: Mapping[ExtensionPoint, tuple[str, ...]] = {}
    """Names in calling order; points without plugins are missing."""
    score_weights: Mapping[str, int] = {}
    placement_score_weights: Mapping[str, int] = {}
    args: Mapping[str, Args] = {}
    """Arguments of the running plugins, sorted by name; plugins without arguments are missing."""

    def plugins_at(self, point: ExtensionPoint) -> tuple[str, ...]:
        return self.plugins.get(point, ())


def effective_profile(profile: KubeSchedulerProfile, capabilities: Capabilities) -> EffectiveProfile:
    """Return the profile as it runs. Raises `ExpansionError`."""
    names = {point: _explicit(point, profile.plugins.plugins_at(point), capabilities) for point in POINT_ORDER}
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
    """Return the plugins of a point's own section."""
    names: list[str] = []
    for plugin in section.enabled:
        if plugin.name not in capabilities:
            raise _missing(point, plugin.name, capabilities)
        if point not in capabilities[plugin.name]:
            raise ExpansionError(f"plugin {quote(plugin.name)} does not extend {point.interface} plugin")
        if plugin.name in names:
            raise _repeated(point, plugin.name)
        names.append(plugin.name)
    return tuple(names)


def _expanded(
    point: ExtensionPoint, plugins: Plugins, capabilities: Capabilities, explicit: Sequence[str]
) -> tuple[str, ...]:
    """Return plugins in order: explicit and in MultiPoint, other MultiPoint, other explicit."""
    disabled = {plugin.name for plugin in plugins.plugins_at(point).disabled}
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
            raise _missing(point, plugin.name, capabilities)
        if point in capabilities[plugin.name]:
            yield plugin.name


def _missing(point: ExtensionPoint, name: str, capabilities: Capabilities) -> ExpansionError:
    return ExpansionError(f"{point.interface} {quote(name)} does not exist", _similar(name, capabilities))


def _repeated(point: ExtensionPoint, name: str) -> ExpansionError:
    return ExpansionError(f"plugin {quote(name)} already registered as {quote(point.interface)}")


def _check_counts(scheduler_name: str, names: Mapping[ExtensionPoint, Sequence[str]]) -> None:
    profile = f"profile with scheduler name {quote(scheduler_name)}"
    sorters = names[ExtensionPoint.QUEUE_SORT]
    if len(sorters) != 1:
        hint = (
            f"disable the others in every profile, plugins.queueSort.disabled: [{{name: {sorters[0]}}}]"
            if sorters
            else ""
        )
        raise ExpansionError(f"only one queue sort plugin required for {profile}, but got {len(sorters)}", hint)
    if not names[ExtensionPoint.BIND]:
        raise ExpansionError(f"at least one bind plugin is needed for {profile}")
    if len(names[ExtensionPoint.PLACEMENT_GENERATE]) > 1:
        raise ExpansionError(f"at most one placement generate plugin is allowed for {profile}")


def _weights(plugins: Plugins, point: ExtensionPoint, capabilities: Capabilities, title: str) -> dict[str, int]:
    """Return the weights of the plugins of a point; its own section precedes MultiPoint."""
    weights: dict[str, int] = {}
    total = 0
    for plugin in (*plugins.plugins_at(point).enabled, *plugins.multi_point.enabled):
        if point not in capabilities.get(plugin.name, ()) or plugin.name in weights:
            continue
        weights[plugin.name] = plugin.weight or 1
        score = weights[plugin.name] * _MAX_NODE_SCORE
        if score > _wrapped(_MAX_TOTAL_SCORE - total):
            raise ExpansionError(f"{title}: total score of Score plugins could overflow")
        total = _wrapped(total + score)
    return weights


def _wrapped(value: int) -> int:
    """Return the value as a wrapping int64: as upstream, the check may overflow, too."""
    return (value + 2**63) % 2**64 - 2**63


def _args(profile: KubeSchedulerProfile, capabilities: Capabilities) -> dict[str, Args]:
    running = profile.plugins.enabled_names() & set(capabilities)
    given = {entry.name: entry.args for entry in profile.plugin_config}
    return {name: given[name] for name in sorted(running) if given.get(name) is not None}
