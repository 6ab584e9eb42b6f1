# SPDX-License-Identifier: Apache-2.0
"""`steersman simulate --record`, `steersman replay` and `steersman history`."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

import pytest
from pyarrow import parquet
from tests.app.running import cluster, running_program
from tests.cli.commands import refused, steersman
from tests.client.following import until
from tests.client.serving import run

from steersman.base.errors import InputError
from steersman.record import history
from steersman.run.app import RecordOptions
from steersman.testing import make_node, make_pod

SEGMENT = "00000001.segment"
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
    assert (as_json.exit_code, document["apiVersion"], document["same"]) == (1, "replay.steersman.dev/v1", 6)
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
    rejected_by = document["entries"][1]["rejectedBy"]
    assert {"NodeAffinity", "NodeResourcesFit"} <= set(rejected_by)
    document = json.loads(steersman("history", record, "report", "--since", "10s", "-o", "json").stdout)
    assert [entry["at"] for entry in document["entries"]] == [30.0, 30.0]
    document = json.loads(steersman("history", record, "report", "--until", "10s", "-o", "json").stdout)
    assert [entry["at"] for entry in document["entries"]] == [0.0, 0.0]


def test_the_history_of_a_time_takes_what_it_prints(record: Path) -> None:
    for since in ("00:00:10", "2026-01-01T00:00:10Z", "01:00:10+01:00", "10s"):
        document = json.loads(steersman("history", record, "report", "--since", since, "-o", "json").stdout)
        assert [entry["at"] for entry in document["entries"]] == [30.0, 30.0]
    assert '--until: is not a time (got "noon"); write "14:05" (UTC)' in refused(
        "history", record, "report", "--until", "noon"
    )


@pytest.fixture
def live_record(tmp_path: Path) -> tuple[Path, list[int]]:
    """The record of a scheduler that has placed three pods, and how many blocks it had before each of them."""
    before: list[int] = []

    async def scenario() -> None:
        server = cluster()
        async with running_program(server, record=RecordOptions(str(tmp_path))) as program:
            await until(lambda: knows(tmp_path, "node/n0"))
            for name in ("first", "second", "third"):
                before.append(len(blocks(tmp_path)))
                server.store.create(make_pod(name).req(cpu="1").obj())
                await until(partial(knows, tmp_path, name, "bound"))
            assert await program.stopped() == 0

    run(scenario())
    return tmp_path, before


def knows(directory: Path, name: str, event: str = "added") -> bool:
    """Whether the record tells of the event already."""
    try:
        return event in [entry.event for entry in history(directory, name).entries]
    except InputError:
        return False


def blocks(directory: Path) -> list[int]:
    """Where the blocks of a record of one segment begin."""
    return [match.start() for match in re.finditer(b"BLK1", (directory / SEGMENT).read_bytes())]


def damage(directory: Path, block: int) -> None:
    content = bytearray((directory / SEGMENT).read_bytes())
    content[blocks(directory)[block + 1] - 1] ^= 1
    (directory / SEGMENT).write_bytes(content)


def test_a_replay_says_how_many_decisions_it_could_not_compare(live_record: tuple[Path, list[int]]) -> None:
    directory, before = live_record
    assert steersman("replay", directory).output == "3 of 3 decisions are the same\n"
    damage(directory, before[1])
    found = steersman("replay", directory)
    assert found.exit_code == 0
    assert found.stdout == "1 of 1 decisions are the same; 1 more could not be compared\n"


def test_a_replay_that_compares_nothing_does_not_pass_for_one_without_a_difference(
    live_record: tuple[Path, list[int]],
) -> None:
    directory, before = live_record
    damage(directory, before[0])
    found = steersman("replay", directory)
    assert (found.exit_code, found.stdout) == (2, "0 of 0 decisions are the same; 2 more could not be compared\n")


def test_an_explained_moment_of_a_live_cluster_says_when_the_pod_was_tried_next(tmp_path: Path) -> None:
    async def scenario() -> None:
        server = cluster()
        async with running_program(server, record=RecordOptions(str(tmp_path))):
            server.store.create(make_pod("large").req(cpu="16").obj())
            await until(partial(knows, tmp_path, "large", "unschedulable"))
            server.store.create(make_node("big").capacity(cpu="32", memory="16Gi", pods="110").obj())
            await until(partial(knows, tmp_path, "large", "bound"))

    run(scenario())
    first, second = (entry.at for entry in history(tmp_path, "large").entries if entry.attempt)
    before = steersman("explain", "large", "--record", tmp_path, "--at", str(first), "-o", "json")
    when = json.loads(before.stdout)["when"]
    assert when["nextAttemptSeconds"] == round(second - first, 3)
    assert re.fullmatch(
        r"The recorded scheduler tried it [\d.]+ s later, at \d{4}-\d\d-\d\dT[\d:]+Z: scheduled on big\.",
        when["nextAttempt"],
    )
    assert steersman("explain", "large", "--record", tmp_path).exit_code == 0


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
    assert "it is not in the record" in refused("history", record, "nobody")
    assert "holds a record already" in refused("simulate", "--example", "quickstart", "--record", record)
    file = tmp_path / "file"
    file.write_text("")
    assert "cannot be written" in refused("simulate", "--example", "quickstart", "--record", file)
    assert "cannot be read" in refused("replay", record, "--config", tmp_path / "missing.yaml")


def test_a_scenario_that_cannot_be_read_leaves_no_record(tmp_path: Path) -> None:
    message = refused("simulate", "--scenario", tmp_path / "scenario.yaml", "--record", tmp_path / "record")
    assert "scenario.yaml: cannot be read: No such file or directory" in message
    assert not (tmp_path / "record").exists()
