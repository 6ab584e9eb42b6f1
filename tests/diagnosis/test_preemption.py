# SPDX-License-Identifier: Apache-2.0
"""Explanations of pods that make room for themselves."""

from __future__ import annotations

from steersman import Simulation, api
from steersman.scheduler.diagnosis import Outcome
from steersman.testing import PodBuilder, make_disruption_budget, make_node, make_pod


def a_node(name: str) -> api.Node:
    return make_node(name).capacity(cpu="4", pods=10).obj()


def running(name: str, node: str, priority: int = 0) -> PodBuilder:
    pod = make_pod(name).req(cpu="4").priority(priority).node(node).phase("Running")
    return pod.started("2025-12-31T00:00:00Z")


def a_simulation() -> Simulation:
    budget = make_disruption_budget("web").selector({"app": "web"}).allows(0).obj()
    pods = [running("web", "n1").label("app", "web").obj(), running("batch", "n2", 5).obj()]
    return Simulation.load(a_node("n1"), a_node("n2"), budget, *pods)


def mighty(priority: int = 100) -> api.Pod:
    return make_pod("mighty").req(cpu="4").priority(priority).obj()


def test_candidates_and_the_rule_that_decided_are_shown() -> None:
    result = a_simulation().add(mighty()).run(until=1.0, explain=["mighty"])
    explanation = result.explain("mighty")
    assert explanation.outcome is Outcome.UNSCHEDULABLE
    room = explanation.preemption
    assert room is not None
    assert (room.nominated_node, room.decided_by) == ("n2", "fewest violations of disruption budgets")
    assert {c.node: c.pdb_violations for c in room.candidates} == {"n1": 1, "n2": 0}
    text = explanation.table()
    assert "Preemption on n2: 2 candidates among 2 nodes examined" in text
    assert "* n2    default/batch (5)" in text


def test_a_pod_that_was_placed_thanks_to_it_still_says_who_had_to_go() -> None:
    result = a_simulation().add(mighty()).run()
    explanation = result.explain("mighty")
    assert explanation.outcome is Outcome.SCHEDULED
    assert explanation.nominated_only
    assert explanation.preemption is not None
    assert explanation.to_dict()["preemption"]["nominatedNode"] == "n2"


def test_room_that_cannot_be_made_is_mentioned() -> None:
    result = a_simulation().add(mighty(priority=0)).run(explain=["mighty"])
    explanation = result.explain("mighty")
    assert explanation.preemption is not None
    assert explanation.preemption.nominated_node == ""
    assert "Preemption would not help; 2 nodes examined." in explanation.table()


def test_a_pod_that_fits_has_nothing_to_say_about_it() -> None:
    simulation = Simulation.load(a_node("n1"), a_node("n2"))
    explanation = simulation.add(mighty()).run(explain=["mighty"]).explain("mighty")
    assert explanation.preemption is None
