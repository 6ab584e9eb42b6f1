# SPDX-License-Identifier: Apache-2.0
"""Which events may make a pod schedulable that could not be spread."""

from __future__ import annotations

import pytest
from tests.plugins.pod_topology_spread.spreading import WEB, ZONE, node, spread_plugin, web

from steersman import api
from steersman.config import DefaultingType, PodTopologySpreadArgs
from steersman.framework.events import ActionType, ClusterEvent, EventResource, HintFn, QueueingHint
from steersman.scheduler.plugins.pod_topology_spread import PodTopologySpread
from steersman.testing import NodeBuilder, PodBuilder, make_node, make_pod, make_service

QUEUE, SKIP = QueueingHint.QUEUE, QueueingHint.SKIP
WAITING = web("waiting").spread(ZONE, selector=WEB)
ON_BOTH = WAITING.spread(api.HOSTNAME_LABEL, selector=WEB)
RUNNING = make_pod("running").node("n")


def hints(plugin: PodTopologySpread | None = None) -> tuple[HintFn, HintFn]:
    pods, nodes = (plugin or spread_plugin()).events_to_register()
    assert pods.hint is not None
    assert nodes.hint is not None
    return pods.hint, nodes.hint


def after_pod(waiting: PodBuilder, old: PodBuilder | None, new: PodBuilder | None) -> QueueingHint:
    return hints()[0](waiting.obj(), old.obj() if old else None, new.obj() if new else None)


def after_node(waiting: PodBuilder, old: NodeBuilder | None, new: NodeBuilder | None) -> QueueingHint:
    return hints()[1](waiting.obj(), old.obj() if old else None, new.obj() if new else None)


def test_it_registers_for_pods_and_nodes() -> None:
    pods, nodes = spread_plugin().events_to_register()

    assert pods.event == ClusterEvent(
        EventResource.POD,
        ActionType.ADD | ActionType.DELETE | ActionType.UPDATE_POD_LABEL | ActionType.UPDATE_POD_TOLERATION,
    )
    assert nodes.event == ClusterEvent(
        EventResource.NODE,
        ActionType.ADD | ActionType.DELETE | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_TAINT,
    )


@pytest.mark.parametrize(
    ("other", "hint"),
    [
        pytest.param(RUNNING.labels(WEB), QUEUE, id="selected"),
        pytest.param(RUNNING.label("app", "db"), SKIP, id="not selected"),
        pytest.param(RUNNING.labels(WEB).namespace("elsewhere"), SKIP, id="of another namespace"),
        pytest.param(make_pod("pending").labels(WEB), SKIP, id="without a node"),
        pytest.param(make_pod("pending").labels(WEB).nominated("n"), QUEUE, id="about to get a node"),
    ],
)
def test_a_pod_that_comes_or_goes_helps_if_it_counts(other: PodBuilder, hint: QueueingHint) -> None:
    assert after_pod(WAITING, None, other) is hint
    assert after_pod(WAITING, other, None) is hint


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        pytest.param(RUNNING, RUNNING.labels(WEB), QUEUE, id="now selected"),
        pytest.param(RUNNING.labels(WEB), RUNNING, QUEUE, id="no longer selected"),
        pytest.param(RUNNING, RUNNING.label("tier", "db"), SKIP, id="another label"),
        pytest.param(RUNNING.labels(WEB), RUNNING.labels(WEB).label("tier", "db"), SKIP, id="still selected"),
        pytest.param(RUNNING.labels(WEB), RUNNING.labels(WEB), SKIP, id="nothing"),
        pytest.param(make_pod("pending"), make_pod("pending").labels(WEB), SKIP, id="without a node"),
        pytest.param(
            RUNNING.namespace("elsewhere"), RUNNING.namespace("elsewhere").labels(WEB), SKIP, id="another namespace"
        ),
    ],
)
def test_a_pod_that_changes_its_labels_helps_if_that_changes_the_counts(
    old: PodBuilder, new: PodBuilder, hint: QueueingHint
) -> None:
    assert after_pod(WAITING, old, new) is hint


