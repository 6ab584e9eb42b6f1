# SPDX-License-Identifier: Apache-2.0
"""Plugins of a document are merged with the default plugins."""

from __future__ import annotations

from steersman.config import PluginEntry, PluginSet
from steersman.config.defaults import merged_set

_DEFAULTS = PluginSet(enabled=(PluginEntry(name="A"), PluginEntry(name="B", weight=2), PluginEntry(name="C")))


def _merged(enabled: list[PluginEntry] | None = None, disabled: list[str] | None = None) -> list[tuple[str, int]]:
    custom = PluginSet(enabled=tuple(enabled or ()), disabled=tuple(PluginEntry(name=name) for name in disabled or ()))
    return [(plugin.name, plugin.weight) for plugin in merged_set(_DEFAULTS, custom).enabled]


def test_without_a_word_the_defaults_stay() -> None:
    assert _merged() == [("A", 0), ("B", 2), ("C", 0)]


def test_new_plugins_follow_the_defaults_in_order() -> None:
    assert _merged([PluginEntry(name="Y"), PluginEntry(name="X", weight=3)]) == [
        ("A", 0),
        ("B", 2),
        ("C", 0),
        ("Y", 0),
        ("X", 3),
    ]


def test_a_default_that_is_enabled_again_keeps_its_place_and_takes_the_weight() -> None:
    assert _merged([PluginEntry(name="B", weight=7)]) == [("A", 0), ("B", 7), ("C", 0)]


def test_of_repeated_entries_the_last_replaces_the_default_and_the_others_stay() -> None:
    assert _merged([PluginEntry(name="B", weight=7), PluginEntry(name="B", weight=8)]) == [
        ("A", 0),
        ("B", 8),
        ("C", 0),
        ("B", 7),
    ]


def test_a_disabled_default_is_gone() -> None:
    assert _merged(disabled=["B", "Unknown"]) == [("A", 0), ("C", 0)]


def test_a_default_that_is_disabled_and_enabled_moves_to_the_end() -> None:
    assert _merged([PluginEntry(name="A")], ["A"]) == [("B", 2), ("C", 0), ("A", 0)]


def test_a_star_disables_all_defaults() -> None:
    assert _merged([PluginEntry(name="C", weight=1)], ["*"]) == [("C", 1)]


def test_disabled_entries_lose_their_weight() -> None:
    merged = merged_set(_DEFAULTS, PluginSet(disabled=(PluginEntry(name="A", weight=5),)))
    assert merged.disabled == (PluginEntry(name="A"),)
