# SPDX-License-Identifier: Apache-2.0
"""What the queue says about itself."""

from __future__ import annotations

import pytest
from tests.queue.queues import NODE_ADD, PROFILE, Gate, QueueUnderTest, row

from steersman.scheduler.queue import CountingQueueMetrics, QueueInvariantError
from steersman.testing import make_pod


def counts(test: QueueUnderTest) -> CountingQueueMetrics:
    assert isinstance(test.queue.metrics, CountingQueueMetrics)
    return test.queue.metrics


def populated() -> QueueUnderTest:
    """One pod in every place, and one event since the pop."""
    test = QueueUnderTest(row("Fit", NODE_ADD), gates=[Gate(holds=["gated"])])
    test.add_rejected(make_pod("backing-off").obj(), "Fit")
    test.queue.move_all(NODE_ADD)
    test.add(make_pod("waiting").obj())
    test.fail(test.pop(), "Other")
    test.add(make_pod("failed").obj())
    test.fail(test.pop())
    test.add(make_pod("gated").obj(), make_pod("in-flight").obj(), make_pod("active").nominated("n1").obj())
    test.pop()
    test.queue.move_all(NODE_ADD)
    return test


def test_statistics_are_the_sizes_of_everything() -> None:
    statistics = populated().queue.statistics()

    assert (statistics.active, statistics.backoff, statistics.error_backoff) == (1, 1, 1)
    assert (statistics.unschedulable, statistics.gated) == (1, 1)
    assert (statistics.in_flight, statistics.in_flight_events) == (1, 1)
    assert (statistics.nominated, statistics.scheduling_cycle) == (1, 4)


def test_the_summary_of_pending_pods_reads_as_upstreams() -> None:
    pending = populated().queue.pending_pods()

    assert pending.summary == "activeQ:1; backoffQ:2; unschedulablePods:2"
    names = {pod.metadata.name for pod in pending.pods}
    assert names == {"active", "backing-off", "failed", "waiting", "gated"}


def test_every_entry_into_a_sub_queue_is_counted_with_its_event() -> None:
    entered = counts(populated()).entered

    assert entered["active", "UnschedulablePodAdd"] == 5
    assert entered["unschedulable", "UnschedulablePodAdd"] == 1
    assert entered["unschedulable", "ScheduleAttemptFailure"] == 2
    assert entered["backoff", "NodeAdd"] == 1
    assert entered["backoff", "ScheduleAttemptFailure"] == 1


def test_waiting_pods_are_counted_by_the_plugins_that_rejected_them() -> None:
    test = populated()
    rejections = counts(test).rejections
    assert (rejections["Fit", PROFILE], rejections["Other", PROFILE], rejections["Gate", PROFILE]) == (1, 1, 1)

    test.queue.delete(test.store["default/waiting"])
    assert rejections["Other", PROFILE] == 0


def test_a_driver_is_told_when_there_is_something_to_pop() -> None:
    test = QueueUnderTest(row("Fit", NODE_ADD), gates=[Gate(holds=["gated"])])
    calls: list[str] = []
    test.queue.on_ready = lambda: calls.append("ready")
    test.add(make_pod("gated").obj())
    assert calls == []

    test.add(make_pod("pod").obj())
    assert len(calls) == 1

    test.fail(test.pop(), "Fit")
    assert len(calls) == 1

    test.queue.move_all(NODE_ADD)
    assert len(calls) == 2

    test.queue.close()
    assert len(calls) == 3


def test_validation_notices_a_pod_whose_place_is_wrong() -> None:
    test = populated()
    test.queue.validate_state()
    queued = test.queue.get("default/waiting")
    assert queued is not None
    queued.gating_plugin = "Gate"

    with pytest.raises(QueueInvariantError, match="waiting"):
        test.queue.validate_state()
