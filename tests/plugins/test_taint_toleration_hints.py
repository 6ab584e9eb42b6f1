# SPDX-License-Identifier: Apache-2.0
"""Which events may make a pod schedulable that no node's taints admitted."""

from __future__ import annotations

import pytest
from tests.plugins.handles import FakeHandle

from steersman.framework.events import ActionType, ClusterEvent, EventResource, QueueingHint
from steersman.scheduler.plugins.taint_toleration import TaintToleration
from steersman.testing import NodeBuilder, make_node, make_pod

WAITING = make_pod("p").toleration("foo", "bar").obj()
TOLERATED = make_node().taint("foo", "bar")
UNTOLERATED = make_node().taint("foo", "other")


def plugin() -> TaintToleration:
    return TaintToleration(None, FakeHandle())


def test_it_registers_for_nodes_and_for_new_tolerations() -> None:
    nodes, pods = plugin().events_to_register()

    assert nodes.event == ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT)
    assert nodes.hint is not None
    assert pods.event == ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_TOLERATION)
    assert pods.hint is not None


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        pytest.param(None, TOLERATED, QueueingHint.QUEUE, id="added with tolerated taint"),
        pytest.param(None, make_node(), QueueingHint.QUEUE, id="added without taint"),
        pytest.param(None, UNTOLERATED, QueueingHint.SKIP, id="added with untolerated taint"),
        pytest.param(UNTOLERATED, TOLERATED, QueueingHint.QUEUE, id="now tolerated"),
        pytest.param(UNTOLERATED, UNTOLERATED.taint("more"), QueueingHint.SKIP, id="still untolerated"),
        pytest.param(TOLERATED, make_node(), QueueingHint.SKIP, id="tolerated before"),
        pytest.param(TOLERATED, UNTOLERATED, QueueingHint.SKIP, id="no longer tolerated"),
    ],
)
def test_a_node_wakes_the_pod_when_its_taints_become_tolerable(
    old: NodeBuilder | None, new: NodeBuilder, hint: QueueingHint
) -> None:
    before = old.obj() if old is not None else None

    assert plugin().after_node_change(WAITING, before, new.obj()) is hint


def test_any_new_toleration_of_the_pod_itself_wakes_it() -> None:
    updated = make_pod("p").toleration("foo", "bar").toleration("whatever").obj()

    assert plugin().after_toleration_added(WAITING, WAITING, updated) is QueueingHint.QUEUE


def test_a_new_toleration_of_another_pod_does_not_wake_it() -> None:
    other = make_pod("other")

    hint = plugin().after_toleration_added(WAITING, other.obj(), other.toleration("foo").obj())

    assert hint is QueueingHint.SKIP


def test_event_objects_of_another_kind_are_a_fault() -> None:
    with pytest.raises(TypeError, match="expected Node"):
        plugin().after_node_change(WAITING, None, "not a node")
    with pytest.raises(TypeError, match="expected Pod"):
        plugin().after_toleration_added(WAITING, "not a pod", WAITING)
