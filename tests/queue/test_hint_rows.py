# SPDX-License-Identifier: Apache-2.0
"""From what a plugin registers to the rows of the queue."""

from __future__ import annotations

from tests.queue.queues import NODE_ADD

from steersman.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource, QueueingHint
from steersman.scheduler.queue import hint_rows

TAINT = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT)


def test_registrations_become_rows_with_the_name_of_the_plugin() -> None:
    registered = ClusterEventWithHint(
        ClusterEvent(EventResource.POD, ActionType.DELETE), lambda waiting, old, new: QueueingHint.SKIP
    )

    assert hint_rows("Fit", [registered]) == (("Fit", registered),)


def test_who_waits_for_new_nodes_is_also_woken_by_taint_updates() -> None:
    node_add = ClusterEventWithHint(NODE_ADD)

    assert hint_rows("Fit", [node_add]) == (("Fit", node_add), ("Fit", ClusterEventWithHint(TAINT)))


def test_who_registers_for_taints_anyway_keeps_the_own_hint_function_alone() -> None:
    both = ClusterEventWithHint(ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT))

    assert hint_rows("Taint", [both]) == (("Taint", both),)


def test_a_plugin_without_registrations_of_its_own_is_woken_by_everything() -> None:
    rows = hint_rows("Custom", None)

    assert all(row.event.action is ActionType.ALL and row.hint is None for _, row in rows)
    assert {row.event.resource for _, row in rows} >= {EventResource.POD, EventResource.NODE}


def test_a_plugin_that_registers_nothing_is_woken_by_nothing() -> None:
    assert hint_rows("Stubborn", ()) == ()
