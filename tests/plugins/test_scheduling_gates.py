# SPDX-License-Identifier: Apache-2.0
"""Pods with scheduling gates wait until the last gate is gone."""

from __future__ import annotations

import pytest

from steersman.framework.events import ActionType, ClusterEvent, EventResource, QueueingHint
from steersman.framework.status import unresolvable
from steersman.scheduler.plugins.scheduling_gates import SchedulingGates
from steersman.testing import make_pod


def test_a_pod_without_gates_may_enter_the_queue() -> None:
    assert SchedulingGates().pre_enqueue(make_pod().info()) is None


def test_a_gated_pod_is_rejected_with_all_its_gates() -> None:
    pod = make_pod().gate("foo").gate("bar").info()

    assert SchedulingGates().pre_enqueue(pod) == unresolvable("waiting for scheduling gates: [foo bar]")


def test_it_registers_for_the_removal_of_the_last_gate() -> None:
    (row,) = SchedulingGates().events_to_register()

    assert row.event == ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
    assert row.hint is not None


def test_the_update_of_the_gated_pod_itself_wakes_it() -> None:
    gated, free = make_pod("p").gate("foo").obj(), make_pod("p").obj()

    assert SchedulingGates().after_gates_eliminated(gated, gated, free) is QueueingHint.QUEUE


def test_the_update_of_another_pod_does_not_wake_it() -> None:
    gated, other = make_pod("p").gate("foo").obj(), make_pod("other")

    hint = SchedulingGates().after_gates_eliminated(gated, other.gate("foo").obj(), other.obj())

    assert hint is QueueingHint.SKIP


@pytest.mark.parametrize(("old", "new"), [("not a pod", None), (None, "not a pod"), ("not a pod", make_pod().obj())])
def test_an_event_object_that_is_no_pod_is_a_fault(old: object, new: object) -> None:
    with pytest.raises(TypeError, match="expected Pod"):
        SchedulingGates().after_gates_eliminated(make_pod().obj(), old, new)
