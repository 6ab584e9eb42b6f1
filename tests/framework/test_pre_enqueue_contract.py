# SPDX-License-Identifier: Apache-2.0
"""The contract of PreEnqueue: readers call it too, its message is shown, and a gated pod has no attempt."""

from __future__ import annotations

from typing import ClassVar

import pytest

from steersman import api
from steersman.framework import Handle, PodInfo, PreEnqueuePlugin, Status
from steersman.framework.status import unresolvable
from steersman.scheduler.diagnosis import explain_now
from steersman.testing import Harness, make_node, make_pod

WAITS = "waits for its licence"


class Licensed(PreEnqueuePlugin):
    """Holds pods back that have no licence, and counts how often it is asked."""

    name = "Licensed"
    calls: ClassVar[int] = 0

    def __init__(self, args: object, handle: Handle) -> None:
        pass

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        Licensed.calls += 1
        return None if "licence" in pod.labels else unresolvable(WAITS)


@pytest.fixture
def harness() -> Harness:
    gated = Harness(
        [Licensed], nodes=[make_node("n1").capacity(cpu="4", memory="8Gi", pods=10)], pods=[make_pod("web")]
    )
    assert gated.run() == []
    return gated


def web(harness: Harness) -> api.Pod:
    return harness.scheduler.pods["default/web"]


def test_a_gated_pod_has_no_attempt_and_no_condition(harness: Harness) -> None:
    queued = harness.scheduler.queue.get("default/web")
    assert queued is not None
    assert (queued.is_gated, queued.gating_plugin, queued.attempts) == (True, "Licensed", 0)
    assert web(harness).status.conditions == ()


def test_the_message_is_shown_wherever_the_pod_is_shown_as_gated(harness: Harness) -> None:
    explanation = explain_now(harness.scheduler, web(harness))
    assert explanation is not None
    assert explanation.message == f"held back by Licensed: {WAITS}"
    assert harness.message("web").endswith(f'held back by PreEnqueue plugin "Licensed": {WAITS}')


def test_readers_call_the_plugin_and_the_queue_stays_as_it_is(harness: Harness) -> None:
    asked = Licensed.calls
    harness.message("web")
    explain_now(harness.scheduler, web(harness))
    assert Licensed.calls == asked + 2
    queued = harness.scheduler.queue.get("default/web")
    assert queued is not None
    assert queued.is_gated


def test_a_change_of_the_pod_calls_the_plugin_again(harness: Harness) -> None:
    harness.add(make_pod("web").label("licence", "yes"))
    harness.run()
    assert web(harness).spec.node_name == "n1"


def test_without_an_event_the_plugin_is_called_again_after_five_minutes(harness: Harness) -> None:
    asked = Licensed.calls
    harness.advance(290)
    assert Licensed.calls == asked
    harness.advance(60)
    assert Licensed.calls == asked + 1
