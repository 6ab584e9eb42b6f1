"""Merging the plugins of a document with the default plugins.

Called by `defaults` for every profile; `catalog` says what the defaults are. The result still has MultiPoint plugins as
such; `expansion` spreads them.
"""

from __future__ import annotations

from steersman.config.catalog import default_multi_point
from steersman.config.configuration import ALL_PLUGINS, ExtensionPoint, Plugin, Plugins, PluginSet
from steersman.config.feature_gates import FeatureGates


def merged_plugins(custom: Plugins | None, gates: FeatureGates) -> Plugins:
    """The plugins of a profile: MultiPoint merged with the defaults, other sections as written."""
    defaults = PluginSet(enabled=default_multi_point(gates))
    if custom is None:
        return Plugins(multi_point=defaults)
    sections = {point.name.lower(): merged_set(PluginSet(), custom.at(point)) for point in ExtensionPoint}
    return Plugins(multi_point=merged_set(defaults, custom.multi_point), **sections)


def merged_set(defaults: PluginSet, custom: PluginSet) -> PluginSet:
    """One section. A default that is enabled again keeps its place and takes the new weight; the rest is appended."""
    disabled = tuple(Plugin(name=plugin.name) for plugin in (*custom.disabled, *defaults.disabled))
    disabled_names = {plugin.name for plugin in disabled}
    last_position = {plugin.name: position for position, plugin in enumerate(custom.enabled)}
    enabled: list[Plugin] = []
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
