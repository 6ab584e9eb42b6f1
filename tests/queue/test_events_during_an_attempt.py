# SPDX-License-Identifier: Apache-2.0
"""What happens while a pod is in flight is not lost on it."""

from __future__ import annotations

import pytest
from tests.queue.queues import NODE_ADD, NODE_LABEL, POD_LABEL, START, QueueUnderTest, row

from steersman.framework.events import QueueingHint
from steersman.scheduler.queue import Place, PodAlreadyQueuedError, QueuedPodInfo
from steersman.testing import make_pod


def log(test: QueueUnderTest) -> list[str]:
    entries = test.queue.contents().in_flight
    return [entry.uid if isinstance(entry, QueuedPodInfo) else entry.event.label for entry in entries]


def test_an_event_during_the_attempt_brings_the_pod_to_backoff_instead_of_waiting() -> None:
    test = QueueUnderTest(row("Fit", NODE_ADD))
    test.add(make_pod().obj())
    queued = test.pop()
    test.queue.move_all(NODE_ADD)
    test.fail(queued, "Fit")

    assert queued.place is Place.BACKOFF


def test_an_event_before_the_attempt_does_not_count() -> None:
    test = QueueUnderTest(row("Fit", NODE_ADD))
    test.add(make_pod("a").priority(1).obj(), make_pod("b").obj())
    test.pop()
    test.queue.move_all(NODE_ADD)
    queued = test.pop()
    test.fail(queued, "Fit")

    assert queued.place is Place.UNSCHEDULABLE


def test_the_strongest_answer_to_the_missed_events_wins() -> None:
    test = QueueUnderTest(row("Fit", NODE_ADD), row("Claims", NODE_LABEL))
    test.add(make_pod().obj())
    queued = test.pop()
    test.queue.move_all(NODE_ADD)
    test.queue.move_all(NODE_LABEL)
    test.fail(queued, "Fit", pending=["Claims"])

    assert queued.place is Place.ACTIVE


def test_an_event_without_registrations_is_not_recorded() -> None:
    test = QueueUnderTest(row("Fit", NODE_ADD))
    test.add(make_pod().uid("u1").obj())
    test.pop()
    test.queue.move_all(NODE_LABEL)

    assert log(test) == ["u1"]


def test_events_are_kept_only_as_long_as_a_pod_popped_before_them_is_in_flight() -> None:
    test = QueueUnderTest(row("Fit", NODE_ADD), row("Label", NODE_LABEL))
    test.add(*(make_pod(name).uid(name).obj() for name in ("a", "b", "c")))
    test.pop()
    test.queue.move_all(NODE_ADD)
    test.pop()
    test.queue.move_all(NODE_LABEL)
    test.pop()
    assert log(test) == ["a", "NodeAdd", "b", "NodeUpdateNodeLabel", "c"]

    test.queue.done("b")
    assert log(test) == ["a", "NodeAdd", "NodeUpdateNodeLabel", "c"]

    test.queue.done("a")
    assert log(test) == ["c"]

    test.queue.done("c")
    assert log(test) == []


def test_nothing_is_kept_when_nothing_is_in_flight() -> None:
    test = QueueUnderTest(row("Fit", NODE_ADD))
    test.queue.move_all(NODE_ADD)

    assert log(test) == []


def test_an_update_of_the_pod_in_flight_is_a_reason_to_try_it_again() -> None:
    def after_own_update(waiting: object, old: object, new: object) -> QueueingHint:
        return QueueingHint.QUEUE

    test = QueueUnderTest(row("Affinity", POD_LABEL, after_own_update))
    test.add(make_pod("pod").obj())
    queued = test.pop()
    test.update(make_pod("pod").label("app", "web").obj())
    assert test.queue.get("default/pod") is None

    test.fail(queued, "Affinity")
    assert queued.place is Place.BACKOFF


def test_activating_a_pod_in_flight_is_remembered_for_that_pod_alone() -> None:
    test = QueueUnderTest()
    test.add(make_pod("a").obj(), make_pod("b").obj())
    first, second = test.pop(), test.pop()
    test.queue.activate([second.pod])
    test.fail(first, "Fit")
    test.fail(second, "Fit")

    assert (first.place, second.place) == (Place.UNSCHEDULABLE, Place.BACKOFF)


def test_a_pod_that_is_done_already_comes_back_after_backoff() -> None:
    test = QueueUnderTest()
    test.add(make_pod().obj())
    queued = test.pop()
    test.queue.done(queued.uid)
    test.fail(queued, "Fit")

    assert queued.place is Place.BACKOFF


def test_a_pod_cannot_come_back_while_another_of_its_name_is_queued() -> None:
    test = QueueUnderTest()
    test.add(make_pod("pod").uid("old").obj())
    queued = test.pop()
    test.add(make_pod("pod").uid("new").obj())
    with pytest.raises(PodAlreadyQueuedError, match="Pod default/pod is already present in the active queue"):
        test.fail(queued, "Fit")

    assert queued.place is Place.OUTSIDE
    assert test.queue.in_flight_pods() == []


def test_a_second_object_of_a_pod_in_flight_is_dropped_when_its_turn_comes() -> None:
    test = QueueUnderTest()
    test.add(make_pod("pod").obj())
    test.pop()
    test.add(make_pod("pod").resource_version(2).obj(), make_pod("next").obj())

    assert test.pop().pod.metadata.name == "next"
    assert test.queue.scheduling_cycle == 2


def test_a_second_object_of_a_pod_in_flight_is_not_taken_either() -> None:
    test = QueueUnderTest()
    test.add(make_pod("pod").obj())
    test.pop()
    test.add(make_pod("pod").resource_version(2).obj(), make_pod("next").obj())

    taken = test.queue.pop_active()
    assert taken is not None
    assert taken.pod.metadata.name == "next"
    test.queue.begin_and_end(taken)
    assert taken.place is Place.OUTSIDE
    assert test.queue.scheduling_cycle == 2
    test.queue.validate_state()


def test_closing_forgets_what_is_in_flight_and_keeps_what_is_queued() -> None:
    test = QueueUnderTest()
    test.add(make_pod("a").obj(), make_pod("b").obj())
    queued = test.pop()
    test.queue.close()

    test.queue.validate_state()
    assert queued.place is Place.OUTSIDE
    assert test.queue.in_flight_pods() == []
    assert test.pop_all() == ["b"]


def test_a_timeout_of_waiting_pods_counts_as_an_event_for_those_in_flight() -> None:
    test = QueueUnderTest()
    test.add_rejected(make_pod("waiting").obj(), "Fit")
    test.add(make_pod("trying").obj())
    queued = test.pop()
    test.clock.set(START + 301)
    test.queue.flush_unschedulable()
    test.fail(queued, "Fit")

    assert queued.place is Place.BACKOFF
