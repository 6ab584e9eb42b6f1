# SPDX-License-Identifier: Apache-2.0
"""A pod of higher priority makes room for itself; the victim has its grace period, in virtual time."""

from __future__ import annotations

from tests.simulation.clusters import a_pod, nodes

from steersman.simulation import Simulation


def test_the_victim_goes_after_its_grace_period_and_the_preemptor_takes_its_place() -> None:
    simulation = Simulation.load(nodes("n1"), a_pod("modest", cpu="3").obj())
    assert simulation.run().placements["default/modest"].node == "n1"
    result = simulation.add(a_pod("mighty", cpu="3").priority(100).obj()).run()
    mighty = result.placements["default/mighty"]
    assert (mighty.node, mighty.at) == ("n1", 30.0)
    assert "default/modest" not in result.placements
    (preempted,) = result.preempted
    assert (preempted.pod, preempted.node, preempted.preemptor, preempted.at) == (
        "default/modest",
        "n1",
        "default/mighty",
        0.0,
    )
    assert [event.reason for event in result.events if event.pod == "default/modest"] == ["Scheduled", "Preempted"]
