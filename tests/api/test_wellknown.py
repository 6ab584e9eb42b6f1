# SPDX-License-Identifier: Apache-2.0
"""Tests of the names and values that Kubernetes reserves."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import steersman
from steersman.api import Pod, PodSpec, wellknown

SOURCES = Path(steersman.__file__).parent
HOME = Path(wellknown.__file__)
#: Values that no other module may define as a constant. "default" and "Normal" mean other things elsewhere.
VALUES = tuple(
    value for name, value in vars(wellknown).items() if name.isupper() and value not in ("default", "Normal", "Warning")
)


def duplicates(path: Path) -> list[str]:
    """Return the constants of a module whose value is a well-known one."""
    found = []
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            try:
                value = ast.literal_eval(node.value)
            except ValueError:
                continue
            if isinstance(value, str | tuple) and value in VALUES:
                found.append(f"{path.relative_to(SOURCES)}:{node.lineno}")
    return found


def test_well_known_values_are_defined_in_one_module() -> None:
    assert [line for path in sorted(SOURCES.rglob("*.py")) if path != HOME for line in duplicates(path)] == []


@pytest.mark.parametrize(("given", "expected"), [("", "default-scheduler"), ("batch", "batch")])
def test_a_pod_without_a_scheduler_name_belongs_to_the_default_scheduler(given: str, expected: str) -> None:
    assert Pod(spec=PodSpec(scheduler_name=given)).scheduler_name == expected
