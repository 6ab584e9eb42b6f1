# SPDX-License-Identifier: Apache-2.0
"""`steersman sweep`."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.commands import refused, steersman
from tests.sweep.sweeps import write_scenario, write_sweep

from steersman.simulation.sweep.journal import SweepJournal


def test_the_table_has_a_row_per_cell_with_means_and_intervals(tmp_path: Path) -> None:
    result = steersman("sweep", write_sweep(tmp_path), "--output", tmp_path / "out", "--workers", 1)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["CONFIGURATION", "RUNS", "SCHEDULED", "PENDING", "CPU", "MEMORY"]
    assert [line.split()[:2] for line in lines[1:3]] == [["spread", "3"], ["pack", "3"]]
    assert lines[-1].startswith("6 runs; means over seeds")
    assert lines[-1].endswith(f"rows are in {tmp_path / 'out'}/results.parquet")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "journal.jsonl",
        "manifest.json",
        "results.parquet",
    ]


def test_json_has_cells_and_rows(tmp_path: Path) -> None:
    result = steersman("sweep", write_sweep(tmp_path), "--output", tmp_path / "out", "--workers", 1, "-o", "json")
    document = json.loads(result.stdout)
    assert (document["runs"], document["done"], len(document["rows"]), len(document["cells"])) == (6, 6, 6, 2)
    assert set(document["cells"][0]["estimates"]["pending"]) == {"mean", "margin", "count"}


def test_a_report_is_written_if_it_is_wanted(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    path = write_sweep(tmp_path, description="Does packing help?")
    assert steersman("sweep", path, "--output", tmp_path / "out", "--workers", 1, "--report", page).exit_code == 0
    assert "Does packing help?" in page.read_text()


def test_the_folder_is_named_as_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_sweep(tmp_path, seeds=1)
    assert steersman("sweep", "sweep.yaml", "--workers", 1).exit_code == 0
    assert (tmp_path / "sweep.results" / "results.parquet").exists()


def test_results_are_not_written_over(tmp_path: Path) -> None:
    path = write_sweep(tmp_path, seeds=1)
    assert steersman("sweep", path, "--output", tmp_path / "out", "--workers", 1).exit_code == 0
    said = refused("sweep", path, "--output", tmp_path / "out", "--workers", 1)
    assert "has results of a sweep already; go on with --resume, or choose another folder with --output" in said
    assert steersman("sweep", path, "--output", tmp_path / "out", "--workers", 1, "--resume").exit_code == 0


def test_a_run_that_fails_ends_with_1_and_says_which(tmp_path: Path) -> None:
    write_scenario(tmp_path)
    text = (tmp_path / "day.yaml").read_text()
    (tmp_path / "day.yaml").write_text(text.replace("apply: more.yaml", "cordon: nobody"))
    path = write_sweep(tmp_path, configurations=None, inputs=[{"scenario": "day.yaml"}])
    result = steersman("sweep", path, "--output", tmp_path / "out", "--workers", 1)
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: run default day seed 0 (and 2 more runs): ")
    assert "nobody" in result.stderr


def test_ray_that_does_not_answer_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    said = refused("sweep", write_sweep(tmp_path), "--output", tmp_path / "out", "--ray", "127.0.0.1:1")
    assert "no Ray cluster answers" in said or "pip install 'steersman[ray]'" in said
    assert not (tmp_path / "out").exists()


def test_workers_and_ray_exclude_each_other(tmp_path: Path) -> None:
    result = steersman("sweep", write_sweep(tmp_path), "--workers", 2, "--ray", "auto")
    assert result.exit_code == 2
    assert "use one of them" in result.stderr


def test_a_report_that_cannot_be_written_is_refused_before_the_sweep(tmp_path: Path) -> None:
    page = tmp_path / "none" / "out.html"
    said = refused("sweep", write_sweep(tmp_path), "--output", tmp_path / "out", "--report", page)
    assert said == f'Error: {page}: cannot be written: there is no such directory (got "{page.parent}")'
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_a_sweep_that_is_ended_goes_on_with_resume(tmp_path: Path, end: signal.Signals) -> None:
    path, out = write_sweep(tmp_path, seeds=15), tmp_path / "out"
    command = [sys.executable, "-m", "steersman", "sweep", str(path), "--output", str(out), "--workers", "2"]
    journal = out / "journal.jsonl"
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0
    ) as process:
        while not journal.exists() or journal.read_bytes().count(b"\n") < 3:
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.02)
        os.killpg(process.pid, end) if end == signal.SIGINT else process.send_signal(end)
        _, said = process.communicate(timeout=60)
    done = journal.read_bytes().count(b"\n") - 1
    assert 2 <= done < 30
    if end == signal.SIGINT:
        assert process.returncode == 130
        assert said == (
            f"Error: interrupted; what is done is in {out}, and goes on with: "
            f"steersman sweep {path} --output {out} --resume\n"
        )
    assert steersman("sweep", path, "--output", out, "--workers", 1, "--resume").exit_code == 0
    assert steersman("sweep", path, "--output", tmp_path / "whole", "--workers", 1).exit_code == 0
    assert (out / "results.parquet").read_bytes() == (tmp_path / "whole" / "results.parquet").read_bytes()


def test_a_full_disk_is_named_with_the_folder_and_the_command_that_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_journal: SweepJournal, _line: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path, out = write_sweep(tmp_path), tmp_path / "out"
    monkeypatch.setattr(SweepJournal, "add", fail)
    assert refused("sweep", path, "--output", out, "--workers", 1) == (
        f"Error: {out}: cannot be written: No space left on device; what is done is in {out}, and goes on with: "
        f"steersman sweep {path} --output {out} --resume"
    )
    monkeypatch.undo()
    assert steersman("sweep", path, "--output", out, "--workers", 1, "--resume").exit_code == 0


def test_an_example_is_run_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied = steersman("examples", "copy", "sweep", "--to", tmp_path)
    assert copied.exit_code == 0
    path = tmp_path / "sweep" / "sweep.yaml"
    path.write_text(path.read_text().replace("seeds: 20", "seeds: 1").replace("[6, 12]", "[6]"))
    monkeypatch.setattr("steersman.cli.examples._INSTALLED", tmp_path)
    monkeypatch.chdir(tmp_path)
    result = steersman("sweep", "--example", "sweep", "--workers", 1)
    assert (result.exit_code, (tmp_path / "sweep.results" / "results.parquet").exists()) == (0, True)


def test_a_sweep_needs_a_file_or_an_example_that_has_one(tmp_path: Path) -> None:
    for arguments in ((), (write_sweep(tmp_path), "--example", "sweep")):
        result = steersman("sweep", *arguments)
        assert (result.exit_code, "Give either FILE or --example." in result.stderr) == (2, True)
    assert "example gang: has no sweep; use `steersman simulate --example gang" in refused("sweep", "--example", "gang")
