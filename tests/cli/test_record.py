# SPDX-License-Identifier: Apache-2.0
"""`steersman simulate --record`, `steersman replay` and `steersman history`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyarrow import parquet
from tests.cli.commands import refused, steersman

CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
"""


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("records") / "record"
    plain = steersman("simulate", "--example", "quickstart", "--seed", 1)
    found = steersman("simulate", "--example", "quickstart", "--seed", 1, "--record", directory)
    assert (found.exit_code, found.stdout) == (plain.exit_code, plain.stdout)
    return directory


def test_a_replay_decides_the_same(record: Path) -> None:
    found = steersman("replay", record)
    assert (found.exit_code, found.output) == (0, "18 of 18 decisions are the same\n")


def test_a_replay_with_another_configuration_shows_the_differences(
    record: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEERSMAN_WIDTH", "80")
    config = tmp_path / "config.yaml"
    config.write_text(CONFIG)
    found = steersman("replay", record, "--config", config)
    assert found.exit_code == 1
    lines = found.stdout.splitlines()
    assert lines[0].split() == ["TIME", "POD", "DIFFERS", "RECORDED", "NOW"]
    assert ["0s", "default/report", "outcome", "unschedulable", "alpha-2"] in [line.split() for line in lines]
    assert lines[-1] == "6 of 18 decisions are the same"
    assert max(map(len, lines)) <= 80
    as_json = steersman("replay", record, "--config", config, "-o", "json")
    document = json.loads(as_json.stdout)
    assert (as_json.exit_code, document["apiVersion"], document["same"]) == (1, "steersman.dev/replay/v1", 6)
    assert len(document["differences"]) == 12


def test_the_history_of_a_pod_has_every_attempt(record: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEERSMAN_WIDTH", "80")
    found = steersman("history", record, "report")
    assert found.exit_code == 0
    lines = found.stdout.splitlines()
    assert lines[0] == "pod/default/report"
    assert lines[-2].split() == ["30s", "scheduled", "(attempt", "2)", "alpha-2", "the", "only", "node", "that", "fits"]
    assert max(map(len, lines)) <= 80
    document = json.loads(steersman("history", record, "pod/default/report", "-o", "json").stdout)
    assert [entry["event"] for entry in document["entries"]] == ["added", "unschedulable", "scheduled", "bound"]
    document = json.loads(steersman("history", record, "report", "--since", "10s", "-o", "json").stdout)
    assert [entry["at"] for entry in document["entries"]] == [30.0, 30.0]
    document = json.loads(steersman("history", record, "report", "--until", "10s", "-o", "json").stdout)
    assert [entry["at"] for entry in document["entries"]] == [0.0, 0.0]


def test_the_history_of_a_node_has_its_pods(record: Path) -> None:
    found = steersman("history", record, "alpha-1").stdout.splitlines()
    assert found[0] == "node/alpha-1"
    assert ["0s", "bound", "default/db-2"] in [line.split() for line in found]


def test_every_decision_is_written_as_a_row_of_a_parquet_file(record: Path, tmp_path: Path) -> None:
    file = tmp_path / "decisions.parquet"
    assert steersman("history", record, "--parquet", file).exit_code == 0
    table = parquet.read_table(file)
    assert table.num_rows == 18
    rows = [row for row in table.to_pylist() if row["pod"] == "default/report"]
    first, second = rows
    assert (first["attempt"], first["outcome"], first["node"], first["bound_at"]) == (1, "unschedulable", None, None)
    assert first["message"].startswith("0/6 nodes are available: ")
    assert "NodeResourcesFit" in first["rejected_by"].split(",")
    assert (second["attempt"], second["outcome"], second["node"]) == (2, "scheduled", "alpha-2")
    assert second["bound_at"] == second["time"] == first["time"] + 30
    scored = [row for row in table.to_pylist() if row["total"] is not None]
    assert scored
    assert all(row["digest"] and row["feasible_nodes"] > 1 for row in scored)
    before = file.read_bytes()
    assert steersman("history", record, "--parquet", file).exit_code == 0
    assert file.read_bytes() == before, "the same record gives the same bytes"


def test_a_parquet_file_is_of_the_whole_record_and_has_to_be_writable(record: Path, tmp_path: Path) -> None:
    assert "--parquet writes the whole record" in steersman("history", record, "report", "--parquet", "x").output
    missing = tmp_path / "missing" / "x.parquet"
    assert str(missing) in refused("history", record, "--parquet", missing)


def test_records_that_cannot_be_used_are_refused_in_one_line(record: Path, tmp_path: Path) -> None:
    assert refused("replay", tmp_path) == (
        f"Error: {tmp_path}: holds no record; steersman simulate --record DIR writes one"
    )
    assert "knows nothing of it" in refused("history", record, "nobody")
    assert "holds a record already" in refused("simulate", "--example", "quickstart", "--record", record)
    file = tmp_path / "file"
    file.write_text("")
    assert "cannot be written" in refused("simulate", "--example", "quickstart", "--record", file)
    assert "cannot be read" in refused("replay", record, "--config", tmp_path / "missing.yaml")


def test_a_scenario_that_cannot_be_read_leaves_no_record(tmp_path: Path) -> None:
    message = refused("simulate", "--scenario", tmp_path / "scenario.yaml", "--record", tmp_path / "record")
    assert "scenario.yaml: cannot be read: No such file or directory" in message
    assert not (tmp_path / "record").exists()
