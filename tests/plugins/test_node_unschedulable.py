# SPDX-License-Identifier: Apache-2.0
"""Cordoned nodes take only pods that tolerate the taint of cordoned nodes."""

from __future__ import annotations

import pytest
from tests.plugins.handles import FakeHandle

from steersman.framework.cycle_state import CycleState
from steersman.framework.events import ActionType, ClusterEvent, EventResource, QueueingHint
from steersman.framework.status import Status, unresolvable
from steersman.scheduler.plugins.node_unschedulable import ERR_REASON, UNSCHEDULABLE_TAINT, NodeUnschedulable
from steersman.testing import NodeBuilder, PodBuilder, make_node, make_pod

CORDONED = make_node("foo").unschedulable()
OPEN = make_node("foo")
TAINT_KEY = UNSCHEDULABLE_TAINT.key


def plugin() -> NodeUnschedulable:
    return NodeUnschedulable(None, FakeHandle())


def verdict(pod: PodBuilder, node: NodeBuilder) -> Status | None:
    return plugin().filter(CycleState(), pod.info(), node.info())


def test_a_pod_does_not_fit_on_a_cordoned_node() -> None:
    assert verdict(make_pod(), CORDONED) == unresolvable(ERR_REASON)


def test_a_pod_fits_on_a_node_that_is_not_cordoned() -> None:
    assert verdict(make_pod(), OPEN) is None


@pytest.mark.parametrize(
    "tolerant",
    [
        pytest.param(make_pod().toleration(TAINT_KEY, effect="NoSchedule"), id="that key and effect"),
        pytest.param(make_pod().toleration(TAINT_KEY), id="every effect"),
        pytest.param(make_pod().toleration(), id="everything"),
        pytest.param(make_pod().toleration(TAINT_KEY, ""), id="the empty value"),
    ],
)
def test_a_pod_that_tolerates_the_taint_fits_on_a_cordoned_node(tolerant: PodBuilder) -> None:
    assert verdict(tolerant, CORDONED) is None


@pytest.mark.parametrize(
    "intolerant",
    [
        pytest.param(make_pod().toleration(TAINT_KEY, effect="NoExecute"), id="another effect"),
        pytest.param(make_pod().toleration("other"), id="another key"),
        pytest.param(make_pod().toleration(TAINT_KEY, "value"), id="a value"),
    ],
)
def test_other_tolerations_do_not_help(intolerant: PodBuilder) -> None:
    assert verdict(intolerant, CORDONED) == unresolvable(ERR_REASON)


def test_it_registers_for_nodes_and_for_new_tolerations() -> None:
    nodes, pods = plugin().events_to_register()

    assert nodes.event == ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT)
    assert nodes.hint is not None
    assert pods.event == ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_TOLERATION)
    assert pods.hint is not None


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        pytest.param(None, CORDONED, QueueingHint.SKIP, id="added cordoned"),
        pytest.param(None, OPEN, QueueingHint.QUEUE, id="added open"),
        pytest.param(CORDONED, OPEN, QueueingHint.QUEUE, id="uncordoned"),
        pytest.param(OPEN, CORDONED, QueueingHint.SKIP, id="cordoned"),
        pytest.param(CORDONED, CORDONED.taint("k"), QueueingHint.SKIP, id="still cordoned"),
        pytest.param(OPEN, OPEN.taint("k"), QueueingHint.SKIP, id="open as before"),
    ],
)
def test_a_node_wakes_the_pod_when_it_becomes_available(
    old: NodeBuilder | None, new: NodeBuilder, hint: QueueingHint
) -> None:
    before = old.obj() if old is not None else None

    assert plugin().after_node_change(make_pod().obj(), before, new.obj()) is hint


@pytest.mark.parametrize(
    ("updated", "hint"),
    [
        pytest.param(make_pod("p").toleration(TAINT_KEY, effect="NoSchedule"), QueueingHint.QUEUE, id="the right one"),
        pytest.param(make_pod("p").toleration("key"), QueueingHint.SKIP, id="an unrelated one"),
        pytest.param(make_pod("other").toleration(TAINT_KEY), QueueingHint.SKIP, id="of another pod"),
    ],
)
def test_a_new_toleration_of_the_taint_wakes_the_pod(updated: PodBuilder, hint: QueueingHint) -> None:
    waiting = make_pod("p").obj()

    assert plugin().after_toleration_added(waiting, waiting, updated.obj()) is hint


def test_event_objects_of_another_kind_are_a_fault() -> None:
    with pytest.raises(TypeError, match="expected Node"):
        plugin().after_node_change(make_pod().obj(), "not a node", OPEN.obj())
    with pytest.raises(TypeError, match="expected Pod"):
        plugin().after_toleration_added(make_pod().obj(), None, "not a pod")