def test_any_of_several_constraints_suffices() -> None:
    waiting = WAITING.spread(api.HOSTNAME_LABEL, selector={"tier": "db"})

    assert after_pod(waiting, None, RUNNING.label("tier", "db")) is QUEUE
    assert after_pod(waiting, RUNNING, RUNNING.label("tier", "db")) is QUEUE
    assert after_pod(waiting, RUNNING, RUNNING.label("tier", "ui")) is SKIP


def test_the_waiting_pod_itself_may_change_its_labels() -> None:
    assert after_pod(WAITING, WAITING, WAITING.label("app", "db")) is QUEUE
    assert after_pod(WAITING, WAITING, WAITING.label("tier", "db")) is SKIP


def test_a_new_toleration_helps_if_taints_are_honoured() -> None:
    honouring = web("waiting").spread(ZONE, selector=WEB, node_taints_policy="Honor")

    assert after_pod(honouring, honouring, honouring.toleration("gpu")) is QUEUE
    assert after_pod(WAITING, WAITING, WAITING.toleration("gpu")) is SKIP
    assert after_pod(honouring, RUNNING.labels(WEB), RUNNING.labels(WEB).toleration("gpu")) is SKIP


@pytest.mark.parametrize(
    ("waiting", "changed", "hint"),
    [
        pytest.param(WAITING, node("n", "a"), QUEUE, id="with the label"),
        pytest.param(WAITING, make_node("n").label("other", "a"), SKIP, id="without the label"),
        pytest.param(ON_BOTH, node("n", "a"), QUEUE, id="with both labels"),
        pytest.param(ON_BOTH, node("n"), SKIP, id="with one of two labels"),
    ],
)
def test_a_node_that_comes_or_goes_helps_if_it_has_every_domain(
    waiting: PodBuilder, changed: NodeBuilder, hint: QueueingHint
) -> None:
    assert after_node(waiting, None, changed) is hint
    assert after_node(waiting, changed, None) is hint


@pytest.mark.parametrize(
    ("waiting", "old", "new", "hint"),
    [
        pytest.param(WAITING, node("n", "a"), node("n", "b"), QUEUE, id="another zone"),
        pytest.param(WAITING, node("n"), node("n", "a"), QUEUE, id="a zone at last"),
        pytest.param(WAITING, node("n", "a"), node("n"), QUEUE, id="no zone any more"),
        pytest.param(WAITING, node("n", "a"), node("n", "a").label("other", "b"), SKIP, id="another label"),
        pytest.param(WAITING, node("n"), node("n").label("other", "b"), SKIP, id="still no zone"),
        pytest.param(WAITING, node("n", "a"), node("n", "a").taint("gpu"), QUEUE, id="other taints"),
        pytest.param(WAITING, node("n"), node("n").taint("gpu"), SKIP, id="other taints without a zone"),
        pytest.param(
            ON_BOTH, make_node("n").label(ZONE, "a"), make_node("n").label(ZONE, "b"), SKIP, id="one of two labels"
        ),
    ],
)
def test_a_node_that_changes_helps_if_domains_or_taints_change(
    waiting: PodBuilder, old: NodeBuilder, new: NodeBuilder, hint: QueueingHint
) -> None:
    assert after_node(waiting, old, new) is hint


def test_default_constraints_count() -> None:
    defaults = PodTopologySpreadArgs(
        default_constraints=(
            api.TopologySpreadConstraint(topology_key=ZONE, max_skew=1, when_unsatisfiable="DoNotSchedule"),
        ),
        defaulting_type=DefaultingType.LIST,
    )
    service = make_service("web").selector(WEB).obj()
    after_pod_event, after_node_event = hints(spread_plugin(args=defaults, objects=[service]))

    assert after_pod_event(web().obj(), None, RUNNING.labels(WEB).obj()) is QUEUE
    assert after_pod_event(web().obj(), None, RUNNING.obj()) is SKIP
    assert after_node_event(web().obj(), None, node("n", "a").obj()) is QUEUE
    assert after_node_event(web().obj(), None, node("n").obj()) is SKIP


def test_objects_of_another_kind_are_a_fault() -> None:
    for hint in hints():
        with pytest.raises(TypeError):
            hint(WAITING.obj(), None, "not an object")
        with pytest.raises(TypeError):
            hint(WAITING.obj(), "not an object", None)
