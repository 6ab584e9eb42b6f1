# SPDX-License-Identifier: Apache-2.0
"""The example of preemption does what its text says."""

from __future__ import annotations

from pathlib import Path

import pytest

from steersman import Simulation, api
from steersman.simulation import Result

EXAMPLE = Path(__file__).parents[2] / "examples" / "preemption"


@pytest.fixture(scope="module")
def simulation() -> Simulation:
    return Simulation.load(EXAMPLE / "cluster.yaml", EXAMPLE / "pods.yaml", seed=1)


@pytest.fixture(scope="module")
def result(simulation: Simulation) -> Result:
    return simulation.run(explain=["hotfix"])


def test_one_crawler_goes_and_the_hotfix_takes_its_place(simulation: Simulation, result: Result) -> None:
    assert [(p.pod, p.node, p.preemptor) for p in result.preempted] == [
        ("default/crawler-1", "node-c", "default/hotfix")
    ]
    assert "default/crawler-1" not in simulation.cluster.objects(api.Pod)
    assert result.placements["default/hotfix"].node == "node-c"


def test_the_victim_has_its_grace_period(result: Result) -> None:
    assert result.placements["default/hotfix"].at == 30.0


def test_a_pod_without_victims_waits(result: Result) -> None:
    message = result.placements["default/migration"].message
    assert message.endswith("preemption: not eligible due to preemptionPolicy=Never.")


def test_the_explanation_lists_the_alternatives(result: Result) -> None:
    room = result.explain("hotfix").preemption
    assert room is not None
    victims = {c.node: ([v.pod for v in c.victims], c.pdb_violations) for c in room.candidates}
    assert victims == {
        "node-a": (["default/shop-0", "default/shop-1"], 2),
        "node-b": (["default/report"], 0),
        "node-c": (["default/crawler-1"], 0),
    }
    assert room.decided_by == "lowest priority of the most important victim"
    assert "* node-c  default/crawler-1 (0)" in result.explain("hotfix").table()
