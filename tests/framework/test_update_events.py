# SPDX-License-Identifier: Apache-2.0
"""What the update of a pod or a node amounts to."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from steersman import api
from steersman.framework.events import (
    DEFAULT_POD_EVENTS,
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    PodEvents,
    node_update_events,
    split_by_role,
)
from steersman.testing import NodeBuilder, PodBuilder, make_node, make_pod


def pod_labels(old: PodBuilder, new: PodBuilder) -> list[str]:
    return [event.label for event in DEFAULT_POD_EVENTS.of_update(old.obj(), new.obj())]


def node_labels(old: NodeBuilder, new: NodeBuilder) -> list[str]:
    return [event.label for event in node_update_events(old.obj(), new.obj())]


@pytest.mark.parametrize(
    ("old", "new", "event"),
    [
        (make_pod(), make_pod().label("app", "web"), "UpdatePodLabel"),
        (make_pod().req(cpu="2"), make_pod().req(cpu="1500m"), "UpdatePodScaleDown"),
        (make_pod().req(cpu="1", memory="1Gi"), make_pod().req(cpu="1"), "UpdatePodScaleDown"),
        (make_pod().req(foo="2"), make_pod().req(foo="1"), "UpdatePodScaleDown"),
        (make_pod().gate("a"), make_pod(), "UpdatePodSchedulingGatesEliminated"),
        (make_pod(), make_pod().toleration("key"), "UpdatePodToleration"),
    ],
)
def test_a_pod_change_has_its_event(old: PodBuilder, new: PodBuilder, event: str) -> None:
    assert pod_labels(old, new) == [f"UnschedulablePod{event}"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (make_pod(), make_pod()),
        (make_pod(), make_pod().annotation("note", "x")),
        (make_pod().req(cpu="1"), make_pod().req(cpu="2")),
        (make_pod().req(cpu="1"), make_pod().req(cpu="1000m")),
        (make_pod().gate("a").gate("b"), make_pod().gate("a")),
        (make_pod().toleration("a"), make_pod().toleration("b")),
    ],
)
def test_any_other_pod_change_is_a_general_update(old: PodBuilder, new: PodBuilder) -> None:
    assert pod_labels(old, new) == ["UnschedulablePodUpdate"]


def test_generated_claims_are_a_change_of_their_own() -> None:
    old = make_pod().obj()
    claims = (api.PodResourceClaimStatus(name="gpu", resource_claim_name="web-gpu"),)
    new = replace(old, status=replace(old.status, resource_claim_statuses=claims))

    assert [event.label for event in DEFAULT_POD_EVENTS.of_update(old, new)] == [
        "UnschedulablePodUpdatePodGeneratedResourceClaim"
    ]


def test_the_events_of_a_pod_with_a_node_say_so() -> None:
    assert pod_labels(make_pod().node("n1"), make_pod().node("n1").label("a", "b")) == ["AssignedPodUpdatePodLabel"]


def test_several_pod_changes_come_in_a_fixed_order() -> None:
    old = make_pod().req(cpu="2").gate("a")
    new = make_pod().req(cpu="1").toleration("key").label("app", "web")

    assert pod_labels(old, new) == [
        "UnschedulablePodUpdatePodLabel",
        "UnschedulablePodUpdatePodScaleDown",
        "UnschedulablePodUpdatePodSchedulingGatesEliminated",
        "UnschedulablePodUpdatePodToleration",
    ]


@pytest.mark.parametrize(
    ("old", "new", "event"),
    [
        (make_node(), make_node().label("zone", "a"), "UpdateNodeLabel"),
        (make_node(), make_node().taint("key"), "UpdateNodeTaint"),
        (make_node().unschedulable(), make_node(), "UpdateNodeTaint"),
        (make_node().allocatable(cpu="1"), make_node().allocatable(cpu="2"), "UpdateNodeAllocatable"),
        (make_node().allocatable(cpu="1"), make_node().allocatable(cpu="1", memory="1Gi"), "UpdateNodeAllocatable"),
        (make_node().condition("Ready", "True"), make_node().condition("Ready", "False"), "UpdateNodeCondition"),
        (make_node(), make_node().annotation("note", "x"), "UpdateNodeAnnotation"),
        (make_node(), make_node().declared_features("A"), "UpdateNodeDeclaredFeature"),
    ],
)
def test_a_node_change_has_its_event(old: NodeBuilder, new: NodeBuilder, event: str) -> None:
    assert node_labels(old, new) == [f"Node{event}"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (make_node(), make_node()),
        (make_node(), make_node().unschedulable()),
        (make_node(), make_node().image("nginx", size=5)),
        (make_node().allocatable(cpu="1"), make_node().allocatable(cpu="1000m")),
    ],
)
def test_an_irrelevant_node_change_has_no_event(old: NodeBuilder, new: NodeBuilder) -> None:
    assert node_labels(old, new) == []


def test_uncordoning_and_a_change_of_taints_are_two_events() -> None:
    old, new = make_node().unschedulable().taint("key"), make_node().label("zone", "a")

    assert node_labels(old, new) == ["NodeUpdateNodeTaint", "NodeUpdateNodeLabel", "NodeUpdateNodeTaint"]


def test_v1_37_distinguishes_the_waiting_pod_and_larger_requests() -> None:
    events, small, large = PodEvents(by_role=True), make_pod().req(cpu="1").obj(), make_pod().req(cpu="2").obj()
    assert [event.label for event in events.of_update(small, large)] == ["TargetPodUpdatePodScaleUp"]
    assert [event.label for event in events.of_update(large, small)] == ["TargetPodUpdatePodScaleDown"]
    assert events.unscheduled_add.label == "UnscheduledPodAdd"


def test_an_in_tree_registration_for_pods_is_split_by_role() -> None:
    actions = ActionType.ADD | ActionType.UPDATE_POD_LABEL | ActionType.UPDATE_POD_TOLERATION
    split = [row.event for row in split_by_role(ClusterEventWithHint(ClusterEvent("Pod", actions)))]
    assert split == [
        ClusterEvent("AssignedPod", ActionType.ADD | ActionType.UPDATE_POD_LABEL),
        ClusterEvent("TargetPod", ActionType.UPDATE_POD_LABEL | ActionType.UPDATE_POD_TOLERATION),
    ]
    every_update = ClusterEventWithHint(ClusterEvent("Pod", ActionType.UPDATE))
    assert [row.event.resource for row in split_by_role(every_update)] == ["TargetPod"]
