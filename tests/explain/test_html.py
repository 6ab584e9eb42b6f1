# SPDX-License-Identifier: Apache-2.0
"""Answers in notebooks: the cause, groups of nodes, fixes and the next attempt as HTML, with foreign text escaped."""

from __future__ import annotations

from tests.explain.rejections import node

from steersman import Simulation
from steersman.explain import ExplainOptions, PodExplanation, explain_pod
from steersman.testing import make_pod


def html(answer: PodExplanation) -> str:
    return answer._repr_html_()


def test_a_pending_pod_has_its_cause_groups_of_nodes_and_fixes() -> None:
    simulation = Simulation.load(node("n1").obj(), make_pod("web").req(cpu="9").obj())
    with simulation.fork() as ended:
        ended.run()
        shown = html(explain_pod(ended, "web", ExplainOptions(loaded=simulation)))
    assert "The pod needs 9 cpu on one node" in shown
    assert "n1 lacks 5 cpu" in shown
    assert "Lower the cpu request" in shown
    assert "Next attempt" in shown


def test_a_placed_pod_has_the_margin_of_its_node() -> None:
    with Simulation.load(node("n1").obj(), make_pod("web").obj()) as simulation:
        simulation.run()
        shown = html(explain_pod(simulation, "web"))
    assert "Why here" in shown
    assert "no other node fits" in shown


def test_text_of_others_is_escaped() -> None:
    pod = make_pod("web").gate("example.com/wait").obj()
    with Simulation.load(node("n1").taint("<b>", "x").obj(), make_pod("big").obj(), pod) as simulation:
        simulation.run()
        shown = html(explain_pod(simulation, "big"))
    assert "<b>" not in shown
    assert "&lt;b&gt;" in shown
