"""From merged plugin sets to what really runs: one ordered list per extension point, and weights.

Takes a profile and the capabilities of the registered plugins (see `catalog`); `building` adds the checks that need
more than one profile. Errors are texts in kube-scheduler's words, without the prefixes that `building` puts before them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from steersman.api.go_text import quote
from steersman.config.catalog import Capabilities
from steersman.config.configuration import (
    ALL_PLUGINS,
    Args,
    ExtensionPoint,
    Plugin,
    Plugins,
    PluginSet,
    Profile,
)
from steersman.config.plugin_args import ConfigStruct

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


class ExpansionError(ValueError):
    """A profile cannot run with the registered plugins."""


class EffectiveProfile(ConfigStruct, frozen=True):
    """What runs for one scheduler name."""

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


def effective_profile(profile: Profile, capabilities: Capabilities) -> EffectiveProfile:
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


def _implementing(point: ExtensionPoint, enabled: Iterable[Plugin], capabilities: Capabilities) -> Iterable[str]:
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
    """As a 64-bit integer that overflows silently: with a negative total the check itself overflows, as upstream's."""
    return (value + 2**63) % 2**64 - 2**63


def _args(profile: Profile, capabilities: Capabilities) -> dict[str, Args]:
    running = profile.plugins.enabled_names() & set(capabilities)
    given = {entry.name: entry.args for entry in profile.plugin_config}
    return {name: given[name] for name in sorted(running) if given.get(name) is not None}
