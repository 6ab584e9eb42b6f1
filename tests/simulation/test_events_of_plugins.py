# SPDX-License-Identifier: Apache-2.0
"""Events that plugins report: in the result of a simulation beside the scheduler's own."""

from __future__ import annotations

import pytest

from steersman import Simulation
from steersman.framework import PermitHandle, PermitPlugin, PodInfo
from steersman.testing import make_node, make_pod


class Tells(PermitPlugin):
    name = "Tells"
    reason = "Watched"

    def __init__(self, args: object, handle: PermitHandle) -> None:
        self._pods = handle.pods

    def permit(self, pod: PodInfo, node_name: str) -> None:
        self._pods.report_event(pod.pod, self.reason, f"goes to {node_name}", is_warning=True)


def simulation() -> Simulation:
    return Simulation.load(make_node("n1").obj(), make_pod("web").obj(), plugins=[Tells])


def test_the_event_of_a_plugin_is_there_with_its_words() -> None:
    events = {event.reason: event for event in simulation().run().events}
    told = events["Watched"]
    assert (told.pod, told.type, told.message, told.count) == ("default/web", "Warning", "goes to n1", 1)
    assert events["Scheduled"].type == "Normal"


def test_a_plugin_may_use_a_reason_of_the_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tells, "reason", "Scheduled")
    messages = [event.message for event in simulation().run().events]
    assert messages == ["goes to n1", "Successfully assigned default/web to n1"]


def test_a_reason_that_is_no_word_is_a_fault_of_the_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tells, "reason", "quota exceeded")
    failed = simulation().run().placements["default/web"]
    assert "expected a word such as QuotaExceeded" in failed.message
