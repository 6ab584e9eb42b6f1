# SPDX-License-Identifier: Apache-2.0
"""Kinds that plugins declare in addition to those that are always watched: collected from plugin
classes and checked.

They are class attributes (`Plugin.kinds`, `Plugin.reads`), because `doctor` and the manifest
readers need them before plugins are created.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from steersman import api
from steersman.api import check_readable
from steersman.config import Rule
from steersman.framework import Gates, Plugin, event_resource, is_custom
from steersman.scheduler.runtime.faults import PLUGIN_FAULTS, PluginError, describe_fault

HINT: Final = "derive from steersman.api.Object, or ask steersman.api.custom_kind for a class"


def declared_kinds(plugins: Mapping[str, type]) -> tuple[type[api.Object], ...]:
    """Return the kinds to watch of plugin classes by name, without duplicates. Raises PluginError
    for an unusable kind."""
    return tuple(kind for kind in _declared(plugins, "kinds", "reads") if is_custom(kind))


def kinds_by_gates(gates: Gates) -> tuple[type[api.Object], ...]:
    """Return the kinds that are watched because a feature gate is on."""
    has_rules = gates.enabled("DRADeviceTaintRules") and gates.has_rule(Rule.DEVICE_TAINT_RULES_V1)
    conditions: dict[type[api.Object], bool] = {
        api.DeviceTaintRule: has_rules,
        api.PodGroup: gates.enabled("GenericWorkload"),
        api.CompositePodGroup: gates.enabled("CompositePodGroup"),
    }
    return tuple(kind for kind, is_watched in conditions.items() if is_watched)


def declared_reads(plugins: Mapping[str, type]) -> tuple[type[api.Object], ...]:
    """Return the kinds that the plugins name in the attribute. A kind must be declared by the same
    class everywhere."""
    return _declared(plugins, "reads", "kinds")


def _declared(plugins: Mapping[str, type], wanted: str, other: str) -> tuple[type[api.Object], ...]:
    """Return the kinds that the plugins name in one of the two attributes. A kind must be declared
    by the same class everywhere."""
    declared: dict[str, tuple[str, type[api.Object]]] = {}
    found: dict[type[api.Object], None] = {}
    for name, plugin in plugins.items():
        for attribute in (wanted, other):
            for kind in _kinds_of(name, plugin, attribute):
                first, known = declared.setdefault(event_resource(kind), (name, kind))
                if known is not kind:
                    raise PluginError(
                        f'plugins "{first}" and "{name}" declare {_text(kind)} by different classes; share one'
                    )
                if attribute == wanted:
                    found[kind] = None
    return tuple(found)


def _kinds_of(name: str, plugin: type, attribute: str) -> tuple[type[api.Object], ...]:
    kinds = getattr(plugin, attribute) if issubclass(plugin, Plugin) else ()
    if not isinstance(kinds, tuple | list):
        raise PluginError(f'plugin "{name}": {attribute} is {kinds!r}, expected a tuple of classes')
    for kind in kinds:
        _check(f'plugin "{name}": {attribute}', kind, needs_group=attribute == "kinds")
    return tuple(kinds)


def _check(where: str, kind: object, needs_group: bool) -> None:
    if not isinstance(kind, type) or not issubclass(kind, api.Object):
        raise PluginError(f"{where}: {kind!r} is not the class of a kind; {HINT}")
    for attribute in ("API_VERSION", "KIND", "PLURAL"):
        if not isinstance(getattr(kind, attribute, None), str):
            raise PluginError(f"{where}: {kind.__name__} has no {attribute}")
    if not is_custom(kind) or api.KINDS.get(kind.KIND) is kind:
        return
    if needs_group and "/" not in kind.API_VERSION:
        raise PluginError(f'{where}: {kind.__name__}.API_VERSION is "{kind.API_VERSION}", expected "group/version"')
    shipped = api.KINDS.get(kind.KIND)
    if not needs_group and shipped is not None and shipped.API_VERSION == kind.API_VERSION:
        raise PluginError(f"{where}: {_text(kind)} ships with Steersman; name steersman.api.{shipped.__name__}")
    try:
        msgspec.json.Decoder(kind)
        check_readable(kind())
    except PLUGIN_FAULTS as cause:
        raise PluginError(f"{where}: objects of {kind.__name__} cannot be read: {describe_fault(cause)}") from cause


def _text(kind: type[api.Object]) -> str:
    return f"{kind.KIND} of {kind.API_VERSION}"
