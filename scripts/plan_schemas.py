# SPDX-License-Identifier: Apache-2.0
"""Writes the JSON schemas of the answers of `steersman plan …`: `python -m scripts.plan_schemas`. A test compares them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path

from scripts.lockfile import ROOT
from steersman import plan

FOLDER = Path(ROOT) / "src" / "steersman" / "plan" / "schemas"


def answers() -> Iterator[type[plan.PlanAnswer]]:
    """Yield every kind of answer that `steersman.plan` exports."""
    for found in (getattr(plan, name) for name in plan.__all__):
        if inspect.isclass(found) and issubclass(found, plan.PlanAnswer) and found is not plan.PlanAnswer:
            yield found


def texts() -> dict[str, str]:
    """The content of every file, by its name."""
    return {f"{kind.KIND}.json": json.dumps(plan.schema(kind), indent=2) + "\n" for kind in answers()}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in texts().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
