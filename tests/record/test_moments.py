# SPDX-License-Identifier: Apache-2.0
"""A moment of a record is a simulation that stands still there."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.simulation.busy_clusters import busy_cluster
from tests.simulation.clusters import a_pod, nodes, pods

from steersman import api
from steersman.base.errors import InputError
from steersman.record import record_simulation, simulation_at
from steersman.simulation import Simulation


def placed(simulation: Simulation) -> dict[str, str]:
    return {key: pod.spec.node_name for key, pod in simulation.cluster.objects(api.Pod).items()}


@pytest.mark.parametrize("seconds", [0.0, 7.0, 31.5, 60.0])
def test_the_cluster_is_as_it_was(tmp_path: Path, seconds: float) -> None:
    simulation = busy_cluster(2)
    with record_simulation(simulation, tmp_path), busy_cluster(2) as then:
        simulation.run(until=60)
        then.run(until=seconds)
        expected = placed(then)
    with simulation_at(tmp_path, seconds) as found:
        assert placed(found) == expected
        assert found.now == seconds


def test_steps_that_came_later_are_left_out(tmp_path: Path) -> None:
    simulation = Simulation.load(nodes("n1"), pods(1))
    with record_simulation(simulation, tmp_path):
        simulation.run(until=10)
        simulation.add(a_pod("late").obj())
        simulation.run(until=20)
    with simulation_at(tmp_path, 9.0) as before, simulation_at(tmp_path, 15.0) as after:
        assert "default/late" not in placed(before)
        assert placed(after)["default/late"] == "n1"


def test_a_step_that_goes_on_for_too_long_is_taken_in_part(tmp_path: Path) -> None:
    simulation = busy_cluster(2)
    with record_simulation(simulation, tmp_path):
        while simulation.now < 1 and simulation.step() is not None:
            pass
        end = simulation.now
    with simulation_at(tmp_path, end / 2) as found:
        assert found.now == end / 2


def test_what_a_pod_waited_for_can_be_asked_at_any_time(tmp_path: Path) -> None:
    simulation = Simulation.load(nodes("n1"), pods(1, cpu="3"), a_pod("large", cpu="3").obj())
    with record_simulation(simulation, tmp_path):
        simulation.run(until=10)
        simulation.delete("pod/default/pod-0").run(until=600)
    assert simulation.result().explain("large").node == "n1"
    with simulation_at(tmp_path, 5.0) as found:
        assert "Insufficient cpu" in found.result().explain("large").message


@pytest.mark.parametrize("seconds", [-1.0, 11.0])
def test_a_time_outside_of_the_record_is_refused(tmp_path: Path, seconds: float) -> None:
    simulation = Simulation.load(nodes("n1"), pods(1))
    with record_simulation(simulation, tmp_path):
        simulation.run(until=10)
    with pytest.raises(InputError, match="the record covers 2026-01-01T00:00:00Z to 2026-01-01T00:00:10Z, 0 to 10 sec"):
        simulation_at(tmp_path, seconds)
