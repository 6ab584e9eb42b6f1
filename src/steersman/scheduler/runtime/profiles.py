# SPDX-License-Identifier: Apache-2.0
"""Builds profiles from an effective configuration, with one instance of every plugin per
profile."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from steersman import api
from steersman.config import EffectiveProfile, ExtensionPoint
from steersman.framework import Handle
from steersman.scheduler.runtime.declared_kinds import declared_kinds, declared_reads
from steersman.scheduler.runtime.profile import PluginRef, Profile, ProfileSpec, build
from steersman.scheduler.runtime.registry import Registry


def build_profiles(
    effective: Iterable[EffectiveProfile], registry: Registry, handle_for: Callable[[str], Handle]
) -> dict[str, Profile]:
    """Return the profiles by scheduler name, in the order of the configuration."""
    return {profile.scheduler_name: _build(profile, registry, handle_for) for profile in effective}


def kinds_of_profiles(profiles: Iterable[Profile]) -> tuple[type[api.Object], ...]:
    """Return the kinds that plugins of these profiles declare."""
    return declared_kinds({name: type(plugin) for profile in profiles for name, plugin in profile.plugins.items()})


def reads_of_profiles(profiles: Iterable[Profile]) -> tuple[type[api.Object], ...]:
    """Return the kinds that plugins of these profiles read themselves."""
    return declared_reads({name: type(plugin) for profile in profiles for name, plugin in profile.plugins.items()})


def kinds_of_configuration(effective: Iterable[EffectiveProfile], registry: Registry) -> tuple[type[api.Object], ...]:
    """Return the kinds that plugins will declare, without creating plugins."""
    return declared_kinds(_classes(effective, registry))


def reads_of_configuration(effective: Iterable[EffectiveProfile], registry: Registry) -> tuple[type[api.Object], ...]:
    """Return the kinds that plugins will read themselves, without creating plugins."""
    return declared_reads(_classes(effective, registry))


def _classes(effective: Iterable[EffectiveProfile], registry: Registry) -> dict[str, type]:
    names = {name for profile in effective for point in profile.plugins.values() for name in point}
    return {name: registry.class_of(name) for name in sorted(names)}


def _build(effective: EffectiveProfile, registry: Registry, handle_for: Callable[[str], Handle]) -> Profile:
    spec = profile_spec(effective)
    handle = handle_for(spec.name)
    names = {ref.name: None for refs in spec.points.values() for ref in refs}
    instances = {name: registry.make(name, spec.args.get(name), handle) for name in names}
    return build(spec, instances, gates=handle.gates)


def profile_spec(effective: EffectiveProfile) -> ProfileSpec:
    """Convert an effective profile to a `ProfileSpec`."""
    weights = {
        ExtensionPoint.SCORE: effective.score_weights,
        ExtensionPoint.PLACEMENT_SCORE: effective.placement_score_weights,
    }
    points: Mapping[str, list[PluginRef]] = {
        point.value: [PluginRef(name, weights.get(point, {}).get(name, 0)) for name in names]
        for point, names in effective.plugins.items()
    }
    return ProfileSpec(
        name=effective.scheduler_name,
        points=points,
        args=effective.args,
        percentage_of_nodes_to_score=effective.percentage_of_nodes_to_score,
    )
