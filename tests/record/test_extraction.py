# SPDX-License-Identifier: Apache-2.0
"""A recorded attempt becomes a golden scenario, and a record a table."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.app.running import cluster, running_program
from tests.client.dispatching import stored
from tests.client.following import until
from tests.client.serving import run
from tests.simulation.busy_clusters import busy_cluster
from tests.simulation.clusters import a_pod, nodes, pods

from steersman.base.errors import InputError
from steersman.record import decision_table, history, record_simulation
from steersman.run.app import RecordOptions
from steersman.simulation import Simulation
from steersman.testing import make_pod
from steersman.testing.conformance.bundles import run_bundle
from steersman.testing.conformance.record_extraction import ExtractedScenario, extract


def agrees(extracted: ExtractedScenario, folder: Path) -> bool:
    file = folder / "case.jsonl"
    file.write_bytes(msgspec.json.encode(extracted.scenario))
    return all(case.agrees for case in run_bundle(str(file)))


def test_every_attempt_of_a_busy_cluster_is_a_scenario_that_holds(tmp_path: Path) -> None:
    with record_simulation(simulation := busy_cluster(2), tmp_path / "record"):
        simulation.run(until=60)
    tried = sorted({str(row[1]) for row in decision_table(tmp_path / "record").rows})
    assert len(tried) > 5
    for pod in tried:
        extracted = extract(tmp_path / "record", pod)
        assert agrees(extracted, tmp_path), pod
        assert not [note for note in extracted.notes if "the record says" in note], pod


def test_an_attempt_keeps_the_version_that_was_emulated(tmp_path: Path) -> None:
    simulation = Simulation.load(nodes("n1", "n2"), a_pod("small", cpu="1").obj(), emulated_version="1.37")
    with record_simulation(simulation, tmp_path / "record"):
        simulation.run(until=10)
    extracted = extract(tmp_path / "record", "small")
    assert extracted.scenario["version"] == "1.37"
    assert agrees(extracted, tmp_path)
    scores = extracted.scenario["expected"][0]["scores"]["plugins"]
    assert "VolumeBinding" in [plugin["name"] for plugin in scores]


def test_an_earlier_attempt_has_the_cluster_of_its_time(tmp_path: Path) -> None:
    simulation = Simulation.load(nodes("n1"), pods(1, cpu="3"), a_pod("large", cpu="3").obj())
    with record_simulation(simulation, tmp_path / "record"):
        simulation.run(until=10)
        simulation.delete("pod/default/pod-0").run(until=600)
    first, last = extract(tmp_path / "record", "large", 1), extract(tmp_path / "record", "large")
    assert first.scenario["expected"][0]["outcome"] == "unschedulable"
    assert last.scenario["expected"][0]["selected"] == "n1"
    assert agrees(first, tmp_path)
    with pytest.raises(InputError, match=r"attempt: is not there \(got 7\); the record has 2 attempts at it"):
        extract(tmp_path / "record", "large", 7)
    with pytest.raises(InputError, match="Pod default/nobody: the record has no attempt at it"):
        extract(tmp_path / "record", "nobody")


def test_an_attempt_on_a_live_cluster_is_a_scenario_that_holds(tmp_path: Path) -> None:
    async def scenario() -> None:
        server = cluster()
        async with running_program(server, record=RecordOptions(str(tmp_path / "record"))) as program:
            server.store.create(make_pod("small").req(cpu="1").obj())
            await until(lambda: stored(server, "small").spec.node_name)
            server.store.create(make_pod("large").req(cpu="16").obj())
            await until(lambda: stored(server, "large").status.conditions)
            assert await program.stopped() == 0

    run(scenario())
    for pod in ("small", "large"):
        extracted = extract(tmp_path / "record", pod)
        assert agrees(extracted, tmp_path)
        assert not [note for note in extracted.notes if "the record says" in note]


def test_a_record_is_a_table_of_decisions(tmp_path: Path) -> None:
    with record_simulation(simulation := busy_cluster(2), tmp_path):
        simulation.run(until=60)
    table = decision_table(tmp_path)
    assert len(table.rows) == simulation.decisions
    columns = table.columns()
    first = next(index for index, outcome in enumerate(columns["outcome"]) if outcome == "scheduled")
    (scheduled,) = [e for e in history(tmp_path, columns["pod"][first]).entries if e.event == "scheduled"][:1]
    assert columns["node"][first] == scheduled.node
    assert columns["bound_at"][first] is not None
