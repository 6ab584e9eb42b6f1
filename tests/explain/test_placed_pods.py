# SPDX-License-Identifier: Apache-2.0
"""A pod that has a node: why this one, by how much, whether it would win again, and what would move the pod."""

from __future__ import annotations

import pytest
from tests.explain.rejections import node

from steersman import InputError, Simulation
from steersman.explain import ExplainOptions, PlacementMargin, PodExplanation, PodState, explain_pod
from steersman.testing import make_pod


def standing_of(answer: PodExplanation) -> PlacementMargin:
    assert answer.placed is not None
    return answer.placed


def overtaken() -> Simulation:
    """`web` went to n1, which has been filled since."""
    simulation = Simulation.load(node("n1").obj(), make_pod("web").req(cpu="1").obj())
    simulation.run()
    simulation.add(node("n2").obj(), make_pod("late").req(cpu="2").node("n1").phase("Running").obj())
    return simulation


def test_the_decision_and_the_present_are_distinguished() -> None:
    answer = explain_pod(overtaken(), "web")
    placed = standing_of(answer)
    assert answer.state is PodState.PLACED
    assert placed.then is not None
    assert placed.then.runner_up == ""
    assert (placed.now.runner_up, placed.goes_to, placed.would_stay) == ("n2", "n2", False)
    assert answer.summary.startswith("n1 would not be chosen now: its score is ")


def test_the_plugin_that_makes_the_difference_comes_first_and_differences_sum_up() -> None:
    now = standing_of(explain_pod(overtaken(), "web")).now
    assert now.total is not None
    assert now.runner_up_total is not None
    assert now.differences[0].plugin == "NodeResourcesFit"
    assert sum(each.difference for each in now.differences) == now.total - now.runner_up_total


def test_the_text_names_the_plugins_and_what_is_missing() -> None:
    text = explain_pod(overtaken(), "web").text(5)
    assert "When the pod was placed: no other node fits." in text
    assert "n2, the best other node" in text
    assert ". n1 would need " in text
    assert "The pod would go to n2 now." in text


def test_equal_nodes_are_a_matter_of_chance() -> None:
    simulation = Simulation.load(node("n1").obj(), node("n2").obj(), make_pod("web").obj())
    simulation.run()
    answer = explain_pod(simulation, "web")
    placed = standing_of(answer)
    assert (placed.now.ties, placed.would_stay) == (2, True)
    assert "the choice among 2 nodes was random" in answer.text()


def test_where_it_would_go_without_its_node_is_tried() -> None:
    nodes = [node("n1", cpu="8").obj(), node("n2").obj(), node("n3").unschedulable().obj()]
    simulation = Simulation.load(*nodes, make_pod("web").req(cpu="1").obj())
    simulation.run()
    placed = standing_of(explain_pod(simulation, "web"))
    assert {placed.goes_to, placed.if_cordoned} == {"n1", "n2"}


def test_a_node_that_fits_and_loses_needs_points_or_a_preference() -> None:
    answer = explain_pod(overtaken(), "web", ExplainOptions(target="n1"))
    points, preference = standing_of(answer).changes
    assert points.startswith("n1 has ")
    assert "a preferred node affinity for kubernetes.io/hostname=n1 would move the pod there" in preference.lower()


def test_a_node_that_rejects_the_pod_says_why() -> None:
    nodes = [node("n1").obj(), node("n2").taint("dedicated", "gpu").obj()]
    simulation = Simulation.load(*nodes, make_pod("web").req(cpu="1").obj())
    simulation.run()
    (change,) = standing_of(explain_pod(simulation, "web", ExplainOptions(target="n2"))).changes
    assert change.startswith("n2 rejects the pod: TaintToleration")


def test_a_node_that_there_is_not_is_refused_with_similar_names() -> None:
    simulation = Simulation.load(node("worker-1").obj(), make_pod("web").obj())
    simulation.run()
    with pytest.raises(InputError, match="there is no node worker-2; similar names: worker-1"):
        explain_pod(simulation, "web", ExplainOptions(target="worker-2"))
