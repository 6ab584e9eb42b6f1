# SPDX-License-Identifier: Apache-2.0
"""A pod makes only the moves that exist; any other is a bug that tells its story."""

from __future__ import annotations

import pytest

from steersman.scheduler.queue import IllegalMoveError, Place, QueuedPodInfo
from steersman.scheduler.queue.queued_pod import TRANSITIONS
from steersman.testing import make_pod


def queued_in(place: Place) -> QueuedPodInfo:
    queued = QueuedPodInfo(make_pod("web").uid("u1").obj(), timestamp=0, serial=1)
    queued.place = place
    return queued


def test_every_place_has_its_moves() -> None:
    assert TRANSITIONS.keys() == set(Place)


@pytest.mark.parametrize("target", [Place.BACKOFF, Place.ERROR_BACKOFF, Place.UNSCHEDULABLE, Place.ACTIVE])
def test_an_active_pod_can_only_be_popped_or_leave(target: Place) -> None:
    with pytest.raises(IllegalMoveError):
        queued_in(Place.ACTIVE).move_to(target, "NodeAdd")


def test_a_pod_after_an_error_is_never_popped_from_its_backoff() -> None:
    with pytest.raises(IllegalMoveError):
        queued_in(Place.ERROR_BACKOFF).move_to(Place.IN_FLIGHT, "Pop")


def test_the_error_names_the_place_of_the_pod_and_the_move_that_led_there() -> None:
    queued = queued_in(Place.OUTSIDE)
    queued.record_attempt(["Fit"])
    queued.move_to(Place.UNSCHEDULABLE, "ScheduleAttemptFailure")
    with pytest.raises(IllegalMoveError) as caught:
        queued.move_to(Place.IN_FLIGHT, "Pop")

    assert str(caught.value) == (
        "pod default/web (uid u1) cannot go from UNSCHEDULABLE to IN_FLIGHT because of Pop: it is in UNSCHEDULABLE, "
        "moved there by ScheduleAttemptFailure, after 0 attempts, rejected by ['Fit'], gated by no plugin"
    )
