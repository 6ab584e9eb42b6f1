# SPDX-License-Identifier: Apache-2.0
"""Explanations of a simulation: recorded, repeated, or made of the state at the end."""

from __future__ import annotations

import msgspec
import pytest
from tests.simulation.clusters import a_node, a_pod, nodes, pods

from steersman import api
from steersman.base.errors import InputError
from steersman.scheduler.diagnosis import Outcome
from steersman.simulation import Simulation, SimulationError


def test_recorded_and_repeated_explanations_are_the_same() -> None:
    def load() -> Simulation:
        return Simulation.load(nodes("n1", "n2", "n3"), pods(5), seed=4)

    recorded = load().run(explain=["pod-3"]).explain("pod-3")
    repeated = load().run().explain("default/pod-3")
    assert recorded == repeated
    assert recorded.outcome is Outcome.SCHEDULED


def test_a_placed_pod_is_explained_as_it_was_decided_and_not_as_things_are_now() -> None:
    simulation = Simulation.load(nodes("n1"), pods(1))
    result = simulation.run()
    simulation.add(nodes("n2")).run()
    explained = result.explain("pod-0")
    assert [node.node for node in explained.nodes] == ["n1"]


def test_a_pending_pod_is_explained_by_the_state_at_the_end() -> None:
    result = Simulation.load(a_node("n1").unschedulable().obj(), a_pod("big", cpu="5").obj()).run()
    explained = result.explain("big")
    assert explained.outcome is Outcome.UNSCHEDULABLE
    assert explained.message == result.pending["default/big"].message
    assert [verdict.plugin for verdict in explained.node_explanation("n1").verdicts] == [
        "NodeUnschedulable",
        "NodeResourcesFit",
    ]


def test_a_pending_pod_of_an_earlier_result_is_explained_as_of_then() -> None:
    simulation = Simulation.load(nodes("n1", cpu="1"), a_pod("big", cpu="2").obj())
    earlier = simulation.run()
    simulation.add(nodes("n2")).run()
    assert [node.node for node in earlier.explain("big").nodes] == ["n1"]


def test_a_gated_pod_has_no_cycle_to_explain() -> None:
    result = Simulation.load(nodes("n1"), a_pod("gated").gate("example.com/wait").obj()).run()
    explained = result.explain("gated")
    assert explained.outcome is Outcome.NOT_TRIED
    assert "SchedulingGates" in explained.message


def test_pods_that_were_never_placed_here_cannot_be_explained() -> None:
    running = a_pod("running").node("n1").phase("Running").obj()
    result = Simulation.load(nodes("n1"), running).run()
    with pytest.raises(InputError, match="Pod default/running: was on n1 from the beginning"):
        result.explain("running")
    with pytest.raises(InputError, match=r"^Pod default/ghost: does not exist$"):
        result.explain("ghost")


def test_a_pod_of_another_namespace_is_named() -> None:
    result = Simulation.load(nodes("n1"), a_pod("web").namespace("shop").obj()).run()
    with pytest.raises(InputError, match="Pod default/web: does not exist; there is shop/web"):
        result.explain("web")


def test_of_many_namespaces_with_such_a_pod_some_are_named() -> None:
    result = Simulation.load(nodes("n1"), *(a_pod("web").namespace(f"shop-{i}").obj() for i in range(7))).run()
    with pytest.raises(
        InputError, match=r"there is shop-0/web, shop-1/web, shop-2/web, shop-3/web, shop-4/web and 2 more$"
    ):
        result.explain("web")


def test_a_simulation_that_cannot_be_repeated_says_so() -> None:
    simulation = Simulation.load(nodes("n1", cpu="1"), a_pod("big", cpu="2").obj())
    simulation.run()
    node = simulation.cluster.get(api.Node, "n1")
    amounts = {**node.status.allocatable, "cpu": "3"}
    grown = msgspec.structs.replace(node, status=msgspec.structs.replace(node.status, allocatable=amounts))
    simulation.cluster.update_status(grown)
    result = simulation.run()
    with pytest.raises(SimulationError, match="changed directly"):
        result.explain("big")
