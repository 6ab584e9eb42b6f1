# SPDX-License-Identifier: Apache-2.0
"""A pod that names its node fits on no other."""

from __future__ import annotations

from steersman.framework.cycle_state import CycleState
from steersman.framework.events import ActionType, ClusterEvent, EventResource
from steersman.framework.status import unresolvable
from steersman.scheduler.plugins.node_name import ERR_REASON, NodeName
from steersman.testing import make_node, make_pod


def test_a_pod_that_names_no_node_fits_everywhere() -> None:
    assert NodeName().filter(CycleState(), make_pod().info(), make_node("foo").info()) is None


def test_a_pod_fits_on_the_node_that_it_names() -> None:
    assert NodeName().filter(CycleState(), make_pod().node("foo").info(), make_node("foo").info()) is None


def test_a_pod_does_not_fit_on_any_other_node() -> None:
    status = NodeName().filter(CycleState(), make_pod().node("bar").info(), make_node("foo").info())

    assert status == unresolvable(ERR_REASON)


def test_every_new_node_is_worth_another_attempt() -> None:
    (row,) = NodeName().events_to_register()

    assert row.event == ClusterEvent(EventResource.NODE, ActionType.ADD)
    assert row.hint is None
