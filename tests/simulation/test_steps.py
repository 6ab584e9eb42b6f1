# SPDX-License-Identifier: Apache-2.0
"""One decision at a time."""

from __future__ import annotations

from tests.simulation.clusters import a_pod, nodes

from steersman.cluster.kubelets import RUN_SECONDS
from steersman.scheduler.cycle.decision import Scheduled, Unschedulable
from steersman.simulation import Simulation


def test_each_step_is_one_decision_and_the_last_one_is_none() -> None:
    first = a_pod("first", cpu="3").annotation(RUN_SECONDS, "10").obj()
    simulation = Simulation.load(nodes("n1"), first, a_pod("second", cpu="3").obj())
    decisions = [simulation.step() for _ in range(4)]
    assert [type(decision) for decision in decisions] == [Scheduled, Unschedulable, Scheduled, type(None)]
    assert simulation.now == 10.0
    assert simulation.result().placements["default/second"].at == 10.0


def test_steps_can_be_explained() -> None:
    simulation = Simulation.load(nodes("n1", "n2"), a_pod("only").obj())
    simulation.step()
    result = simulation.result()
    assert result.explain("only").node == result.placements["default/only"].node
