# SPDX-License-Identifier: Apache-2.0
"""The table of validation rules: its notation, and that all of its sections are valid and used."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from steersman.api import validation
from steersman.api.validation import rule_table
from steersman.api.validation.rule_table import Rules, sections

_USED = re.compile(r'_rules(?:\.kind)?\(\s*"([\w ]+)"')
_KINDS = re.compile(r'"([A-Z]\w+)"')
_REFERENCE = re.compile(r"@(\w+(?: \w+)*)")


def owners() -> Iterator[tuple[Rules, str]]:
    """Yield the modules with rules, and their sources."""
    for info in pkgutil.iter_modules(validation.__path__):
        module = import_module(f"steersman.api.validation.{info.name}")
        if hasattr(module, "_rules"):
            yield module._rules, Path(str(module.__file__)).read_text("utf-8")


def used_sections(source: str) -> set[str]:
    """Return the sections that a module names, and those that these refer to."""
    found = set(_USED.findall(source))
    if "_rules.kind(kind)" in source:
        found |= {name for name in _KINDS.findall(source) if name in sections()}
    found |= {name for name in re.findall(r'"(\w+)"', source) if name in sections()}
    prefixes = tuple(re.findall(r'_rules[(, ]+f"([\w ]+ )\{', source))
    found |= {name for name in sections() if prefixes and name.startswith(prefixes)}
    waiting = list(found)
    while waiting:
        for name in _REFERENCE.findall("\n".join(sections()[waiting.pop()])):
            if name not in found:
                found.add(name)
                waiting.append(name)
    return found


def test_every_section_is_used_and_names_only_known_checks() -> None:
    used: set[str] = set()
    for rules, source in owners():
        for section in used_sections(source):
            rules.compiled(section)
            used.add(section)
    assert used == {name for name in sections() if not name.endswith(" update")}


def test_every_section_of_changes_belongs_to_a_section_of_its_kind() -> None:
    assert all(name.removesuffix(" update") in sections() for name in sections())


@pytest.fixture
def errors_of(monkeypatch: pytest.MonkeyPatch) -> Any:
    def errors(rules: str, value: Any) -> list[str]:
        monkeypatch.setattr(rule_table, "sections", lambda: {"object": tuple(rules.splitlines())})
        return [str(error) for error in Rules({})("object", "spec", value)]

    return errors


def test_a_rule_does_not_apply_to_an_absent_value(errors_of: Any) -> None:
    assert errors_of("name: name_label", {}) == []


def test_a_required_value_must_be_present_and_valid(errors_of: Any) -> None:
    assert errors_of("name: required(must be set) name_label", {}) == ["spec.name: Required value: must be set"]
    assert errors_of("count: required at_least(3)", {"count": 2}) == [
        "spec.count: Invalid value: 2: must be greater than or equal to 3"
    ]


def test_an_absent_number_counts_as_zero_if_the_rule_says_so(errors_of: Any) -> None:
    assert errors_of("count: number positive", {}) == ["spec.count: Invalid value: 0: must be greater than zero"]


def test_a_rule_applies_to_each_element(errors_of: Any) -> None:
    assert errors_of("ports[*].port: port_number", {"ports": [{"port": 1}, {"port": 0}]}) == [
        "spec.ports[1].port: Invalid value: 0: must be between 1 and 65535, inclusive"
    ]


def test_an_error_applies_only_if_all_its_conditions_hold(errors_of: Any) -> None:
    rule = "b if a=x|y and not c?: forbidden may not be set"
    assert errors_of(rule, {"a": "x"}) == ["spec.b: Forbidden: may not be set"]
    assert errors_of(rule, {"a": "z"}) == errors_of(rule, {"a": "x", "c": 0}) == []


def test_an_absent_object_counts_as_empty_after_an_exclamation_mark(errors_of: Any) -> None:
    assert errors_of("a.b: required", {}) == []
    assert errors_of("a!.b: required", {}) == ["spec.a.b: Required value"]


def test_a_reported_path_replaces_that_of_the_field(errors_of: Any) -> None:
    assert errors_of("a.b as c: required", {"a": {}}) == ["spec.c: Required value"]
