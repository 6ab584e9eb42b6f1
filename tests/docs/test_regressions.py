# SPDX-License-Identifier: Apache-2.0
"""Every test that tests/regressions.md names is there."""

from __future__ import annotations

import re

import pytest
from scripts.lockfile import ROOT

ROWS = [
    line
    for line in (ROOT / "tests" / "regressions.md").read_text("utf-8").splitlines()
    if line.startswith("| ") and "::" in line
]


def named_tests(row: str) -> list[tuple[str, str]]:
    """File and name; … stands for the file of the one before."""
    found: list[tuple[str, str]] = []
    for file, name in re.findall(r"`([\w/.…]+)::(\w+)`", row.rpartition(" | ")[2]):
        found.append((found[-1][0] if file == "…" else file, name))
    return found


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[2:60].split(" |")[0])
def test_the_tests_of_a_fault_exist(row: str) -> None:
    tests = named_tests(row)
    assert tests
    for file, name in tests:
        assert f"def {name}(" in (ROOT / file).read_text("utf-8"), f"{file} has no {name}"
