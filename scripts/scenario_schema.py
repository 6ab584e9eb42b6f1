# SPDX-License-Identifier: Apache-2.0
"""Writes the JSON schema of scenarios: `python -m scripts.scenario_schema`. A test compares it."""

from __future__ import annotations

import json
from pathlib import Path

from scripts.lockfile import ROOT
from steersman.simulation.scenario import json_schema

FILE = Path(ROOT) / "src" / "steersman" / "simulation" / "scenario" / "scenario.schema.json"


def text() -> str:
    """The content of the file."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
