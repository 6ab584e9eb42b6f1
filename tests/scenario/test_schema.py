# SPDX-License-Identifier: Apache-2.0
"""The JSON schema of scenarios is shipped, true to the structs, and says something about every field."""

from __future__ import annotations

from typing import Any

from scripts.scenario_schema import FILE, text

from steersman.simulation.scenario import json_schema


def test_the_schema_that_is_shipped_is_that_of_the_structs() -> None:
    assert FILE.read_text(encoding="utf-8") == text(), "python -m scripts.scenario_schema"


def test_every_field_has_a_description() -> None:
    parts: list[dict[str, Any]] = [json_schema(), *json_schema()["$defs"].values()]
    bare = [name for part in parts for name, field in part["properties"].items() if "description" not in field]
    assert bare == []


def test_unknown_fields_are_refused_by_the_schema_too() -> None:
    assert all(part["additionalProperties"] is False for part in json_schema()["$defs"].values())
