# SPDX-License-Identifier: Apache-2.0
"""Events wake the pods whose rejecting plugins expect something of them."""

from __future__ import annotations

import logging

import pytest
from tests.queue.queues import NODE_ADD, NODE_LABEL, POD_LABEL, PROFILE, QueueUnderTest, row

from steersman import api
from steersman.framework.events import (
    ASSIGNED_POD_ADD,
    FORCE_ACTIVATE,
    ActionType,
    ClusterEvent,
    EventResource,
    QueueingHint,
)
from steersman.scheduler.queue import Place, QueueProfile
from steersman.testing import make_node, make_pod


def never(waiting: api.Pod, old: object, new: object) -> QueueingHint:
    return QueueingHint.SKIP


def always(waiting: api.Pod, old: object, new: object) -> QueueingHint:
    return QueueingHint.QUEUE


def test_an_event_wakes_only_pods_whose_rejector_registered_for_it() -> None:
    test = QueueUnderTest(row("Fit", NODE_ADD), row("Label", NODE_LABEL))
    concerned = test.add_rejected(make_pod("a").obj(), "Fit")
    other = test.add_rejected(make_pod("b").obj(), "Label")
    test.queue.move_all(NODE_ADD)

    assert (concerned.place, other.place) == (Place.BACKOFF, Place.UNSCHEDULABLE)


def test_a_hint_function_may_object() -> None:
    test = QueueUnderTest(row("Fit", NODE_ADD, never))
    queued = test.add_rejected(make_pod().obj(), "Fit")
    test.queue.move_all(NODE_ADD)

    assert queued.place is Place.UNSCHEDULABLE


def test_one_consenting_rejector_is_enough() -> None:
    test = QueueUnderTest(row("Fit", NODE_ADD, never), row("Label", NODE_ADD, always))
    queued = test.add_rejected(make_pod().obj(), "Fit", "Label")
    test.queue.move_all(NODE_ADD)

    assert queued.place is Place.BACKOFF


def test_the_hint_function_gets_the_waiting_pod_and_both_objects() -> None:
    calls: list[tuple[object, ...]] = []

    def record(waiting: api.Pod, old: object, new: object) -> QueueingHint:
        calls.append((waiting, old, new))
        return QueueingHint.SKIP

    test = QueueUnderTest(row("Fit", NODE_LABEL, record))
    queued = test.add_rejected(make_pod().obj(), "Fit")
    old, new = make_node("n").obj(), make_node("n").label("zone", "a").obj()
    test.queue.move_all(NODE_LABEL, old, new)

    assert calls == [(queued.pod, old, new)]


def test_a_hint_function_that_breaks_counts_as_consent(caplog: pytest.LogCaptureFixture) -> None:
    def broken(waiting: api.Pod, old: object, new: object) -> QueueingHint:
        raise RuntimeError("no such node")

    test = QueueUnderTest(row("Fit", NODE_ADD, broken))
    queued = test.add_rejected(make_pod().obj(), "Fit")
    with caplog.at_level(logging.ERROR):
        test.queue.move_all(NODE_ADD)

    assert queued.place is Place.BACKOFF
    assert "no such node" in caplog.text


def test_consent_of_a_pending_plugin_skips_the_backoff() -> None:
    test = QueueUnderTest(row("Fit", NODE_ADD), row("Claims", NODE_ADD))
    queued = test.add_rejected(make_pod().obj(), "Fit", pending=["Claims"])
    test.queue.move_all(NODE_ADD)

    assert queued.place is Place.ACTIVE


def test_while_the_pending_plugin_objects_the_backoff_is_respected() -> None:
    test = QueueUnderTest(row("Fit", NODE_ADD), row("Claims", NODE_ADD, never))
    queued = test.add_rejected(make_pod().obj(), "Fit", pending=["Claims"])
    test.queue.move_all(NODE_ADD)

    assert queued.place is Place.BACKOFF


def test_a_wildcard_event_wakes_every_pod() -> None:
    test = QueueUnderTest()
    queued = test.add_rejected(make_pod().obj(), "Fit")
    test.queue.move_all(ClusterEvent(EventResource.WILDCARD, ActionType.ALL))

    assert queued.place is Place.BACKOFF


def test_a_wildcard_event_with_a_target_wakes_only_that_pod() -> None:
    test = QueueUnderTest()
    target = test.add_rejected(make_pod("target").obj(), "Fit")
    other = test.add_rejected(make_pod("other").obj(), "Fit")
    test.queue.move_all(FORCE_ACTIVATE, None, target.pod)

    assert (target.place, other.place) == (Place.BACKOFF, Place.UNSCHEDULABLE)


def test_a_pod_of_a_profile_without_registrations_is_woken_by_every_event() -> None:
    test = QueueUnderTest(row("Fit", NODE_ADD))
    queued = test.add_rejected(make_pod().scheduler("unknown").obj(), "Fit")
    test.queue.move_all(NODE_ADD)

    assert queued.place is Place.BACKOFF


def test_registrations_of_another_profile_do_not_count() -> None:
    profiles = {PROFILE: QueueProfile(), "other": QueueProfile(hints=[row("Fit", NODE_ADD)])}
    test = QueueUnderTest(profiles=profiles)
    queued = test.add_rejected(make_pod().obj(), "Fit")
    test.queue.move_all(NODE_ADD)

    assert queued.place is Place.UNSCHEDULABLE


def test_the_caller_may_admit_only_some_pods() -> None:
    test = QueueUnderTest(row("Fit", NODE_ADD))
    low = test.add_rejected(make_pod("low").obj(), "Fit")
    high = test.add_rejected(make_pod("high").priority(10).obj(), "Fit")
    test.queue.move_all(NODE_ADD, pre_check=lambda pod: (pod.spec.priority or 0) > 5)

    assert (low.place, high.place) == (Place.UNSCHEDULABLE, Place.BACKOFF)


def test_a_registration_for_pods_covers_assigned_pods() -> None:
    test = QueueUnderTest(row("Affinity", ClusterEvent(EventResource.POD, ActionType.ADD)), row("Label", POD_LABEL))
    queued = test.add_rejected(make_pod().obj(), "Affinity")
    test.queue.move_all(ASSIGNED_POD_ADD, None, make_pod("db-0").node("n1").obj())

    assert queued.place is Place.BACKOFF
