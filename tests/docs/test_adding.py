# SPDX-License-Identifier: Apache-2.0
"""The page about adding things names places and tests that exist."""

from __future__ import annotations

import re

import pytest
from scripts.lockfile import ROOT
from tests.docs.test_regressions import named_tests

ROWS = [
    line
    for line in (ROOT / "docs" / "contributing" / "adding.md").read_text("utf-8").splitlines()
    if line.startswith("| `")
]
#: The rows of a table: place, what, test.
PLACES = [place for row in ROWS for place in re.findall(r"`([^`]+)`", row.split(" | ")[0])]


@pytest.mark.parametrize("place", PLACES)
def test_a_place_exists(place: str) -> None:
    assert (ROOT / place).exists() or (ROOT / "src" / "steersman" / place).exists()


@pytest.mark.parametrize(("file", "name"), [found for row in ROWS for found in named_tests(row)])
def test_a_test_that_names_a_missing_place_exists(file: str, name: str) -> None:
    assert re.search(rf"^ *def {name}\(", (ROOT / file).read_text("utf-8"), re.MULTILINE)


def test_every_table_has_tests() -> None:
    sections = (ROOT / "docs" / "contributing" / "adding.md").read_text("utf-8").split("\n## ")[1:]
    assert len(sections) == 6
    assert all("::test_" in section for section in sections)
