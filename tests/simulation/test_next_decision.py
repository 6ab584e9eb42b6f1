# SPDX-License-Identifier: Apache-2.0
"""The next decision before it is made, and decisions that are made by the caller."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given, strategies as st
from tests.equivalence.examples import examples
from tests.simulation.busy_clusters import Action, busy_cluster, described, fingerprint, histories, validate
from tests.simulation.clusters import a_node, a_pod, nodes, pods
from tests.simulation.test_binding_that_waits import AsksForTime

from steersman.base.errors import InputError
from steersman.scheduler.cycle.decision import Scheduled, Unschedulable
from steersman.simulation import Simulation


def test_the_next_decision_names_the_pod_its_nodes_scores_and_verdicts() -> None:
    full = a_node("full", cpu="4").obj()
    simulation = Simulation.load(
        full, nodes("n1", "n2"), a_pod("there", cpu="4").node("full").obj(), a_pod("web").obj()
    )
    upcoming = simulation.next_decision()
    assert upcoming is not None
    assert upcoming.pod == "default/web"
    assert set(upcoming.feasible) == {"n1", "n2"} == set(upcoming.best)
    assert upcoming.verdicts == {"full": "Insufficient cpu"}
    assert upcoming.scores["n1"] == sum(scores["n1"] for scores in upcoming.scores_by_plugin.values()) > 0
    assert pickle.loads(pickle.dumps(upcoming)) == upcoming
    assert upcoming.to_dict()["best"] == list(upcoming.best)


def test_nothing_is_decided_by_looking() -> None:
    simulation = Simulation.load(nodes("n1"), pods(2))
    assert simulation.next_decision() == simulation.next_decision()
    assert simulation.result().summary.decisions == 0
    assert simulation.run().summary.scheduled == 2
    assert simulation.next_decision() is None


def test_a_pod_can_be_placed_on_another_feasible_node_than_the_best() -> None:
    simulation = Simulation.load(nodes("n1"), a_node("large", cpu="64").obj(), a_pod("web").obj())
    upcoming = simulation.next_decision()
    assert upcoming is not None
    assert upcoming.best == ("large",)
    decision = simulation.decide("n1")
    assert isinstance(decision, Scheduled)
    assert decision.node == "n1"
    assert simulation.run().placements["default/web"].node == "n1"
    validate(simulation)


@pytest.mark.parametrize(
    ("node", "why"),
    [("full", 'cannot be placed on node "full": Insufficient cpu'), ("ghost", "there is no such node")],
)
def test_a_node_that_is_not_feasible_is_refused_and_nothing_is_decided(node: str, why: str) -> None:
    full, there = a_node("full", cpu="1").obj(), a_pod("there").node("full").obj()
    simulation = Simulation.load(full, nodes("n1"), there, a_pod("web").obj())
    with pytest.raises(InputError, match=f"Pod default/web: .*{why}"):
        simulation.decide(node)
    assert simulation.result().summary.decisions == 0
    assert simulation.decide("n1").pod.key == "default/web"


def test_without_a_pod_that_waits_there_is_nothing_to_decide() -> None:
    with pytest.raises(InputError, match="no pod waits for a decision"):
        Simulation.load(nodes("n1")).decide("n1")


def test_a_pod_that_fits_nowhere_preempts_when_it_is_decided_on_without_a_node() -> None:
    simulation = Simulation.load(nodes("n1"), a_pod("low", cpu="4").obj())
    simulation.run()
    simulation.add(a_pod("high", cpu="4").priority(10).obj())
    upcoming = simulation.next_decision()
    assert upcoming is not None
    assert (upcoming.feasible, upcoming.verdicts) == ((), {"n1": "Insufficient cpu"})
    assert isinstance(simulation.decide(), Unschedulable)
    after = simulation.next_decision()
    assert after is not None
    assert after.feasible == ("n1",)
    assert simulation.decide("n1").pod.key == "default/high"
    assert [preempted.pod for preempted in simulation.run().preempted] == ["default/low"]


def test_a_decision_may_have_to_wait_for_a_permission() -> None:
    simulation = Simulation.load(nodes("n1", "n2"), a_pod("patient").obj(), plugins=[AsksForTime])
    simulation.decide("n2")
    assert simulation.result().placements["default/patient"].reason == "WaitingOnPermit"


def test_a_cluster_without_nodes_says_so() -> None:
    upcoming = Simulation.load(a_pod("web").obj()).next_decision()
    assert upcoming is not None
    assert (upcoming.feasible, upcoming.message) == ((), "no nodes available to schedule pods")


def test_decisions_of_the_caller_are_explained_and_repeated() -> None:
    simulation = Simulation.load(nodes("n1"), a_node("large", cpu="64").obj(), a_pod("web").obj())
    simulation.decide("n1")
    result = simulation.run()
    assert result.explain("web").node == "n1"
    assert pickle.loads(pickle.dumps(simulation)).result().placements == result.placements


@examples(10)
@given(histories, st.integers(0, 3), st.booleans())
def test_deciding_for_the_scheduler_what_it_would_have_decided_changes_nothing(
    history: list[Action], seed: int, samples: bool
) -> None:
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "percentageOfNodesToScore": 50 if samples else 100,
    }
    alone = busy_cluster(seed, config=document)
    for act in history:
        act(alone)
    led = alone.fork()
    for _ in range(6):
        upcoming = led.next_decision()
        decision = alone.step()
        assert (upcoming is None) == (decision is None)
        if upcoming is None or decision is None:
            break
        node = decision.node if isinstance(decision, Scheduled) else None
        assert upcoming.pod == decision.pod.key
        assert node is None or node in upcoming.best
        assert described(led.decide(node)) == described(decision)
    assert {**fingerprint(led), "result": None} == {**fingerprint(alone), "result": None}
    assert led.run(until=led.now + 50).placements == alone.run(until=alone.now + 50).placements


def test_time_passes_no_further_than_until_so_that_arrivals_can_be_put_in_between() -> None:
    """The second pod fits after a minute; half a minute after the start a third one arrives."""
    running = a_pod("first", cpu="4").annotation("steersman.dev/run-seconds", "60").obj()
    simulation = Simulation.load(nodes("n1"), running, a_pod("second", cpu="4").obj())
    for _ in range(2):
        simulation.decide()
    assert simulation.next_decision(until=30) is None
    assert (simulation.now, simulation.internals.driver.is_at_rest) == (30, False)
    simulation.add(a_pod("third", cpu="8").obj())
    upcoming = simulation.next_decision(until=30)
    assert upcoming is not None
    assert upcoming.pod == "default/third"
    simulation.decide()
    assert simulation.step(until=59) is None
    retried = simulation.next_decision(until=100)
    assert retried is not None
    assert (retried.pod, simulation.now) == ("default/second", 60)


def test_a_pod_that_is_left_pending_waits_until_something_may_make_room() -> None:
    running = a_pod("first").annotation("steersman.dev/run-seconds", "60").obj()
    simulation = Simulation.load(nodes("n1"), running, a_pod("second").obj())
    simulation.decide()
    decision = simulation.decide(wait=True)
    assert isinstance(decision, Unschedulable)
    placement = simulation.result().placements["default/second"]
    assert (placement.is_pending, placement.reason) == (True, "Unschedulable")
    assert placement.message == "left pending by the caller"
    upcoming = simulation.next_decision()
    assert upcoming is not None
    assert (upcoming.pod, simulation.now) == ("default/second", 60)
    assert simulation.fork().run().summary.scheduled == 2
    simulation.decide(wait=True)
    assert simulation.next_decision() is None
    validate(simulation)


def test_a_pod_cannot_both_wait_and_be_placed() -> None:
    simulation = Simulation.load(nodes("n1"), pods(1))
    with pytest.raises(InputError, match="cannot both wait and be placed"):
        simulation.decide("n1", wait=True)
    assert simulation.decisions == 0


def test_the_state_of_nodes_comes_as_arrays() -> None:
    gpu = a_node("n2", cpu="8").capacity(**{"cpu": "8", "example.com/gpu": "2"}).obj()
    simulation = Simulation.load(nodes("n1"), gpu, pods(3))
    simulation.run()
    arrays, nodes_of_result = simulation.node_arrays(), simulation.result().utilisation.nodes
    assert set(arrays.names) == {"n1", "n2"}
    for row, name in enumerate(arrays.names):
        for resource, usage in nodes_of_result[name].items():
            assert (arrays.allocatable[resource][row], arrays.requested[resource][row]) == (
                usage.allocatable,
                usage.requested,
            )
    arrays.requested["cpu"][:] = 0
    assert simulation.node_arrays().requested["cpu"].sum() == 3000


def test_what_is_shown_of_a_decision_and_of_a_simulation_is_one_short_line() -> None:
    simulation = Simulation.load(nodes(*(f"n{index}" for index in range(50))), pods(1))
    assert repr(simulation) == "Simulation(nodes=50, pods=1, decisions=0, now=0)"
    shown = repr(simulation.next_decision())
    assert shown.startswith("NextDecision(pod='default/pod-0', feasible=50 nodes, rejected=0, best=(")
    assert len(shown) < 150


@pytest.mark.parametrize("until", [-5, float("nan"), float("inf")])
def test_a_time_that_is_none_is_refused(until: float) -> None:
    simulation = Simulation.load(nodes("n1"), pods(1))
    for call in (simulation.run, simulation.advance, simulation.step, simulation.next_decision):
        with pytest.raises(InputError, match="until: is not a time"):
            call(until)
    assert (simulation.decisions, simulation.internals.journal.calls[1:]) == (0, [])
