# SPDX-License-Identifier: Apache-2.0
"""A pod that failed waits before its next attempt, longer after every failure."""

from __future__ import annotations

import pytest
from tests.queue.queues import NODE_ADD, START, QueueUnderTest, row

from steersman.scheduler.queue import MICROSECONDS, NEVER, Place, QueueSettings
from steersman.testing import make_pod


def until(seconds: float) -> int:
    return round(seconds * MICROSECONDS)


@pytest.mark.parametrize(("failures", "seconds"), [(1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (6, 10), (100, 10)])
def test_every_rejection_doubles_the_backoff_up_to_the_maximum(failures: int, seconds: int) -> None:
    test = QueueUnderTest()
    queued = test.add_rejected(make_pod().obj(), "Fit")
    test.queue.activate([queued.pod])
    queued = test.pop()
    queued.unschedulable_count = failures - 1
    test.clock.set(START + 5)
    test.fail(queued, "Fit")

    assert queued.backoff_until == until(START + 5 + seconds)


def test_the_end_of_a_backoff_is_rounded_down_to_the_second() -> None:
    test = QueueUnderTest()
    test.add(make_pod().obj())
    queued = test.pop()
    test.clock.set(START + 0.7)
    test.fail(queued, "Fit")

    assert queued.backoff_until == until(START + 1)


def test_errors_in_a_row_count_instead_of_rejections() -> None:
    test = QueueUnderTest()
    queued = test.add_rejected(make_pod().obj(), "Fit")
    test.queue.activate([queued.pod])
    test.fail(test.pop(), "Fit")
    test.queue.activate([queued.pod])
    test.fail(test.pop())

    assert (queued.unschedulable_count, queued.consecutive_errors) == (2, 1)
    assert queued.backoff_until == until(START + 1)


def test_a_rejection_ends_a_series_of_errors() -> None:
    test = QueueUnderTest()
    queued = test.add_rejected(make_pod().obj())
    test.queue.activate([queued.pod])
    test.fail(test.pop(), "Fit")

    assert (queued.unschedulable_count, queued.consecutive_errors) == (1, 0)


def test_a_maximum_of_zero_switches_backoff_off() -> None:
    test = QueueUnderTest(settings=QueueSettings(max_backoff=0))
    queued = test.add_rejected(make_pod().obj())

    assert queued.backoff_until == NEVER
    assert queued.place is Place.ACTIVE


def test_a_pod_that_is_woken_during_its_backoff_waits_for_its_end() -> None:
    test = QueueUnderTest(row("Fit", NODE_ADD))
    queued = test.add_rejected(make_pod().obj(), "Fit")
    test.queue.move_all(NODE_ADD)

    assert queued.place is Place.BACKOFF


def test_a_pod_that_is_woken_after_its_backoff_is_active_at_once() -> None:
    test = QueueUnderTest(row("Fit", NODE_ADD))
    queued = test.add_rejected(make_pod().obj(), "Fit")
    test.clock.set(START + 2)
    test.queue.move_all(NODE_ADD)

    assert queued.place is Place.ACTIVE


def test_a_backoff_counts_as_running_until_its_last_second_is_over() -> None:
    test = QueueUnderTest(row("Fit", NODE_ADD))
    queued = test.add_rejected(make_pod().obj(), "Fit")
    test.clock.set(START + 1.999)
    test.queue.move_all(NODE_ADD)

    assert queued.place is Place.BACKOFF


def test_a_pop_takes_a_backing_off_pod_when_nothing_is_active() -> None:
    test = QueueUnderTest(row("Fit", NODE_ADD))
    queued = test.add_rejected(make_pod().obj(), "Fit")
    test.queue.move_all(NODE_ADD)

    assert test.pop() is queued


def test_a_pop_prefers_an_active_pod_to_a_backing_off_one_of_higher_priority() -> None:
    test = QueueUnderTest(row("Fit", NODE_ADD))
    test.add_rejected(make_pod("important").priority(10).obj(), "Fit")
    test.queue.move_all(NODE_ADD)
    test.add(make_pod("active").obj())

    assert test.pop_all() == ["active", "important"]


def test_backing_off_pods_leave_by_the_second_of_their_end_and_then_by_priority() -> None:
    test = QueueUnderTest(row("Fit", NODE_ADD))
    pods = [make_pod("early").obj(), make_pod("late").priority(5).obj(), make_pod("late-but-first").priority(9).obj()]
    test.add(*pods)
    attempts = {queued.pod.metadata.name: queued for queued in (test.pop(), test.pop(), test.pop())}
    test.fail(attempts["early"], "Fit")
    test.clock.set(START + 1)
    test.fail(attempts["late"], "Fit")
    test.fail(attempts["late-but-first"], "Fit")
    test.queue.move_all(NODE_ADD)

    assert test.pop_all() == ["early", "late-but-first", "late"]


def test_after_an_error_a_pod_is_not_popped_before_its_time() -> None:
    test = QueueUnderTest()
    queued = test.add_rejected(make_pod().obj())

    assert queued.place is Place.ERROR_BACKOFF
    assert test.queue.pop_nowait() is None
