# SPDX-License-Identifier: Apache-2.0
"""Writes the JSON schemas of the answers of `steersman explain`: `python -m scripts.explain_schemas`. A test compares them."""

from __future__ import annotations

import json
from pathlib import Path

from scripts.lockfile import ROOT
from steersman.explain import list_schema, schema

FOLDER = Path(ROOT) / "src" / "steersman" / "explain" / "schemas"


def texts() -> dict[str, str]:
    """The content of every file, by its name."""
    documents = {"Explanation.json": schema(), "ExplanationList.json": list_schema()}
    return {name: json.dumps(document, indent=2) + "\n" for name, document in documents.items()}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in texts().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
