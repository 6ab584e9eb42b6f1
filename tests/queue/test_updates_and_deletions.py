# SPDX-License-Identifier: Apache-2.0
"""The queue follows the pods of the API server."""

from __future__ import annotations

from tests.queue.queues import NODE_ADD, POD_LABEL, START, QueueUnderTest, row

from steersman import api
from steersman.framework.events import ActionType, ClusterEvent, EventResource, QueueingHint
from steersman.scheduler.queue import Place
from steersman.testing import make_pod


def after_own_update(waiting: api.Pod, old: object, new: object) -> QueueingHint:
    own = isinstance(new, api.Pod) and new.metadata.uid == waiting.metadata.uid
    return QueueingHint.QUEUE if own else QueueingHint.SKIP


def test_the_queue_holds_the_newest_version_of_a_pod() -> None:
    test = QueueUnderTest()
    test.add(make_pod("pod").obj())
    test.update(make_pod("pod").resource_version(2).obj())

    assert test.pop().pod.metadata.resource_version == "2"


def test_an_update_of_an_unknown_pod_adds_it() -> None:
    test = QueueUnderTest()
    test.queue.update(make_pod("pod").obj(), make_pod("pod").label("app", "web").obj())

    assert test.pop_all() == ["pod"]


def test_an_update_that_resolves_the_rejection_wakes_the_pod_after_its_backoff() -> None:
    test = QueueUnderTest(row("Affinity", POD_LABEL, after_own_update))
    test.add_rejected(make_pod("pod").obj(), "Affinity")
    test.update(make_pod("pod").label("app", "web").obj())
    assert test.place("pod") is Place.BACKOFF

    test.clock.set(START + 2)
    test.queue.flush_backoff()
    assert test.place("pod") is Place.ACTIVE


def test_an_update_that_changes_nothing_of_interest_leaves_the_pod_waiting() -> None:
    test = QueueUnderTest(row("Affinity", POD_LABEL, after_own_update))
    queued = test.add_rejected(make_pod("pod").obj(), "Affinity")
    test.update(make_pod("pod").annotation("note", "x").obj())

    assert queued.place is Place.UNSCHEDULABLE
    assert queued.pod.metadata.annotations == {"note": "x"}


def test_the_events_of_one_update_are_tried_in_turn() -> None:
    toleration = ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_TOLERATION)
    test = QueueUnderTest(row("Taint", toleration, after_own_update), row("Affinity", POD_LABEL))
    queued = test.add_rejected(make_pod("pod").obj(), "Taint")
    test.update(make_pod("pod").label("app", "web").toleration("key").obj())

    assert queued.place is Place.BACKOFF
    assert queued.moved_by == "UnschedulablePodUpdatePodToleration"


def test_a_backing_off_pod_keeps_backing_off_when_it_is_updated() -> None:
    test = QueueUnderTest(row("Fit", NODE_ADD))
    queued = test.add_rejected(make_pod("pod").obj(), "Fit")
    test.queue.move_all(NODE_ADD)
    test.update(make_pod("pod").priority(5).obj())

    test.queue.validate_state()
    assert queued.place is Place.BACKOFF


def test_an_update_after_an_error_keeps_the_pod_where_it_is() -> None:
    test = QueueUnderTest()
    queued = test.add_rejected(make_pod("pod").obj())
    test.update(make_pod("pod").priority(5).obj())

    test.queue.validate_state()
    assert queued.place is Place.ERROR_BACKOFF


def test_a_deleted_pod_is_gone_from_wherever_it_was() -> None:
    test = QueueUnderTest(row("Fit", NODE_ADD))
    test.add_rejected(make_pod("backing-off").obj(), "Fit")
    test.queue.move_all(NODE_ADD)
    test.add(make_pod("waiting").obj())
    test.fail(test.pop(), "Other")
    test.add(make_pod("failed").obj())
    test.fail(test.pop())
    test.add(make_pod("active").obj())
    assert len(test.queue.pending_pods().pods) == 4

    for pod in list(test.store.values()):
        test.queue.delete(pod)
    test.queue.validate_state()
    assert test.queue.pending_pods().pods == []


def test_deleting_an_unknown_pod_does_nothing() -> None:
    test = QueueUnderTest()
    test.queue.delete(make_pod().obj())

    test.queue.validate_state()


def test_a_newcomer_takes_the_place_of_a_waiting_pod_of_its_name() -> None:
    test = QueueUnderTest()
    waiting = test.add_rejected(make_pod("pod").uid("old").obj(), "Fit")
    test.add(make_pod("pod").uid("new").obj())

    test.queue.validate_state()
    assert waiting.place is Place.OUTSIDE
    assert test.pop().uid == "new"


def test_a_newcomer_takes_the_place_of_an_active_pod_of_its_name() -> None:
    test = QueueUnderTest()
    test.add(make_pod("pod").uid("old").obj(), make_pod("pod").uid("new").obj())

    test.queue.validate_state()
    assert test.pop().uid == "new"
    assert test.queue.pop_nowait() is None


def test_activating_brings_waiting_and_backing_off_pods_to_the_front() -> None:
    test = QueueUnderTest(row("Fit", NODE_ADD))
    backing_off = test.add_rejected(make_pod("backing-off").obj(), "Fit")
    test.queue.move_all(NODE_ADD)
    test.add(make_pod("waiting").obj())
    waiting = test.pop()
    test.fail(waiting, "Other")
    test.queue.activate([backing_off.pod, waiting.pod, make_pod("unknown").obj()])

    assert (backing_off.place, waiting.place) == (Place.ACTIVE, Place.ACTIVE)
    assert test.queue.get("default/unknown") is None


def test_a_particular_pod_can_be_popped_before_its_turn() -> None:
    test = QueueUnderTest()
    test.add(make_pod("first").obj(), make_pod("second").obj())
    second = test.queue.pop_specific(make_pod("second").obj())

    assert second is not None
    assert second.place is Place.IN_FLIGHT
    assert test.queue.pop_specific(make_pod("second").obj()) is None
