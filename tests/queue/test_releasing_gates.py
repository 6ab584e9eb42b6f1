# SPDX-License-Identifier: Apache-2.0
"""A PreEnqueue plugin that tells whom an event releases: the other pods behind its gate are left alone."""

from __future__ import annotations

from collections.abc import Collection

import pytest
from tests.queue.queues import NODE_ADD, PROFILE, Gate, QueueUnderTest, row

from steersman import api
from steersman.framework.events import ActionType, ClusterEvent, EventResource, QueueingHint
from steersman.scheduler.queue import Place, QueueProfile
from steersman.testing import make_pod

POD_DELETE = ClusterEvent(EventResource.POD, ActionType.DELETE)


class ReleasingGate(Gate):
    """Releases the pods whose uid is the name of the pod that the event is about."""

    def ungated_pods(self, event: ClusterEvent, old: object, new: object, /) -> Collection[str]:
        assert isinstance(old, api.Pod)
        return {old.metadata.name}


class CountedHint:
    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, waiting: api.Pod, old: object, new: object) -> QueueingHint:
        self.asked.append(waiting.metadata.name)
        return QueueingHint.QUEUE


def never(waiting: api.Pod, old: object, new: object) -> QueueingHint:
    return QueueingHint.SKIP


def gated_queue() -> tuple[QueueUnderTest, ReleasingGate, CountedHint]:
    gate, hint = ReleasingGate("Gate"), CountedHint()
    rows = (row("Gate", POD_DELETE, never), row("Fit", POD_DELETE, hint), row("Fit", NODE_ADD, hint))
    test = QueueUnderTest(profiles={PROFILE: QueueProfile((gate,), rows)})
    for name in ("a", "b", "c"):
        test.add_rejected(make_pod(name).uid(f"victim-{name}").obj(), "Fit")
        gate.held_names.add(name)
        test.queue.activate([make_pod(name).obj()])
    return test, gate, hint


def test_only_the_released_pod_is_examined() -> None:
    test, gate, hint = gated_queue()
    gate.held_names.discard("b")
    hint.asked.clear()
    asked = gate.asked
    test.queue.move_all(POD_DELETE, make_pod("victim-b").obj(), None)
    assert hint.asked == ["b"]
    assert gate.asked == asked + 1
    assert test.place("b") is not Place.UNSCHEDULABLE
    assert test.place("a") is Place.UNSCHEDULABLE
    test.queue.validate_state()


def test_a_pod_that_is_named_too_early_stays() -> None:
    test, _, _ = gated_queue()
    test.queue.move_all(POD_DELETE, make_pod("victim-b").obj(), None)
    assert test.place("b") is Place.UNSCHEDULABLE
    test.queue.validate_state()


def test_events_that_the_gate_has_not_registered_for_do_not_reach_its_pods() -> None:
    test, gate, hint = gated_queue()
    gate.held_names.clear()
    hint.asked.clear()
    test.queue.move_all(NODE_ADD, None, object())
    assert hint.asked == []
    assert test.place("a") is Place.UNSCHEDULABLE


def test_pods_that_leave_are_forgotten_by_the_index() -> None:
    test, gate, _ = gated_queue()
    test.queue.delete(make_pod("b").uid("victim-b").obj())
    gate.held_names.clear()
    test.queue.move_all(POD_DELETE, make_pod("victim-b").obj(), None)
    assert test.queue.get("default/b") is None
    test.queue.validate_state()


def test_all_pods_of_a_broken_gate_are_checked(caplog: pytest.LogCaptureFixture) -> None:
    test, gate, _ = gated_queue()
    gate.held_names.clear()
    test.queue.move_all(POD_DELETE, None, None)
    assert "raised in ungated_pods for event" in caplog.text
    assert {test.place(name) for name in ("a", "b", "c")} == {Place.BACKOFF}
