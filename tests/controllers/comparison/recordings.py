# SPDX-License-Identifier: Apache-2.0
"""What kube-controller-manager v1.36.4 made of each scenario, recorded: `recorded/NAME.json`.

Plain clones compare our controllers with these files. `make e2e` runs the real controllers and finds out whether the files
still say what they do; `make e2e TESTS="tests/e2e/controllers --record"` writes them anew.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Final

import msgspec
from tests.controllers.comparison.running import Result
from tests.controllers.comparison.scenario import FOLDER, Scenario

RECORDED: Final = Path(__file__).parent / "recorded"


class Recording(msgspec.Struct, frozen=True):
    """A result, and which text of the scenario led to it."""

    scenario: str
    result: Result


def digest(scenario: Scenario) -> str:
    """Of the scenario's file."""
    return hashlib.sha256((FOLDER / f"{scenario.name}.yaml").read_bytes()).hexdigest()[:16]


def recorded_result(scenario: Scenario) -> Result:
    """Raises `ValueError` when the scenario has changed since, or has never been recorded."""
    path = RECORDED / f"{scenario.name}.json"
    how = 'make e2e TESTS="tests/e2e/controllers --record" records it'
    if not path.exists():
        raise ValueError(f"{path}: there is no recording of this scenario; {how}")
    recording = msgspec.json.decode(path.read_bytes(), type=Recording)
    if recording.scenario != digest(scenario):
        raise ValueError(f"{path}: the scenario has changed since this was recorded; {how}")
    return recording.result


def record(scenario: Scenario, result: Result) -> None:
    """One line per object, so that a change shows where it is."""
    RECORDED.mkdir(exist_ok=True)
    text = _lines(msgspec.to_builtins(Recording(digest(scenario), result)))
    (RECORDED / f"{scenario.name}.json").write_text(text + "\n")


def _lines(value: object, depth: int = 0) -> str:
    """JSON, broken into lines down to the objects."""
    inner = "  " * (depth + 1)
    if isinstance(value, dict) and value and depth < 4:
        fields = [f"{inner}{json.dumps(name)}: {_lines(item, depth + 1)}" for name, item in value.items()]
        return "{\n" + ",\n".join(fields) + "\n" + "  " * depth + "}"
    if isinstance(value, list) and value and depth < 6:
        return (
            "[\n" + ",\n".join(inner + json.dumps(item, sort_keys=True) for item in value) + "\n" + "  " * depth + "]"
        )
    return json.dumps(value, sort_keys=True)
