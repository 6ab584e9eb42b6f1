# SPDX-License-Identifier: Apache-2.0
"""Simulations and decisions travel between processes."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from tests.equivalence.examples import examples
from tests.simulation.busy_clusters import Action, busy_cluster, described, fingerprint, histories
from tests.simulation.clusters import a_pod, nodes, pods
from tests.simulation.test_binding_that_waits import TakesTime

from steersman.framework import NodeInfo, PodInfo, ScorePlugin
from steersman.scheduler.cycle.decision import Unschedulable
from steersman.simulation import Simulation, SimulationError

PLUGIN = """
from steersman.framework import ScorePlugin

class PrefersLast(ScorePlugin):
    name = "PrefersLast"

    def score(self, pod, node):
        return 100 if node.name == "n3" else 0
"""


@examples(6)
@given(histories)
def test_a_pickled_simulation_goes_on_where_it_was(history: list[Action]) -> None:
    simulation = busy_cluster(2)
    for act in history:
        act(simulation)
    again = pickle.loads(pickle.dumps(simulation))
    assert fingerprint(again) == fingerprint(simulation)
    assert again.run(until=again.now + 30).to_dict() == simulation.run(until=simulation.now + 30).to_dict()


def test_a_fork_can_be_pickled_and_so_can_a_simulation_that_was_committed_to() -> None:
    origin = Simulation.load(nodes("n1", "n2"), pods(3))
    origin.run()
    fork = origin.fork()
    fork.add(a_pod("more").obj()).run()
    assert fingerprint(pickle.loads(pickle.dumps(fork))) == fingerprint(fork)
    fork.commit()
    assert fingerprint(pickle.loads(pickle.dumps(origin))) == fingerprint(origin)


def test_a_simulation_whose_pods_wait_can_be_pickled() -> None:
    simulation = Simulation.load(nodes("n1"), pods(2), plugins=[TakesTime])
    simulation.run(until=5)
    assert pickle.loads(pickle.dumps(simulation)).run().to_dict() == simulation.run().to_dict()


def test_a_simulation_with_a_plugin_of_a_file_travels_to_another_process(tmp_path: Path) -> None:
    plugin = tmp_path / "prefers_last.py"
    plugin.write_text(PLUGIN)
    simulation = Simulation.load(nodes("n1", "n2", "n3"), plugins=[plugin])
    simulation.run()
    (tmp_path / "simulation.pickle").write_bytes(pickle.dumps(simulation))
    code = (
        "import pickle, sys\n"
        "from steersman.testing import make_pod\n"
        "sim = pickle.load(open(sys.argv[1], 'rb'))\n"
        "print(sim.add(make_pod('web').req(cpu='1').obj()).run().placements['default/web'].node)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "simulation.pickle")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, cwd=tmp_path)
    assert done.stdout == "n3\n"


def test_a_plugin_that_other_processes_cannot_find_is_named() -> None:
    class Hidden(ScorePlugin):
        name = "Hidden"

        def score(self, pod: PodInfo, node: NodeInfo) -> int:
            return 0

    simulation = Simulation.load(nodes("n1"), plugins=[Hidden])
    with pytest.raises(SimulationError, match=r"the simulation cannot be pickled: .*Hidden"):
        pickle.dumps(simulation)


def test_decisions_can_be_pickled_and_copied() -> None:
    simulation = Simulation.load(nodes("n1"), a_pod("web").obj(), a_pod("large", cpu="64").obj())
    for expected in (simulation.step(), simulation.step()):
        assert expected is not None
        for again in (pickle.loads(pickle.dumps(expected)), copy.deepcopy(expected)):
            assert described(again) == described(expected)
            assert again.pod.shape.requests == expected.pod.shape.requests
            if isinstance(expected, Unschedulable) and isinstance(again, Unschedulable):
                assert again.diagnosis.message() == expected.diagnosis.message()
