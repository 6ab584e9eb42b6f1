# SPDX-License-Identifier: Apache-2.0
"""Reference of scenarios: every field of the document, and every number, from the structs that read them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from scripts.site.markdown import code, table
from steersman.base.document_versions import SCENARIO_VERSION
from steersman.simulation.scenario import MEASURES, json_schema


def scenario_page() -> str:
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    schema = json_schema()
    yield from ("# Scenarios", "")
    yield f"Documents of kind `Scenario`, `{SCENARIO_VERSION}`; see [Play a scenario](../how-to/scenarios.md)."
    yield "A field that is not here is an error. Times are numbers of seconds or durations such as `1h30m`; those that may"
    yield "depend on chance say so. Editors complete and check a document by the JSON schema that is shipped as"
    yield "`steersman/simulation/scenario/scenario.schema.json`."
    yield from ("", "## Scenario", "", *_fields(schema))
    for name, part in schema["$defs"].items():
        yield from (f"## {name}", "", f"{part.get('description', '')}", "", *_fields(part))
    yield from ("## Numbers", "", "What `measure` and `expect` name.", "")
    yield from table(("number", "meaning"), ((code(name), text) for name, text in MEASURES.items()))


def _fields(part: dict[str, Any]) -> list[str]:
    required = set(part.get("required", ()))
    rows = (
        (code(name), _kind(field), "required" if name in required else _default(field), field.get("description", ""))
        for name, field in part["properties"].items()
    )
    return [*table(("field", "value", "default", "meaning"), rows), ""]


def _kind(field: dict[str, Any]) -> str:
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in field:
        kinds = [_kind(choice) for choice in field["anyOf"]]
        return " or ".join(dict.fromkeys(kind for kind in kinds if kind != "null"))
    if "enum" in field:
        return ", ".join(code(str(value)) for value in field["enum"])
    if field.get("type") == "array":
        inner = _kind(field.get("items", {}))
        return f"list of {inner}" if inner else "list"
    return {"object": "map", "": "any"}.get(str(field.get("type", "")), str(field.get("type")))


def _default(field: dict[str, Any]) -> str:
    default = field.get("default")
    return "" if default in (None, "", [], {}) else code(json.dumps(default))
