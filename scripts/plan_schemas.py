# SPDX-License-Identifier: Apache-2.0
"""Writes the JSON schemas of the answers of `steersman plan …`: `python -m scripts.plan_schemas`. A test compares them."""

from __future__ import annotations

import json
from pathlib import Path

from scripts.lockfile import ROOT
from steersman.plan import ANSWERS, schema

FOLDER = Path(ROOT) / "src" / "steersman" / "plan" / "schemas"


def texts() -> dict[str, str]:
    """The content of every file, by its name."""
    return {f"{kind.KIND}.json": json.dumps(schema(kind), indent=2) + "\n" for kind in ANSWERS}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in texts().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
