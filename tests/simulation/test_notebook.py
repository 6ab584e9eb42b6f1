# SPDX-License-Identifier: Apache-2.0
"""What a notebook shows of simulations, results and explanations."""

from __future__ import annotations

from html import unescape

import pytest
from tests.simulation.clusters import a_pod, nodes, pods

from steersman import Simulation


@pytest.fixture
def simulation() -> Simulation:
    return Simulation.load(nodes("a", "b"), pods(3), a_pod("huge", "64").obj())


def test_a_simulation_shows_its_cluster_and_changes_nothing_by_it(simulation: Simulation) -> None:
    shown = simulation._repr_html_()
    assert "Simulation of 2 nodes at 0 s" in shown
    assert "0 of 4 pods have a node" in shown
    assert "0 of 8" in shown
    assert simulation.run().summary.scheduled == 3
    assert "3 of 4 pods have a node" in simulation._repr_html_()


def test_a_result_shows_pending_pods_first_and_how_full_the_cluster_is(simulation: Simulation) -> None:
    shown = unescape(simulation.run()._repr_html_())
    assert "3 of 4 pods scheduled on 2 nodes" in shown
    assert "38% (3 of 8)" in shown
    assert shown.index("default/huge") < shown.index("default/pod-0")
    assert "2 Insufficient cpu" in shown


def test_an_explanation_shows_scores_or_objections(simulation: Simulation) -> None:
    result = simulation.run()
    placed = result.explain("pod-0")
    assert f"{placed.node} ←" in placed._repr_html_()
    assert "NodeResourcesFit ×1" in placed._repr_html_()
    pending = unescape(result.explain("huge")._repr_html_())
    assert "Does not fit on 2 nodes" in pending
    assert "The pod needs 64 cpu on one node" in pending
