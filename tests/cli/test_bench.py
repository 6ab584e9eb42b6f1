# SPDX-License-Identifier: Apache-2.0
"""`steersman bench`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.commands import refused, steersman
from tests.report.pages import built_page
from tests.testing.bench.workload_texts import CREATE_NODES, MEASURED_PODS, test_case, write

pytestmark = pytest.mark.usefixtures("frozen_past")

WORKLOADS = [
    {"name": "quick", "threshold": 0.001, "labels": ["short"]},
    {"name": "slow", "threshold": 1e9},
]


def file_of(folder: Path) -> str:
    return write(folder, test_case(CREATE_NODES, MEASURED_PODS, workloads=WORKLOADS))


def test_the_table_has_a_line_for_every_workload(tmp_path: Path) -> None:
    result = steersman("bench", file_of(tmp_path))
    assert result.exit_code == 0
    header, quick, slow = (line.split() for line in result.stdout.splitlines())
    assert header[:4] == ["WORKLOAD", "PODS", "SECONDS", "PODS/S"]
    assert quick[:2] == ["Case/quick", "4"]
    assert quick[-2] == "0.001"
    assert slow[-2:] == ["1e+09", "0.0×"]


def test_latencies_are_printed_when_they_are_wanted(tmp_path: Path) -> None:
    result = steersman("bench", file_of(tmp_path), "--test", "Case/quick", "--latencies")
    lines = result.stdout.splitlines()
    position = lines.index("Case/quick, ms")
    assert lines[position + 1].split() == ["NUMBER", "AVERAGE", "P50", "P90", "P99"]
    assert lines[position + 2].startswith("attempt, scheduled  ")


def test_json_holds_all_that_was_measured(tmp_path: Path) -> None:
    (document,) = json.loads(steersman("bench", file_of(tmp_path), "--labels", "short", "-o", "json").stdout)
    assert (document["testCase"], document["workload"], document["verdict"]) == ("Case", "quick", "measured")
    (measurement,) = document["measurements"]
    assert measurement["pods"] == 4
    assert measurement["threshold"] == 0.001
    assert measurement["podsPerSecond"]["average"] > 0
    assert {latency["metric"] for latency in measurement["latenciesMs"]} >= {
        "scheduler_scheduling_attempt_duration_seconds"
    }


def test_workloads_are_listed_without_being_run(tmp_path: Path) -> None:
    result = steersman("bench", file_of(tmp_path), "--list")
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["WORKLOAD", "THRESHOLD", "LABELS"],
        ["Case/quick", "0.001", "short"],
        ["Case/slow", "1e+09"],
    ]


def test_less_than_the_required_ratio_is_a_failure(tmp_path: Path) -> None:
    result = steersman("bench", file_of(tmp_path), "--require", "10")
    assert result.exit_code == 1
    assert result.stderr == "Error: Case/slow reaches 0.0 times its threshold, less than 10\n"
    assert steersman("bench", file_of(tmp_path), "--require", "10", "--labels", "short").exit_code == 0


def test_what_is_unsupported_is_said_and_no_failure(tmp_path: Path) -> None:
    create = {"opcode": "createAny", "templatePath": "gadget.yaml", "namespace": "a"}
    file = write(tmp_path, test_case(create, MEASURED_PODS), gadget="apiVersion: v1\nkind: Gadget\n")
    result = steersman("bench", file)
    assert result.exit_code == 0
    heading, line = result.stdout.splitlines()[-2:]
    assert heading == "UNSUPPORTED"
    assert line.startswith("Case/small: createAny (operation 0): ")
    assert "is not a kind that Steersman reads" in line


def test_data_items_are_written_where_they_are_wanted(tmp_path: Path) -> None:
    result = steersman("bench", file_of(tmp_path), "--test", "Case/quick", "--data-items", tmp_path / "out")
    (file,) = (tmp_path / "out").iterdir()
    assert result.stderr == f"wrote {file}\n"
    assert json.loads(file.read_text())["version"] == "v1"


def test_decisions_are_compared_with_uncached_ones(tmp_path: Path) -> None:
    result = steersman("bench", file_of(tmp_path), "--test", "Case/quick", "--check-uncached")
    assert "Note: 4 evaluations are the same without caches (Case/quick)" in result.stdout


def test_workloads_are_told_as_they_end_when_that_is_wanted(tmp_path: Path) -> None:
    result = steersman("bench", file_of(tmp_path), "-v")
    quick, slow = result.stderr.splitlines()
    assert quick.startswith("Case/quick: measured, ")
    assert slow.endswith(" pods/s")


def test_nothing_selected_is_reported(tmp_path: Path) -> None:
    assert steersman("bench", file_of(tmp_path), "--labels", "ghost").stdout == "no workload was selected\n"


def test_a_file_that_cannot_be_used_is_one_line(tmp_path: Path) -> None:
    file = write(tmp_path, test_case({"opcode": "createPod"}, MEASURED_PODS))
    assert refused("bench", file).startswith(
        f"Error: {file}: test case Case: workloadTemplate[0].opcode: is not an operation"
    )
    assert "cannot be read" in refused("bench", tmp_path / "ghost.yaml")


def test_the_repositorys_own_workloads_run(tmp_path: Path) -> None:
    file = Path(__file__).parents[2] / "benchmarks" / "workloads" / "performance-config.yaml"
    result = steersman("bench", file, "--labels", "short", "-o", "json")
    assert result.exit_code == 0
    documents = json.loads(result.stdout)
    assert len(documents) == 9
    assert {document["verdict"] for document in documents} == {"measured"}


def test_a_report_has_the_measurements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built_page(tmp_path, monkeypatch)
    page = tmp_path / "out.html"
    result = steersman("bench", file_of(tmp_path), "--report", page)
    assert result.exit_code == 0
    assert result.stderr == f"wrote {page}\n"
    text = page.read_text()
    assert "1 of 2 thresholds are reached." in text
    assert "Case/quick" in text
