# SPDX-License-Identifier: Apache-2.0
"""Binding cycles that have to wait: permission and PreBind work, in virtual time."""

from __future__ import annotations

import asyncio

from tests.simulation.clusters import a_pod, nodes, pods

from steersman.framework import PermitPlugin, PermitResult, PodInfo, PreBindPlugin, Status
from steersman.framework.status import Code
from steersman.simulation import Simulation


class AsksForTime(PermitPlugin):
    """Nobody ever gives the permission."""

    name = "AsksForTime"

    def permit(self, pod: PodInfo, node_name: str) -> PermitResult | None:
        if pod.name != "patient":
            return None
        return PermitResult(Status(Code.WAIT), timeout_seconds=20.0)


class TakesTime(PreBindPlugin):
    """Attaches something for half a minute."""

    name = "TakesTime"

    async def pre_bind(self, pod: PodInfo, node_name: str) -> None:
        await asyncio.sleep(30.0)


class WaitsForever(PreBindPlugin):
    name = "WaitsForever"

    async def pre_bind(self, pod: PodInfo, node_name: str) -> None:
        await asyncio.Event().wait()


def test_pre_bind_work_takes_virtual_time_and_pods_share_it() -> None:
    result = Simulation.load(nodes("n1"), pods(3), plugins=[TakesTime]).run()
    assert [placement.at for placement in result.placements.values()] == [30.0, 30.0, 30.0]
    assert result.summary.seconds == 30.0


def test_a_pod_whose_permission_does_not_come_is_rejected_after_its_time() -> None:
    simulation = Simulation.load(nodes("n1"), a_pod("patient").obj(), a_pod("other").obj(), plugins=[AsksForTime])
    waiting = simulation.run(until=5)
    patient = waiting.pending["default/patient"]
    assert (patient.node, patient.reason) == ("n1", "WaitingOnPermit")
    assert waiting.placements["default/other"].at == 0.0
    later = simulation.run(until=21)
    (failure,) = [event for event in later.events if event.reason == "FailedScheduling"]
    assert (failure.pod, failure.first) == ("default/patient", 20.0)
    assert "AsksForTime" in failure.message
    simulation.close()


def test_a_plugin_that_waits_for_ever_runs_into_its_deadline() -> None:
    result = Simulation.load(nodes("n1"), pods(1), plugins=[WaitsForever]).run()
    failed = result.failed["default/pod-0"]
    assert 'PreBind plugin "WaitsForever"' in failed.message
    assert failed.attempts == 3


def test_a_pod_whose_binding_has_not_ended_is_not_called_untried() -> None:
    with Simulation.load(nodes("n1"), pods(1), plugins=[TakesTime]) as simulation:
        pending = simulation.run(until=5).pending["default/pod-0"]
    assert (pending.node, pending.reason) == ("n1", "Binding")
