# SPDX-License-Identifier: Apache-2.0
"""Which node events may make a pod schedulable that no node's labels admitted."""

from __future__ import annotations

import pytest
from tests.plugins.handles import FakeHandle

from steersman.api import NodeAffinity as NodeAffinitySpec, NodeSelector
from steersman.base.errors import InputError
from steersman.config import NodeAffinityArgs
from steersman.framework.events import ActionType, ClusterEvent, EventResource, QueueingHint
from steersman.scheduler.plugins.node_affinity import NodeAffinity
from steersman.testing import Expression, NodeBuilder, is_in, make_node, make_pod
from steersman.testing.selecting import node_selector_term

WAITING = make_pod().required_node_affinity(is_in("foo", "bar")).obj()
MATCHING = make_node().label("foo", "bar")


def plugin(*, enforcing_foo_bar: bool = False) -> NodeAffinity:
    selector = NodeSelector(node_selector_terms=(node_selector_term([is_in("foo", "bar")]),))
    added = NodeAffinitySpec(required_during_scheduling_ignored_during_execution=selector)
    return NodeAffinity(NodeAffinityArgs(added_affinity=added if enforcing_foo_bar else None), FakeHandle())


def test_it_registers_for_new_and_relabelled_nodes() -> None:
    (row,) = plugin().events_to_register()

    assert row.event == ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL)
    assert row.hint is not None


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        pytest.param(None, make_node(), QueueingHint.SKIP, id="added, does not match"),
        pytest.param(None, MATCHING, QueueingHint.QUEUE, id="added, matches"),
        pytest.param(make_node(), make_node().capacity(cpu="1"), QueueingHint.SKIP, id="unrelated change"),
        pytest.param(make_node(), make_node().label("k", "v"), QueueingHint.SKIP, id="unrelated label"),
        pytest.param(MATCHING, make_node().label("k", "v"), QueueingHint.SKIP, id="matches no longer"),
        pytest.param(make_node(), MATCHING, QueueingHint.QUEUE, id="matches now"),
        pytest.param(MATCHING, MATCHING.capacity(cpu="1"), QueueingHint.SKIP, id="matched before"),
    ],
)
def test_a_node_wakes_the_pod_when_it_comes_to_match(
    old: NodeBuilder | None, new: NodeBuilder, hint: QueueingHint
) -> None:
    before = old.obj() if old is not None else None

    assert plugin().after_node_change(WAITING, before, new.obj()) is hint
    assert plugin(enforcing_foo_bar=True).after_node_change(WAITING, before, new.obj()) is hint


def test_a_node_outside_of_the_affinity_of_the_configuration_wakes_no_pod() -> None:
    undemanding = make_pod().obj()

    assert plugin(enforcing_foo_bar=True).after_node_change(undemanding, None, make_node().obj()) is QueueingHint.SKIP
    assert plugin(enforcing_foo_bar=True).after_node_change(undemanding, None, MATCHING.obj()) is QueueingHint.QUEUE


def test_terms_that_cannot_be_understood_leave_the_question_open() -> None:
    unusable = make_pod().node_selector("foo", "bar").required_node_affinity(Expression("foo", "Resembles", ("bar",)))

    assert plugin().after_node_change(unusable.obj(), None, make_node().obj()) is QueueingHint.SKIP
    with pytest.raises(InputError, match="Unsupported value"):
        plugin().after_node_change(unusable.obj(), None, MATCHING.obj())


def test_an_event_object_that_is_no_node_is_a_fault() -> None:
    with pytest.raises(TypeError, match="expected Node"):
        plugin().after_node_change(WAITING, None, "not a node")
    with pytest.raises(TypeError, match="expected Node"):
        plugin().after_node_change(WAITING, "not a node", MATCHING.obj())
