# SPDX-License-Identifier: Apache-2.0
"""With the gate SchedulerPopFromBackoffQ off, a pod waits its backoff out, to the microsecond, and is gated after it."""

from __future__ import annotations

from tests.queue.queues import NODE_ADD, START, Gate, QueueUnderTest, row

from steersman.scheduler.queue import MICROSECONDS, Place, QueueSettings
from steersman.testing import make_pod

WAITS = QueueSettings(pops_from_backoff=False)


def test_nothing_is_popped_before_its_backoff_is_over() -> None:
    test = QueueUnderTest(row("Fit", NODE_ADD), settings=WAITS)
    queued = test.add_rejected(make_pod().obj(), "Fit")
    test.queue.move_all(NODE_ADD, None, None)
    assert queued.place is Place.BACKOFF
    assert test.queue.pop_nowait() is None
    test.clock.advance(1.1)
    test.queue.flush_backoff()
    assert test.queue.pop_nowait() is queued


def test_a_pod_in_backoff_does_not_wake_the_driver() -> None:
    test = QueueUnderTest(row("Fit", NODE_ADD), settings=WAITS)
    woken: list[str] = []
    test.add_rejected(make_pod().obj(), "Fit")
    test.queue.on_ready = lambda: woken.append("")
    test.queue.move_all(NODE_ADD, None, None)
    assert woken == []
    test.clock.advance(1.1)
    test.queue.flush_backoff()
    assert woken == [""]


def test_the_end_of_a_backoff_is_not_rounded() -> None:
    test = QueueUnderTest(settings=WAITS)
    test.add(make_pod().obj())
    queued = test.pop()
    test.clock.set(START + 0.7)
    test.fail(queued, "Fit")
    assert queued.backoff_until == round((START + 1.7) * MICROSECONDS)


def test_pods_leave_in_the_order_of_their_ends_whatever_their_priority() -> None:
    test = QueueUnderTest(row("Fit", NODE_ADD), settings=WAITS)
    for name, priority in (("first", 0), ("second", 10)):
        test.add_rejected(make_pod(name).uid(name).priority(priority).obj(), "Fit")
        test.clock.advance(0.1)
    test.queue.move_all(NODE_ADD, None, None)
    assert [queued.pod.metadata.name for queued in test.queue.contents().backoff] == ["first", "second"]


def test_pre_enqueue_plugins_are_asked_after_the_backoff() -> None:
    gate = Gate()
    test = QueueUnderTest(row("Fit", NODE_ADD), gates=[gate], settings=WAITS)
    queued = test.add_rejected(make_pod().obj(), "Fit")
    gate.held_names, gate.asked = {queued.pod.metadata.name}, 0
    test.queue.move_all(NODE_ADD, None, None)
    assert (queued.place, gate.asked) == (Place.BACKOFF, 0)
    test.clock.advance(1.1)
    test.queue.flush_backoff()
    assert (queued.place, queued.gating_plugin, gate.asked) == (Place.UNSCHEDULABLE, "Gate", 1)
    test.queue.validate_state()
