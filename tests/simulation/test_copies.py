# SPDX-License-Identifier: Apache-2.0
"""Results travel between processes, simulations are copied, and what is dropped leaves nothing behind."""

from __future__ import annotations

import copy
import gc
import logging
import pickle

import pytest
from tests.simulation.clusters import a_pod, nodes, pods
from tests.simulation.test_binding_that_waits import TakesTime

from steersman.base.errors import InputError
from steersman.simulation import Result, Simulation, SimulationError


def test_a_result_can_be_pickled() -> None:
    result = Simulation.load(nodes("n1"), pods(6)).run(explain=["pod-0"])
    again = pickle.loads(pickle.dumps(result))
    assert isinstance(again, Result)
    assert again.to_dict() == result.to_dict()
    assert again.events == result.events
    assert again.explain("pod-0") == result.explain("pod-0")


def test_a_pickled_result_says_why_it_cannot_explain() -> None:
    again = pickle.loads(pickle.dumps(Simulation.load(nodes("n1"), pods(2)).run()))
    with pytest.raises(SimulationError, match=r"default/pod-1 cannot be explained by a result that was pickled"):
        again.explain("pod-1")
    with pytest.raises(InputError, match="Pod default/ghost: is not among the placements"):
        again.explain("ghost")


def test_the_copy_of_a_result_explains() -> None:
    result = Simulation.load(nodes("n1"), pods(2)).run()
    assert copy.deepcopy(result).explain("pod-1").node == "n1"


def test_the_copy_of_a_simulation_goes_its_own_way() -> None:
    simulation = Simulation.load(nodes("n1"), pods(3), seed=7)
    simulation.run(until=30)
    other = copy.deepcopy(simulation)
    assert other.now == 30.0
    assert other.result().to_dict() == simulation.result().to_dict()
    assert other.add(a_pod("more").obj()).run().summary.scheduled == 4
    assert simulation.run().summary.scheduled == 3


def test_a_simulation_whose_cluster_was_changed_directly_is_copied_but_not_pickled() -> None:
    simulation = Simulation.load(nodes("n1"), pods(1))
    simulation.cluster.create(a_pod("direct").obj())
    assert copy.deepcopy(simulation).run().summary.scheduled == 2
    with pytest.raises(SimulationError, match="cannot be pickled: its cluster was changed directly"):
        pickle.dumps(simulation)
    simulation.run()
    with pytest.raises(SimulationError, match="cannot be pickled: its cluster was changed directly"):
        pickle.dumps(simulation)


def test_a_simulation_that_is_dropped_while_pods_wait_leaves_no_task(caplog: pytest.LogCaptureFixture) -> None:
    simulation = Simulation.load(nodes("n1"), pods(2), plugins=[TakesTime])
    with caplog.at_level(logging.WARNING, logger="asyncio"):
        assert simulation.run(until=5).summary.pending == 2
        del simulation
        gc.collect()
    assert caplog.messages == []


def test_a_configuration_may_be_a_dict() -> None:
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "mine"}],
    }
    mine = a_pod("mine").scheduler("mine").obj()
    assert Simulation.load(nodes("n1"), mine, config=document).run().summary.scheduled == 1


@pytest.mark.parametrize(
    ("document", "complaint"),
    [({"kind": "Nothing"}, "apiVersion"), ({"profiles": {1, 2}}, "configuration: is not a document of plain values")],
)
def test_a_dict_that_is_no_configuration_is_refused(document: dict[str, object], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        Simulation.load(nodes("n1"), config=document)
