# SPDX-License-Identifier: Apache-2.0
"""`diff`: what is different between two simulations or results."""

from __future__ import annotations

import json

import pytest
from tests.simulation.clusters import a_node, a_pod, nodes, pods

import steersman
from steersman.simulation import Simulation
from steersman.simulation.node_pools import PRICE_ANNOTATION


def test_a_fork_that_did_nothing_is_no_different() -> None:
    simulation = Simulation.load(nodes("n1", "n2"), pods(3))
    simulation.run()
    difference = steersman.diff(simulation, simulation.fork())
    assert difference.is_empty
    assert difference.utilisation["cpu"].before == difference.utilisation["cpu"].after == 3 / 8


def test_pods_that_find_room_and_pods_that_lose_theirs_are_distinguished() -> None:
    simulation = Simulation.load(nodes("n1"), a_pod("low", cpu="4").obj(), a_pod("waits", cpu="2").obj())
    simulation.run()
    with simulation.fork() as trial:
        trial.add(a_node("n2", cpu="2").obj(), a_pod("high", cpu="4").priority(10).obj()).run()
        difference = steersman.diff(simulation, trial)
    assert difference.evicted == {"default/low": "n1"}
    assert difference.added == {"default/high": "n1"}
    assert difference.freed == {"default/waits": "n2"}
    assert difference.moved == {}
    assert difference.newly_pending == {}
    assert json.loads(json.dumps(difference.to_dict()))["evicted"] == {"default/low": "n1"}


def test_pods_whose_node_went_are_newly_pending() -> None:
    simulation = Simulation.load(nodes("n1"), pods(1))
    simulation.run()
    after = simulation.fork().delete("node/n1")
    after.run()
    assert steersman.diff(simulation, after).newly_pending == {"default/pod-0": 'its node "n1" does not exist any more'}


def test_results_of_two_runs_are_compared_by_placements() -> None:
    one = Simulation.load(nodes("n1"), a_pod("web").obj(), a_pod("large", cpu="3500m").obj()).run()
    other = Simulation.load(nodes("n2", "n3"), a_pod("web").obj(), a_pod("large", cpu="3500m").obj()).run()
    difference = steersman.diff(one, other)
    assert difference.moved["default/web"][0] == "n1"
    assert difference.freed.keys() == {"default/large"}


def test_cost_is_that_of_all_nodes_before_and_after() -> None:
    simulation = Simulation.load(a_node("n1").label(PRICE_ANNOTATION, "0.5").obj())
    after = simulation.fork().add(a_node("n2").label(PRICE_ANNOTATION, "0.25").obj())
    cost = steersman.diff(simulation, after).cost
    assert cost.before == 0.5
    assert cost.after == pytest.approx(0.75)
