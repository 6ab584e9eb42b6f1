# SPDX-License-Identifier: Apache-2.0
"""PreEnqueue plugins hold pods back until an event that they registered for."""

from __future__ import annotations

import logging

import pytest
from tests.queue.queues import NODE_ADD, NODE_LABEL, START, Gate, QueueUnderTest, row

from steersman import api
from steersman.framework.status import Status
from steersman.scheduler.queue import CountingQueueMetrics, Place, QueuedPodInfo
from steersman.testing import make_pod


def resident(test: QueueUnderTest, name: str) -> QueuedPodInfo:
    queued = test.queue.get(f"default/{name}")
    assert queued is not None
    return queued


def test_a_gated_pod_does_not_become_active() -> None:
    test = QueueUnderTest(gates=[Gate(holds=["held"])])
    test.add(make_pod("held").obj(), make_pod("free").obj())

    assert resident(test, "held").gating_plugin == "Gate"
    assert test.queue.statistics().gated == 1
    assert test.pop_all() == ["free"]


def test_an_event_that_the_gating_plugin_registered_for_opens_the_gate() -> None:
    gate = Gate(holds=["held"])
    test = QueueUnderTest(row("Gate", NODE_ADD), gates=[gate])
    test.add(make_pod("held").obj())
    gate.held_names.clear()
    test.queue.move_all(NODE_ADD)

    assert test.pop_all() == ["held"]


def test_other_events_do_not_even_ask_the_gate() -> None:
    gate = Gate(holds=["held"])
    test = QueueUnderTest(row("Gate", NODE_ADD), row("Fit", NODE_LABEL), gates=[gate])
    test.add(make_pod("held").obj())
    queued = resident(test, "held")
    queued.unschedulable_plugins |= {"Fit"}
    asked = gate.asked
    test.queue.move_all(NODE_LABEL)

    assert gate.asked == asked
    assert queued.place is Place.UNSCHEDULABLE


def test_a_pod_that_stays_gated_is_counted_as_one_that_left_and_came_back() -> None:
    gate = Gate(holds=["held"])
    test = QueueUnderTest(row("Gate", NODE_ADD), gates=[gate])
    test.add(make_pod("held").obj())
    asked = gate.asked
    for _ in range(3):
        test.queue.move_all(NODE_ADD)

    assert gate.asked == asked + 3
    queued = resident(test, "held")
    assert (queued.place, queued.gating_plugin, queued.moved_by) == (Place.UNSCHEDULABLE, "Gate", "NodeAdd")
    assert isinstance(test.queue.metrics, CountingQueueMetrics)
    assert test.queue.metrics.entered["unschedulable", "NodeAdd"] == 3
    test.queue.validate_state()


def test_another_plugin_may_take_over_the_gate() -> None:
    first, second = Gate(name="First", holds=["held"]), Gate(name="Second", holds=["held"])
    test = QueueUnderTest(row("First", NODE_ADD), row("Second", NODE_LABEL), gates=[first, second])
    test.add(make_pod("held").obj())
    first.held_names.clear()
    test.queue.move_all(NODE_ADD)

    queued = resident(test, "held")
    assert (queued.place, queued.gating_plugin) == (Place.UNSCHEDULABLE, "Second")
    assert queued.rejectors == {"First", "Second"}
    test.queue.validate_state()
    second.held_names.clear()
    test.queue.move_all(NODE_LABEL)
    assert test.pop_all() == ["held"]


def test_a_pod_that_comes_back_during_its_backoff_is_gated_before_backoff() -> None:
    gate = Gate()
    test = QueueUnderTest(row("Fit", NODE_ADD), gates=[gate])
    queued = test.add_rejected(make_pod("pod").obj(), "Fit")
    gate.held_names.add("pod")
    test.queue.move_all(NODE_ADD)

    assert queued.place is Place.UNSCHEDULABLE
    assert queued.gating_plugin == "Gate"
    assert queued.unschedulable_plugins == {"Fit", "Gate"}


def test_the_gate_stays_among_the_rejectors_after_it_has_opened() -> None:
    gate = Gate(holds=["pod"])
    test = QueueUnderTest(row("Gate", NODE_ADD), gates=[gate])
    test.add(make_pod("pod").obj())
    gate.held_names.clear()
    test.queue.move_all(NODE_ADD)

    queued = resident(test, "pod")
    assert not queued.is_gated
    assert queued.unschedulable_plugins == {"Gate"}


def test_the_plugin_that_gates_a_pod_is_asked_first() -> None:
    first, second = Gate("First"), Gate("Second", holds=["pod"])
    test = QueueUnderTest(row("Second", NODE_ADD), gates=[first, second])
    test.add(make_pod("pod").obj())
    asked = first.asked
    test.queue.move_all(NODE_ADD)

    assert first.asked == asked


def test_activating_a_gated_pod_leaves_it_gated() -> None:
    test = QueueUnderTest(gates=[Gate(holds=["pod"])])
    test.add(make_pod("pod").obj())
    test.queue.activate([make_pod("pod").obj()])

    assert resident(test, "pod").place is Place.UNSCHEDULABLE


def test_the_first_attempt_counts_from_the_opening_of_the_gate() -> None:
    gate = Gate(holds=["pod"])
    test = QueueUnderTest(row("Gate", NODE_ADD), gates=[gate])
    test.add(make_pod("pod").obj())
    gate.held_names.clear()
    test.clock.set(START + 50)
    test.queue.move_all(NODE_ADD)

    queued = resident(test, "pod")
    assert queued.initial_attempt > queued.timestamp


def test_a_plugin_that_breaks_holds_the_pod_back(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Gate):
        def pre_enqueue(self, pod: api.Pod, /) -> Status | None:
            raise RuntimeError("no such table")

    test = QueueUnderTest(gates=[Broken("Broken")])
    with caplog.at_level(logging.ERROR):
        test.add(make_pod("pod").obj())

    assert resident(test, "pod").gating_plugin == "Broken"
    assert "no such table" in caplog.text


def test_a_newcomer_that_is_gated_does_not_drive_out_the_active_pod_of_its_name() -> None:
    gate = Gate()
    test = QueueUnderTest(gates=[gate])
    test.add(make_pod("pod").uid("old").obj())
    gate.held_names.add("pod")
    test.add(make_pod("pod").uid("new").obj())

    test.queue.validate_state()
    assert test.pop().uid == "old"
