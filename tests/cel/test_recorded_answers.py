# SPDX-License-Identifier: Apache-2.0
"""Expressions against the answers of upstream's own implementation, recorded in `data`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from steersman.api.cel import AttributeValue, CelError, DeviceInput, Version, compile_device_selector

DATA = Path(__file__).parent / "data"
FILES = sorted(DATA.glob("*.jsonl"))


def attribute(value: dict[str, Any]) -> AttributeValue:
    ((kind, content),) = value.items()
    match kind:
        case "version":
            return Version(content)
        case "versions":
            return tuple(Version(text) for text in content)
        case "ints" | "bools" | "strings":
            return tuple(content)
    assert isinstance(content, bool | int | str)
    return content


def device(described: dict[str, Any]) -> DeviceInput:
    return DeviceInput(
        described["driver"],
        {name: attribute(value) for name, value in described["attributes"].items()},
        {name: capacity["value"] for name, capacity in described["capacity"].items()},
        described.get("multi"),
    )


def answer(expression: str, devices: list[DeviceInput], *, list_type_attributes: bool) -> dict[str, Any]:
    selector = compile_device_selector(expression, list_type_attributes=list_type_attributes)
    if selector.error is not None:
        return {"expression": expression, "compile_error": selector.error}
    results: list[dict[str, Any]] = []
    for one in devices:
        try:
            match, cost = selector.evaluate(one)
        except CelError as error:
            results.append({"error": str(error)})
        else:
            results.append({"match": match, "cost": cost})
    return {"expression": expression, "results": results}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_answers_are_upstreams(path: Path) -> None:
    head, *rows = [json.loads(line) for line in path.read_text().split("\n") if line]
    devices = [device(described) for described in head["devices"]]
    given = [answer(row["expression"], devices, list_type_attributes=head["list_type_attributes"]) for row in rows]
    assert [(ours, theirs) for ours, theirs in zip(given, rows, strict=True) if ours != theirs] == []


def test_all_kinds_of_expressions_are_recorded() -> None:
    assert {path.stem for path in FILES} >= {"syntax", "operators", "functions", "regular_expressions", "random"}
