# SPDX-License-Identifier: Apache-2.0
"""Registered events in words."""

from __future__ import annotations

import pytest

from steersman.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource
from steersman.scheduler.diagnosis import RequeueEvents, requeue_events
from steersman.scheduler.diagnosis.requeue import event_texts


@pytest.mark.parametrize(
    ("resource", "action", "words"),
    [
        (EventResource.NODE, ActionType.ADD, ["a node is added"]),
        (EventResource.NODE, ActionType.ADD | ActionType.DELETE, ["a node is added or deleted"]),
        (
            EventResource.NODE,
            ActionType.ADD | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_TAINT,
            ["a node is added", "a node's labels or taints change"],
        ),
        (EventResource.NODE, ActionType.UPDATE, ["a node changes"]),
        (EventResource.POD, ActionType.UPDATE_POD_SCALE_DOWN, ["a pod requests less than before"]),
        (
            EventResource.UNSCHEDULABLE_POD,
            ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
            ["the pod's last scheduling gate is removed"],
        ),
        (
            EventResource.TARGET_POD,
            ActionType.UPDATE_POD_SCALE_DOWN | ActionType.UPDATE_POD_TOLERATION,
            ["the pod's tolerations change", "the pod requests less than before"],
        ),
        (EventResource.POD, ActionType.ALL, ["a pod is added or deleted", "a pod changes"]),
        (EventResource.CSI_NODE, ActionType.ADD | ActionType.UPDATE, ["a CSINode is added", "a CSINode changes"]),
        ("example.com/Gang", ActionType.DELETE, ["a Gang is deleted"]),
    ],
)
def test_an_event_reads_like_a_sentence(resource: str, action: ActionType, words: list[str]) -> None:
    assert list(event_texts(ClusterEvent(resource, action))) == words


def test_only_plugins_that_rejected_the_pod_are_listed_each_once() -> None:
    added = ClusterEventWithHint(ClusterEvent(EventResource.NODE, ActionType.ADD))
    deleted = ClusterEventWithHint(ClusterEvent(EventResource.POD, ActionType.DELETE))
    hints = [("B", added), ("A", deleted), ("B", deleted), ("B", added), ("C", added)]
    assert requeue_events(hints, {"A", "B", "Silent"}) == (
        RequeueEvents("A", ("a pod is deleted",)),
        RequeueEvents("B", ("a node is added", "a pod is deleted")),
        RequeueEvents("Silent", ()),
    )
