# SPDX-License-Identifier: Apache-2.0
"""Measures of a sweep's own, tables of every run, and comparisons in pairs of runs with the same seed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyarrow import parquet
from tests.sweep.sweeps import write_scenario, write_sweep

from steersman import Simulation
from steersman.base.errors import InputError, SteersmanError
from steersman.base.report import Table
from steersman.cli import sweep_table
from steersman.simulation.results.confidence import estimate
from steersman.simulation.sweep import run

MEASURES = """
import math

def _helper(result):
    return len(result.placements)

def half_of_the_pods(result):
    return _helper(result) / 2

def none_of_them(result):
    return None
"""


def test_own_measures_become_columns(tmp_path: Path) -> None:
    path = write_sweep(tmp_path, measures=["measures.py"])
    (tmp_path / "measures.py").write_text(MEASURES)
    result = run(path, output=tmp_path / "out", workers=2)
    assert {row["half_of_the_pods"] for row in result.rows} == {11.0}
    columns = parquet.read_table(tmp_path / "out" / "results.parquet").to_pydict()
    assert columns["half_of_the_pods"] == [11.0] * 6
    assert columns["none_of_them"] == [None] * 6
    assert "_helper" not in columns
    assert "measures.py" in json.loads((tmp_path / "out" / "manifest.json").read_text())["inputs"]
    assert "half_of_the_pods".upper() in sweep_table.table(result.cells, None)[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1", "has no measure"),
        ("def pending(result): return 1", 'is the name of another column (got "pending")'),
        ("def broken(: pass", "SyntaxError"),
    ],
)
def test_a_wrong_file_of_measures_is_named_before_anything_runs(tmp_path: Path, text: str, expected: str) -> None:
    path = write_sweep(tmp_path, measures=["measures.py"])
    (tmp_path / "measures.py").write_text(text)
    with pytest.raises(SteersmanError) as refusal:
        run(path, workers=1)
    assert expected in str(refusal.value)
    assert "measures.py" in str(refusal.value)


def test_a_measure_that_fails_is_reported_with_its_name(tmp_path: Path) -> None:
    path = write_sweep(tmp_path, measures=["measures.py"], seeds=1)
    (tmp_path / "measures.py").write_text("def ratio(result):\n    return 1 / 0\n")
    assert [str(row["error"]).partition(":")[0] for row in run(path, workers=1).failed] == ["measure ratio"] * 2
    (tmp_path / "measures.py").write_text("def ratio(result):\n    return 'a'\n")
    assert "could not convert string to float" in str(run(path, workers=1).failed[0]["error"])


def test_tables_of_every_run_are_written_and_survive_an_interruption(tmp_path: Path) -> None:
    write_scenario(tmp_path)
    inputs, parameters = [{"scenario": "day.yaml"}], {"rate": [60, 120]}
    path = write_sweep(tmp_path, inputs=inputs, parameters=parameters, seeds=2, keep=["placements", "series"])
    result = run(path, output=tmp_path / "out", workers=2)
    table = parquet.read_table(tmp_path / "out" / "placements").to_pylist()
    assert {(row["configuration"], row["parameter.rate"], row["seed"]) for row in table} == {
        (name, rate, seed) for name in ("spread", "pack") for rate in (60.0, 120.0) for seed in (0, 1)
    }
    for row in result.rows:
        of_run = [
            each
            for each in table
            if (each["configuration"], each["parameter.rate"], each["seed"])
            == (row["configuration"], row["parameter.rate"], row["seed"])
        ]
        assert len(of_run) == row["pods"]
    assert len(list((tmp_path / "out" / "series").glob("*.parquet"))) == 8
    assert "PAR1" not in (tmp_path / "out" / "journal.jsonl").read_text()
    before = {file: file.read_bytes() for file in (tmp_path / "out").rglob("*.parquet")}
    assert len(run(path, output=tmp_path / "out", resume=True).rows) == 8
    assert {file: file.read_bytes() for file in (tmp_path / "out").rglob("*.parquet")} == before


def test_tables_of_runs_need_a_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"keep: needs a folder to write to; give output=…"):
        run(write_sweep(tmp_path, keep=["placements"]), workers=1)


def test_configurations_are_compared_in_pairs_of_runs_with_the_same_seed(tmp_path: Path) -> None:
    write_scenario(tmp_path)
    path = write_sweep(tmp_path, inputs=[{"scenario": "day.yaml"}], parameters={"rate": [60, 120]}, seeds=4)
    result = run(path, workers=1)
    differences = result.compare()
    assert [(cell.configuration, cell.parameters["rate"], cell.runs) for cell in differences] == [
        ("pack", 60, 4),
        ("pack", 120, 4),
    ]
    values = {(row["configuration"], row["parameter.rate"], row["seed"]): row["utilisation.cpu"] for row in result.rows}
    expected = [float(str(values["pack", 120, s])) - float(str(values["spread", 120, s])) for s in range(4)]
    assert differences[1].estimates["utilisation.cpu"] == estimate(expected)
    assert differences[0].estimates["arrived"].mean == 0, "the same seed gives the same arrivals"
    assert [cell.configuration for cell in result.compare("pack")] == ["spread", "spread"]
    assert len(result.to_dict()["differences"]) == 2
    with pytest.raises(
        InputError, match='is not a configuration of the sweep \\(got "packs"\\); there are spread, pack'
    ):
        result.compare("packs")


def test_differences_are_printed_and_reported(tmp_path: Path) -> None:
    result = run(write_sweep(tmp_path), workers=1)
    assert Simulation.load(tmp_path / "cluster.yaml").run().pending
    lines = sweep_table.as_lines(result, None)
    assert "Differences from spread, runs with the same seed in pairs:" in lines
    tables = [section for section in result.report().sections if isinstance(section, Table)]
    assert "Differences from spread" in [table.title for table in tables]
