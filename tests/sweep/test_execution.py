# SPDX-License-Identifier: Apache-2.0
"""Sweeps from file to file: the same numbers as single simulations, and the same bytes however the runs were done."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from pyarrow import parquet
from tests.sweep.sweeps import objects, write_scenario, write_sweep

import steersman
from steersman.base.errors import InputError
from steersman.simulation.scenario import MEASURES, run_scenario
from steersman.simulation.sweep import SweepProgress, run
from steersman.simulation.sweep.measures import COUNTS, placements_digest

FILES = ("manifest.json", "results.parquet")


def contents(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in FILES]


class Interrupted(Exception):
    """Stands for whatever ends a sweep in the middle."""


def interrupt_after(runs: int) -> object:
    def on_progress(progress: SweepProgress) -> None:
        if progress.done == runs:
            raise Interrupted

    return on_progress


def test_a_run_is_the_simulation_with_its_seed(tmp_path: Path) -> None:
    rows = run(write_sweep(tmp_path), workers=1).rows
    assert [(row["configuration"], row["seed"]) for row in rows] == [
        (name, seed) for name in ("spread", "pack") for seed in range(3)
    ]
    for row in rows:
        config = tmp_path / "pack.yaml" if row["configuration"] == "pack" else None
        alone = steersman.Simulation.load(tmp_path / "cluster.yaml", config=config, seed=int(str(row["seed"]))).run()
        assert row["placements"] == placements_digest(alone)
        assert (row["scheduled"], row["pending"]) == (alone.summary.scheduled, alone.summary.pending)
        assert row["utilisation.cpu"] == alone.utilisation.cluster["cpu"].fraction
        assert row["fragmentation.cpu"] == alone.series.fragmentation["cpu"][-1]


def test_a_run_of_a_scenario_is_the_scenario_with_its_seed_and_parameters(tmp_path: Path) -> None:
    write_scenario(tmp_path)
    result = run(
        write_sweep(tmp_path, configurations=None, inputs=[{"scenario": "day.yaml"}], parameters={"rate": [30, 90]}),
        workers=1,
    )
    assert [(row["parameter.rate"], row["seed"]) for row in result.rows] == [
        (rate, seed) for rate in (30, 90) for seed in range(3)
    ]
    for row in result.rows:
        alone = run_scenario(
            tmp_path / "day.yaml", seed=int(str(row["seed"])), parameters={"rate": int(str(row["parameter.rate"]))}
        )
        assert row["placements"] == placements_digest(alone)
        assert {name: row[name] for name in alone.numbers} == alone.numbers
    assert len({row["placements"] for row in result.rows}) == 6


def test_parameters_reach_configurations(tmp_path: Path) -> None:
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "pluginConfig": [
                    {
                        "name": "NodeResourcesFit",
                        "args": {
                            "scoringStrategy": {"type": "${strategy}", "resources": [{"name": "cpu", "weight": 1}]}
                        },
                    }
                ]
            }
        ],
    }
    parameters = {"strategy": ["LeastAllocated", "MostAllocated"]}
    least, most = run(
        write_sweep(tmp_path, configurations=[{"config": config}], parameters=parameters, seeds=1), workers=1
    ).rows
    packed = run(write_sweep(tmp_path, configurations=[{"config": "pack.yaml"}], seeds=1), workers=1).rows[0]
    assert most["placements"] == packed["placements"]
    assert least["placements"] != most["placements"]


def test_the_document_may_be_a_dict_with_objects(tmp_path: Path) -> None:
    document = {
        "apiVersion": "steersman.dev/v1alpha1",
        "kind": "Sweep",
        "inputs": [{"name": "here", "manifests": objects()}],
        "seeds": [1],
    }
    from_files = run(write_sweep(tmp_path, seeds=[1]), workers=1).rows[0]
    assert run(document, workers=1).rows[0]["placements"] == from_files["placements"]


def test_results_are_the_same_bytes_from_one_process_and_from_two(tmp_path: Path) -> None:
    path = write_sweep(tmp_path)
    run(path, output=tmp_path / "one", workers=1)
    run(path, output=tmp_path / "two", workers=2)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_an_interrupted_sweep_goes_on_and_ends_with_the_same_bytes(tmp_path: Path) -> None:
    path = write_sweep(tmp_path)
    run(path, output=tmp_path / "whole", workers=1)
    for done in (2, 3):
        with pytest.raises(Interrupted):
            run(path, output=tmp_path / "parts", workers=1, resume=True, on_progress=interrupt_after(done))  # type: ignore[arg-type]
    seen: list[int] = []
    run(path, output=tmp_path / "parts", workers=1, resume=True, on_progress=lambda at: seen.append(at.done))
    assert seen == [4, 5, 6]
    assert contents(tmp_path / "whole") == contents(tmp_path / "parts")


def test_a_sweep_that_is_done_is_not_run_again(tmp_path: Path) -> None:
    path = write_sweep(tmp_path)
    run(path, output=tmp_path / "out", workers=1)
    before = contents(tmp_path / "out")
    seen: list[int] = []
    result = run(path, output=tmp_path / "out", resume=True, on_progress=lambda at: seen.append(at.done))
    assert (seen, result.done) == ([], 6)
    assert contents(tmp_path / "out") == before


def test_a_sweep_does_not_go_on_with_other_input(tmp_path: Path) -> None:
    path = write_sweep(tmp_path)
    run(path, output=tmp_path / "out", workers=1)
    (tmp_path / "cluster.yaml").write_text((tmp_path / "cluster.yaml").read_text().replace("700m", "600m"))
    with pytest.raises(InputError) as caught:
        run(path, output=tmp_path / "out", workers=1, resume=True)
    assert str(caught.value) == (
        f"{tmp_path}/out: cannot go on: inputs.cluster.yaml has changed since the sweep was begun; "
        "begin another sweep with another --output"
    )


def test_files_that_change_while_it_runs_change_no_run(tmp_path: Path) -> None:
    path = write_sweep(tmp_path)
    expected = run(path, workers=1).rows

    def change(_: SweepProgress) -> None:
        (tmp_path / "cluster.yaml").write_text("")

    assert run(path, workers=1, on_progress=change).rows == expected


def test_the_parquet_file_has_a_row_per_run_and_types_that_fit(tmp_path: Path) -> None:
    result = run(write_sweep(tmp_path), output=tmp_path / "out", workers=1)
    table = parquet.read_table(tmp_path / "out" / "results.parquet")
    types = {field.name: str(field.type) for field in table.schema}
    assert table.num_rows == 6
    assert types["seed"] == types["pending"] == "int64"
    assert types["utilisation.cpu"] == types["waitP99"] == types["seconds"] == "double"
    assert types["configuration"] == types["placements"] == types["error"] == "string"
    assert table.column("scheduled").to_pylist() == [row["scheduled"] for row in result.rows]
    assert not {"worker", "cpuSeconds", "time"} & set(types)


def test_the_manifest_names_inputs_versions_and_results(tmp_path: Path) -> None:
    run(write_sweep(tmp_path), output=tmp_path / "out", workers=1)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert set(manifest["inputs"]) == {"cluster.yaml", "pack.yaml"}
    assert all(value.startswith("sha256:") for value in manifest["inputs"].values())
    assert set(manifest["versions"]) == {"steersman", "kubeScheduler", "python", "numpy"}
    assert (manifest["seeds"], manifest["cells"], manifest["runs"]) == ([0, 1, 2], 2, 6)
    assert manifest["results"]["rows"] == 6
    assert str(tmp_path) not in json.dumps(manifest)


def test_files_of_scenarios_are_in_the_manifest(tmp_path: Path) -> None:
    write_scenario(tmp_path)
    run(write_sweep(tmp_path, inputs=[{"scenario": "day.yaml"}], seeds=1), output=tmp_path / "out", workers=1)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert list(manifest["inputs"]) == ["day.yaml", "job.yaml", "more.yaml", "nodes.yaml", "pack.yaml"]


def test_a_run_that_cannot_be_carried_out_does_not_stop_the_others(tmp_path: Path) -> None:
    write_scenario(tmp_path)
    text = (tmp_path / "day.yaml").read_text()
    (tmp_path / "day.yaml").write_text(
        text.replace("at: 5m", "at: 6m\n  cordon: nobody").replace("apply: more.yaml", "")
    )
    inputs = [{"scenario": "day.yaml"}, {"manifests": ["cluster.yaml"]}]
    result = run(write_sweep(tmp_path, configurations=None, inputs=inputs), workers=1)
    assert [row["input"] for row in result.failed] == ["day"] * 3
    assert all("nobody" in str(row["error"]) for row in result.failed)
    assert [cell.failed for cell in result.cells] == [3, 0]
    assert "pending" in result.cells[1].estimates


def test_a_cell_has_means_with_intervals(tmp_path: Path) -> None:
    spread, pack = run(write_sweep(tmp_path, seeds=5), workers=1).cells
    assert (spread.configuration, spread.input, spread.runs) == ("spread", "cluster", 5)
    assert spread.estimates["nodes"].mean == 4
    assert spread.estimates["nodes"].margin == 0
    assert spread.estimates["utilisation.cpu"].mean != pack.estimates["utilisation.cpu"].mean


def test_plugins_travel_with_the_sweep(tmp_path: Path) -> None:
    (tmp_path / "last.py").write_text(
        "from steersman.framework import ScorePlugin\n\n\n"
        "class LastNode(ScorePlugin):\n"
        '    name = "LastNode"\n\n'
        "    def score(self, pod, node):\n"
        '        return 100 if node.name == "n3" else 0\n'
    )
    path = write_sweep(tmp_path, configurations=[{}, {"name": "last", "plugins": ["last.py"]}], seeds=2)
    rows = run(path, output=tmp_path / "out", workers=2).rows
    assert len({row["placements"] for row in rows}) >= 2
    alone = steersman.Simulation.load(tmp_path / "cluster.yaml", plugins=[tmp_path / "last.py"], seed=1).run()
    assert rows[-1]["placements"] == placements_digest(alone)


def test_a_worker_that_is_killed_changes_no_byte(tmp_path: Path) -> None:
    path = write_sweep(tmp_path, seeds=6)
    run(path, output=tmp_path / "whole", workers=1)
    killed: list[int] = []

    def kill(progress: SweepProgress) -> None:
        journal = (tmp_path / "out" / "journal.jsonl").read_text()
        worker = int(journal.splitlines()[-1].rpartition(":")[2].strip('"}'))
        if not killed:
            killed.append(worker)
            os.kill(worker, signal.SIGKILL)

    run(path, output=tmp_path / "out", workers=2, on_progress=kill)
    assert killed
    assert contents(tmp_path / "whole") == contents(tmp_path / "out")


def test_whole_numbers_are_among_those_that_scenarios_measure() -> None:
    assert set(MEASURES) >= COUNTS
