# SPDX-License-Identifier: Apache-2.0
"""Moves by preselection, as golden traces have them."""

from __future__ import annotations

from collections.abc import Mapping

from tests.queue.queues import START, QueueUnderTest, row

from steersman.framework.events import ActionType, ClusterEvent, EventResource
from steersman.scheduler.queue import Place
from steersman.testing import make_pod
from steersman.testing.conformance.queue_trace_profiles import assigned_pod_added, assigned_pod_updated


def no_labels(namespace: str) -> Mapping[str, str]:
    return {}


def test_an_assigned_pod_wakes_only_pods_that_want_to_be_near_it_or_are_spread() -> None:
    interested = ClusterEvent(EventResource.POD, ActionType.ADD)
    test = QueueUnderTest(row("InterPodAffinity", interested), row("PodTopologySpread", interested))
    near = make_pod("near").pod_affinity("zone", {"app": "db"}).obj()
    far = make_pod("far").pod_affinity("zone", {"app": "web"}).obj()
    waiting = [
        test.add_rejected(near, "InterPodAffinity"),
        test.add_rejected(make_pod("spread").obj(), "PodTopologySpread"),
        test.add_rejected(far, "InterPodAffinity"),
        test.add_rejected(make_pod("elsewhere").namespace("other").obj(), "PodTopologySpread"),
    ]
    test.clock.set(START + 60)
    assigned_pod_added(test.queue, make_pod("db-0").label("app", "db").node("n1").obj(), no_labels)

    places = [queued.place for queued in waiting]
    assert places == [Place.ACTIVE, Place.ACTIVE, Place.UNSCHEDULABLE, Place.UNSCHEDULABLE]


def test_freed_resources_of_an_assigned_pod_may_wake_anybody() -> None:
    scale_down = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.UPDATE_POD_SCALE_DOWN)
    label = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.UPDATE_POD_LABEL)
    test = QueueUnderTest(row("Fit", ClusterEvent(EventResource.POD, ActionType.UPDATE)))
    test.add_rejected(make_pod("waiting").obj(), "Fit")
    old, new = make_pod("db-0").node("n1").obj(), make_pod("db-0").node("n1").obj()
    assigned_pod_updated(test.queue, old, new, label, no_labels)
    assert test.place("waiting") is Place.UNSCHEDULABLE

    assigned_pod_updated(test.queue, old, new, scale_down, no_labels)
    assert test.place("waiting") is Place.BACKOFF
