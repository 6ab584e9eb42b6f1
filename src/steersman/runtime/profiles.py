# SPDX-License-Identifier: Apache-2.0
"""From an effective configuration to profiles: makes every plugin once per profile and wires it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from steersman.config import EffectiveProfile, ExtensionPoint
from steersman.framework.handle import Handle
from steersman.runtime.profile import PluginRef, Profile, ProfileSpec, build
from steersman.runtime.registry import Registry


def build_profiles(
    effective: Iterable[EffectiveProfile], registry: Registry, handle_for: Callable[[str], Handle]
) -> dict[str, Profile]:
    """By scheduler name, in the order of the configuration."""
    return {profile.scheduler_name: _build(profile, registry, handle_for) for profile in effective}


def _build(effective: EffectiveProfile, registry: Registry, handle_for: Callable[[str], Handle]) -> Profile:
    spec = profile_spec(effective)
    handle = handle_for(spec.name)
    names = {ref.name: None for refs in spec.points.values() for ref in refs}
    instances = {name: registry.make(name, spec.args.get(name), handle) for name in names}
    return build(spec, instances)


def profile_spec(effective: EffectiveProfile) -> ProfileSpec:
    """The effective profile of a configuration in the terms of `runtime.profile`."""
    points: Mapping[str, list[PluginRef]] = {
        point.value: [
            PluginRef(name, effective.score_weights.get(name, 0) if point is ExtensionPoint.SCORE else 0)
            for name in names
        ]
        for point, names in effective.plugins.items()
    }
    return ProfileSpec(
        name=effective.scheduler_name,
        points=points,
        args=effective.args,
        percentage_of_nodes_to_score=effective.percentage_of_nodes_to_score,
    )
