# SPDX-License-Identifier: Apache-2.0
"""Differences between two configurations, in the terms of their documents.

Used by the command line. Profiles and plugin arguments are matched by name, so that an inserted
profile does not make all later ones look changed. Differences without effect are ignored: other
spellings of the same plugins and weights, and the order of unordered lists.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

import msgspec

from steersman.base import hide_passwords
from steersman.config.configuration import ExtensionPoint, KubeSchedulerProfile, SchedulerConfiguration
from steersman.config.document_tree import PlainValue
from steersman.config.documents import to_document, without_secrets
from steersman.config.effective_configuration import ExpansionError, effective_profile
from steersman.config.plugins.in_tree import IN_TREE_CAPABILITIES, Capabilities

_IDENTITIES: Final = ("schedulerName", "urlPrefix", "name")
"""Fields by which the items of a list are matched."""
_UNORDERED: Final = frozenset(
    ("profiles", "pluginConfig", "resources", "ignoredResources", "ignoredResourceGroups", "managedResources")
)
"""Lists whose order has no meaning."""
NOT_SET: Final = "(not set)"


class ConfigurationChange(msgspec.Struct, frozen=True):
    """A path with different values; `None` where one side has no value."""

    path: str
    before: PlainValue
    after: PlainValue

    def __str__(self) -> str:
        return f"{self.path}: {_shown(self.before)} -> {_shown(self.after)}"


def diff(
    before: SchedulerConfiguration, after: SchedulerConfiguration, capabilities: Capabilities = IN_TREE_CAPABILITIES
) -> list[ConfigurationChange]:
    """Return the differences between two configurations that have an effect.

    `capabilities` has all plugins that may be named. Secrets are compared, not shown.
    """
    same = _profiles_with_the_same_plugins(before, after, capabilities)
    documents = (_without_plugins_of(same, to_document(one)) for one in (before, after))
    return [_public(change) for change in _changes("", *documents)]


def _profiles_with_the_same_plugins(
    before: SchedulerConfiguration, after: SchedulerConfiguration, capabilities: Capabilities
) -> set[str]:
    others = {profile.scheduler_name: profile for profile in after.profiles}
    return {
        profile.scheduler_name
        for profile in before.profiles
        if profile.scheduler_name in others and _runs_the_same(profile, others[profile.scheduler_name], capabilities)
    }


def _runs_the_same(profile: KubeSchedulerProfile, other: KubeSchedulerProfile, capabilities: Capabilities) -> bool:
    try:
        one, two = effective_profile(profile, capabilities), effective_profile(other, capabilities)
    except ExpansionError:
        return False  # unknown plugins cannot be expanded: compare them as written
    # Scores are added up in any order.
    ordered = [point for point in ExtensionPoint if point not in (ExtensionPoint.SCORE, ExtensionPoint.PLACEMENT_SCORE)]
    return (
        all(one.plugins_at(point) == two.plugins_at(point) for point in ordered)
        and one.score_weights == two.score_weights
        and one.placement_score_weights == two.placement_score_weights
    )


def _without_plugins_of(names: set[str], document: dict[str, PlainValue]) -> dict[str, PlainValue]:
    profiles = document.get("profiles")
    if not isinstance(profiles, list):
        return document
    return {**document, "profiles": [_without_plugins(profile, names) for profile in profiles]}


def _without_plugins(profile: PlainValue, names: set[str]) -> PlainValue:
    if not isinstance(profile, dict) or profile.get("schedulerName") not in names:
        return profile
    return {key: value for key, value in profile.items() if key != "plugins"}


def _shown(value: PlainValue) -> str:
    """Return the value on one line: words as in YAML, everything else as JSON."""
    if value is None:
        return NOT_SET
    is_word = isinstance(value, str) and value and value == value.strip() and value.isprintable()
    return str(value) if is_word else json.dumps(value, ensure_ascii=False)


def _public(change: ConfigurationChange) -> ConfigurationChange:
    field = change.path.rpartition(".")[2]
    before, after = (without_secrets({field: value}) for value in (change.before, change.after))
    assert isinstance(before, dict), "what goes in comes out"
    assert isinstance(after, dict), "what goes in comes out"
    return ConfigurationChange(hide_passwords(change.path), before[field], after[field])


def _changes(path: str, before: PlainValue, after: PlainValue) -> Iterator[ConfigurationChange]:
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _member_changes(path, before, after)
        return
    is_unordered = path.rpartition(".")[2] in _UNORDERED
    if is_unordered and _as_set(before) == _as_set(after):
        return
    keyed_before, keyed_after = _by_identity(before), _by_identity(after)
    if keyed_before is None or keyed_after is None or (not is_unordered and _reordered(keyed_before, keyed_after)):
        yield ConfigurationChange(path, before, after)
        return
    for name in dict.fromkeys([*keyed_before, *keyed_after]):
        yield from _changes(f"{path}[{name}]", keyed_before.get(name), keyed_after.get(name))


def _member_changes(
    path: str, before: dict[str, PlainValue], after: dict[str, PlainValue]
) -> Iterator[ConfigurationChange]:
    for key in dict.fromkeys([*before, *after]):
        where = f"{path}.{key}" if path else key
        yield from _changes(where, before.get(key), after.get(key))


def _as_set(value: PlainValue) -> PlainValue:
    return sorted(value, key=lambda item: json.dumps(item, sort_keys=True)) if isinstance(value, list) else value


def _by_identity(value: PlainValue) -> dict[str, PlainValue] | None:
    """Return the items of a list by unique name, or `None` if they have none."""
    if not isinstance(value, list):
        return None
    for identity in _IDENTITIES:
        names = [item.get(identity) if isinstance(item, dict) else None for item in value]
        if all(isinstance(name, str) for name in names) and len(set(map(str, names))) == len(value):
            return dict(zip(map(str, names), value, strict=True))
    return None


def _reordered(before: dict[str, PlainValue], after: dict[str, PlainValue]) -> bool:
    """Return whether common items have another order, which changes the list as a whole."""
    return [name for name in before if name in after] != [name for name in after if name in before]
