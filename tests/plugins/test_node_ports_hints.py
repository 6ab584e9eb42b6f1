# SPDX-License-Identifier: Apache-2.0
"""Which events may free a host port for a waiting pod."""

from __future__ import annotations

import pytest

from steersman.framework.events import ActionType, ClusterEvent, EventResource, QueueingHint
from steersman.scheduler.plugins.node_ports import NodePorts
from steersman.testing import PodBuilder, make_pod

WAITING = make_pod("waiting").host_port(8080).obj()


def hint_after_deletion_of(pod: PodBuilder) -> QueueingHint:
    return NodePorts().after_pod_deleted(WAITING, pod.obj(), None)


def test_it_registers_for_deleted_pods_and_new_nodes() -> None:
    pods, nodes = NodePorts().events_to_register()

    assert pods.event == ClusterEvent(EventResource.POD, ActionType.DELETE)
    assert pods.hint is not None
    assert nodes.event == ClusterEvent(EventResource.NODE, ActionType.ADD)
    assert nodes.hint is None


def test_a_deleted_pod_that_held_the_port_wakes_the_waiting_one() -> None:
    assert hint_after_deletion_of(make_pod().node("n").host_port(8080)) is QueueingHint.QUEUE


def test_so_does_one_that_was_nominated_to_a_node() -> None:
    assert hint_after_deletion_of(make_pod().nominated("n").host_port(8080)) is QueueingHint.QUEUE


def test_a_deleted_pod_that_never_had_a_node_frees_nothing() -> None:
    assert hint_after_deletion_of(make_pod().host_port(8080)) is QueueingHint.SKIP


def test_a_deleted_pod_without_host_ports_frees_nothing() -> None:
    assert hint_after_deletion_of(make_pod().node("n")) is QueueingHint.SKIP


def test_a_deleted_pod_with_other_host_ports_frees_nothing_of_use() -> None:
    assert hint_after_deletion_of(make_pod().node("n").host_port(8081)) is QueueingHint.SKIP
    assert hint_after_deletion_of(make_pod().node("n").host_port(8080, protocol="UDP")) is QueueingHint.SKIP


def test_an_event_object_that_is_no_pod_is_a_fault() -> None:
    with pytest.raises(TypeError, match="expected Pod"):
        NodePorts().after_pod_deleted(WAITING, "not a pod", None)
