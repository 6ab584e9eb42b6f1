# SPDX-License-Identifier: Apache-2.0
"""Time alone moves pods: at the end of a backoff, and after too long a wait."""

from __future__ import annotations

import pytest
from tests.queue.queues import NODE_ADD, START, Gate, QueueUnderTest, row

from steersman.base.internal_errors import InternalErrors
from steersman.scheduler.queue import MICROSECONDS, NEVER, Place, QueuedPodInfo, QueueSettings
from steersman.scheduler.queue.requeue import Requeuer
from steersman.testing import make_pod


def test_the_flush_of_backoffs_moves_pods_of_both_kinds_when_their_last_second_is_over() -> None:
    test = QueueUnderTest(row("Fit", NODE_ADD))
    rejected = test.add_rejected(make_pod("rejected").obj(), "Fit")
    failed = test.add_rejected(make_pod("failed").obj())
    test.queue.move_all(NODE_ADD)
    test.clock.set(START + 1.999)
    test.queue.flush_backoff()
    assert (rejected.place, failed.place) == (Place.BACKOFF, Place.ERROR_BACKOFF)

    test.clock.set(START + 2)
    test.queue.flush_backoff()
    assert (rejected.place, failed.place) == (Place.ACTIVE, Place.ACTIVE)


def test_gates_are_not_asked_again_at_the_end_of_a_backoff() -> None:
    gate = Gate()
    test = QueueUnderTest(row("Fit", NODE_ADD), gates=[gate])
    test.add_rejected(make_pod().obj(), "Fit")
    test.queue.move_all(NODE_ADD)
    asked = gate.asked
    test.clock.set(START + 2)
    test.queue.flush_backoff()

    assert gate.asked == asked


def test_a_pod_that_waited_for_too_long_is_tried_again() -> None:
    test = QueueUnderTest(settings=QueueSettings(max_in_unschedulable=60))
    queued = test.add_rejected(make_pod("pod").obj(), "Fit")
    failed_at = test.clock.now()
    test.clock.set(failed_at + 60)
    test.queue.flush_unschedulable()
    assert test.place("pod") is Place.UNSCHEDULABLE

    test.clock.advance(0.001)
    test.queue.flush_unschedulable()
    assert test.place("pod") is Place.ACTIVE
    assert queued.was_flushed
    assert queued.flushed_at == round(test.clock.now() * MICROSECONDS)


def test_the_next_failure_clears_the_mark_of_the_flush() -> None:
    test = QueueUnderTest(settings=QueueSettings(max_in_unschedulable=60))
    test.add_rejected(make_pod().obj(), "Fit")
    test.clock.advance(61)
    test.queue.flush_unschedulable()
    queued = test.pop()
    test.fail(queued, "Fit")

    assert not queued.was_flushed
    assert queued.flushed_at == NEVER


def test_a_pod_that_is_still_gated_waits_again_from_its_flush_on() -> None:
    gate = Gate(holds=["pod"])
    test = QueueUnderTest(gates=[gate], settings=QueueSettings(max_in_unschedulable=60))
    test.add(make_pod("pod").obj())
    test.clock.set(START + 61)
    test.queue.flush_unschedulable()
    queued = test.queue.get("default/pod")
    assert queued is not None
    assert not queued.was_flushed
    assert queued.flushed_at == (START + 61) * MICROSECONDS

    gate.held_names.clear()
    test.clock.set(START + 100)
    test.queue.flush_unschedulable()
    assert queued.is_gated

    test.clock.set(START + 122)
    test.queue.flush_unschedulable()
    assert queued.place is Place.ACTIVE


def test_nothing_waits_for_time_in_an_empty_queue() -> None:
    assert QueueUnderTest().queue.next_wakeup() is None


def test_the_next_wakeup_is_the_first_moment_at_which_a_flush_moves_a_pod() -> None:
    test = QueueUnderTest(row("Fit", NODE_ADD), settings=QueueSettings(max_in_unschedulable=60))
    test.add_rejected(make_pod("waiting").obj(), "Other")
    test.add_rejected(make_pod("backing-off").obj(), "Fit")
    test.queue.move_all(NODE_ADD)

    for expected in ("backing-off", "waiting"):
        moment = test.queue.next_wakeup()
        assert moment is not None
        test.clock.set(moment - 1e-6)
        test.queue.flush_backoff()
        test.queue.flush_unschedulable()
        assert test.place(expected) is not Place.ACTIVE

        test.clock.set(moment)
        test.queue.flush_backoff()
        test.queue.flush_unschedulable()
        assert test.place(expected) is Place.ACTIVE


def test_a_pod_that_breaks_a_flush_does_not_keep_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = InternalErrors()
    test = QueueUnderTest(internal_errors=errors)
    test.add(*(make_pod(name).obj() for name in ("a", "broken", "z")))
    for _ in range(3):
        test.fail(test.pop())
    enter = Requeuer.enter_active

    def torn(self: Requeuer, queued: QueuedPodInfo, event: str, now: int) -> None:
        if queued.pod.metadata.name == "broken":
            raise KeyError("broken")
        enter(self, queued, event, now)

    monkeypatch.setattr(Requeuer, "enter_active", torn)
    test.clock.advance(100)
    test.queue.flush_backoff()

    assert test.pop_all() == ["a", "z"]
    assert errors.counts == {"queue": 1}
