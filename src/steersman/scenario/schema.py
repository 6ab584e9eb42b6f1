# SPDX-License-Identifier: Apache-2.0
"""The JSON schema of scenarios, for editors: made of the structs in `document`, and shipped as `scenario.schema.json`."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from steersman.scenario.document import SCENARIO_KIND, SCENARIO_VERSION, ScenarioDocument

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """The schema, as it is shipped; it says what `field_check` checks, and not what depends on files."""
    (reference,), parts = msgspec.json.schema_components((ScenarioDocument,), ref_template="#/$defs/{name}")
    top = parts.pop(reference["$ref"].rpartition("/")[2])
    top["properties"]["apiVersion"] = {**top["properties"]["apiVersion"], "const": SCENARIO_VERSION}
    top["properties"]["kind"] = {**top["properties"]["kind"], "const": SCENARIO_KIND}
    return {"$schema": DRAFT, **top, "title": SCENARIO_KIND, "required": ["apiVersion", "kind"], "$defs": parts}
