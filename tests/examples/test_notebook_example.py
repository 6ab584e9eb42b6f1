# SPDX-License-Identifier: Apache-2.0
"""The notebook of the examples, cell by cell as a notebook would run it; `make e2e` runs it in Jupyter's own kernel.

Cells with the tag `pandas` are left out here: the environment of the tests has no pandas.
"""

from __future__ import annotations

import ast
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "notebook"


def run_cell(source: str, names: dict[str, Any]) -> object:
    """What a notebook would show: the value of a cell's last line, if that is an expression."""
    body = ast.parse(source)
    last = body.body[-1]
    if not isinstance(last, ast.Expr):
        exec(compile(body, "<cell>", "exec"), names)
        return None
    exec(compile(ast.Module(body.body[:-1], []), "<cell>", "exec"), names)
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)


def test_every_cell_runs_and_shows_what_it_is_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(EXAMPLE, tmp_path / "notebook")
    monkeypatch.chdir(folder)
    cells = [cell for cell in json.loads((folder / "shop.ipynb").read_text())["cells"] if cell["cell_type"] == "code"]
    names: dict[str, Any] = {}
    shown = [
        run_cell("".join(cell["source"]), names) for cell in cells if "pandas" not in cell["metadata"].get("tags", ())
    ]
    pages = [value._repr_html_() for value in shown if hasattr(value, "_repr_html_")]
    assert len(pages) == 3
    assert "Simulation of 7 nodes" in pages[0]
    assert "20 of 22 pods scheduled on 7 nodes" in pages[1]
    assert "Does not fit on 7 nodes" in pages[2]
    assert capsys.readouterr().out == "pending: 2 now, 0 with two more nodes\n"
    assert "All 22 pods are scheduled, on 9 nodes." in (folder / "report.html").read_text()


def test_the_notebook_is_kept_without_outputs() -> None:
    """They would be out of date with the next change."""
    cells = json.loads((EXAMPLE / "shop.ipynb").read_text())["cells"]
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)
