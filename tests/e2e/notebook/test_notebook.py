# SPDX-License-Identifier: Apache-2.0
"""Notebooks and data frames with the real things: Jupyter's kernel, pandas, polars, in an environment of their own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[3]
SECONDS: Final = 300.0


@pytest.fixture(scope="session")
def notebook_python() -> str:
    found = os.environ.get("NOTEBOOK_PYTHON", "")
    if not found and os.environ.get("CI") != "true":
        pytest.skip("`make e2e` installs Jupyter's kernel, pandas and polars, and sets NOTEBOOK_PYTHON")
    return found


def printed(python: str, script: str, *arguments: object) -> Any:
    done = subprocess.run(
        [python, str(Path(__file__).with_name(script)), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)


def test_the_example_runs_in_jupyter_and_shows_pages(notebook_python: str, tmp_path: Path) -> None:
    folder = shutil.copytree(ROOT / "examples" / "notebook", tmp_path / "notebook")
    simulation, result, explanation, pods, usage, larger, page = printed(
        notebook_python, "execute_notebook.py", folder / "shop.ipynb"
    )
    assert "Simulation of 7 nodes" in simulation[0]["text/html"]
    assert "20 of 22 pods scheduled" in result[0]["text/html"]
    assert "Does not fit on 7 nodes" in explanation[0]["text/html"]
    assert "search-1" in pods[0]["text/html"]
    assert "0.75" in usage[0]["text/html"]
    assert larger[0]["text"] == "pending: 2 now, 0 with two more nodes\n"
    assert int(page[0]["text/plain"]) > 100_000
    assert "All 22 pods are scheduled" in (folder / "report.html").read_text()


def test_pandas_and_polars_hold_the_same_with_the_types_of_the_table(notebook_python: str) -> None:
    seen = printed(notebook_python, "data_frames.py")
    assert seen.pop("default") == "pandas"
    assert seen.pop("missing") == [False, True]
    for table in seen.values():
        assert table["equal"]
        assert len(set(table["rows"])) == 1
    placements = seen["placements"]
    assert (placements["pandas"]["bound_at"], placements["polars"]["bound_at"]) == ("float64", "Float64")
    assert (placements["pandas"]["attempts"], placements["polars"]["attempts"]) == ("int64", "Int64")
    assert placements["polars"]["is_pending"] == "Boolean"
