# SPDX-License-Identifier: Apache-2.0
"""Tests of `make figures` on a small checkout."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts.structure_figures import Checkout, main

READER = '''"""Reads."""

from typing import Any

from steersman import api
from steersman.api import codec
from steersman.api.meta import Object

LIMIT = 3
"""At most."""


def read(thing: Any) -> Any:
    # Private.
    return Scheduler(thing._queue, codec, api, Object)
'''


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    package = tmp_path / "src" / "steersman"
    for name in ("api", "run"):
        (package / name).mkdir(parents=True)
        (package / name / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    (package / "run" / "reader.py").write_text(READER)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text("\n".join(("x" * 121, "| " + "x" * 121, "```", "x" * 121, "```")))
    for name in ("README", "CONTRIBUTING", "CHANGELOG"):
        (tmp_path / f"{name}.md").write_text("Three words here.\n")
    return tmp_path


def test_every_figure_counts_what_its_name_says(checkout: Path) -> None:
    assert Checkout(checkout).figures() == {
        "lines": 15,
        "code lines": 7,
        "modules": 4,
        "entries directly under src/steersman": 3,
        "imports into another package past its doors": 1,
        "imports of another package through its doors": 1,
        "reads of another object's private attributes": 1,
        "constructions of Scheduler": 1,
        "Any": 2,
        "words of README": 3,
        "words of CONTRIBUTING": 3,
        "words of all docs": 15,
        "prose lines over 120 characters": 1,
    }


def test_the_figures_of_another_checkout_are_printed_beside(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(checkout)]) == 0
    modules = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("modules"))
    here, there, difference = modules.replace(",", "").split()[1:]
    assert int(here) - int(there) == int(difference) > 0
    assert int(there) == 4
