# SPDX-License-Identifier: Apache-2.0
"""Nodes that are not well: their conditions, their taints, and the pods that leave them."""

from __future__ import annotations

import msgspec
import pytest
from tests.controllers.batch_cluster import TestCluster
from tests.embedded.stores import raw, with_status

from steersman import api
from steersman.cluster.controllers.node_lifecycle import NOT_READY, UNREACHABLE, NodeLifecycleController
from steersman.cluster.controllers.taint_eviction import TaintEvictionController
from steersman.cluster.store.heartbeats import resume_heartbeat, stop_heartbeat
from steersman.testing import make_node, make_pod

_replace = msgspec.structs.replace


class NodeWorld(TestCluster):
    def __init__(self, nodes: int = 3) -> None:
        super().__init__()
        NodeLifecycleController(self.cluster)
        TaintEvictionController(self.cluster)
        for number in range(nodes):
            self.create(raw(make_node(f"n{number}")))
            self.set_condition(f"n{number}", "Ready", "True")
        self.run()

    def node(self, name: str = "n0") -> api.Node:
        return self.store.get(api.Node, name)

    def set_condition(self, name: str, kind: str, status: str) -> None:
        node = self.node(name)
        others = tuple(known for known in node.status.conditions if known.type != kind)
        condition = api.Condition(type=kind, status=status, last_transition_time=self.store.timestamp())
        self.store.update_status(_replace(node, status=_replace(node.status, conditions=(*others, condition))))

    def cordon(self, unschedulable: bool) -> None:
        node = self.node()
        self.store.update(_replace(node, spec=_replace(node.spec, unschedulable=unschedulable)))

    def taints(self, name: str = "n0") -> list[tuple[str, str]]:
        return [(taint.key.rpartition("/")[2], taint.effect) for taint in self.node(name).spec.taints]

    def add_pod(self, name: str = "web", node: str = "n0", **spec: object) -> None:
        pod = raw(make_pod(name).node(node).phase("Running"))
        pod = with_status(pod, conditions=(api.Condition(type="Ready", status="True"),))
        self.create(_replace(pod, spec=_replace(pod.spec, **spec)))

    def pod(self, name: str = "web") -> api.Pod:
        return self.store.get(api.Pod, f"default/{name}")

    def tainted(self) -> list[str]:
        return [name for name in self.names(api.Node) if any(effect == "NoExecute" for _, effect in self.taints(name))]


def test_a_node_that_is_not_ready_is_tainted() -> None:
    world = NodeWorld()
    world.set_condition("n0", "Ready", "False")
    world.run()
    assert world.taints() == [("not-ready", "NoSchedule"), ("not-ready", "NoExecute")]
    assert world.node().spec.taints[1].time_added == "2031-01-01T00:00:00Z"
    world.set_condition("n0", "Ready", "Unknown")
    world.run()
    assert sorted(world.taints()) == [("unreachable", "NoExecute"), ("unreachable", "NoSchedule")]
    world.set_condition("n0", "Ready", "True")
    world.run()
    assert world.taints() == []


@pytest.mark.parametrize(
    ("condition", "taint"),
    [
        ("MemoryPressure", "memory-pressure"),
        ("DiskPressure", "disk-pressure"),
        ("PIDPressure", "pid-pressure"),
        ("NetworkUnavailable", "network-unavailable"),
    ],
)
def test_other_conditions_keep_pods_away(condition: str, taint: str) -> None:
    world = NodeWorld()
    world.set_condition("n0", condition, "True")
    world.run()
    assert world.taints() == [(taint, "NoSchedule")]
    world.set_condition("n0", condition, "False")
    world.run()
    assert world.taints() == []


def test_a_cordoned_node_is_tainted_until_it_is_uncordoned() -> None:
    world = NodeWorld()
    world.cordon(True)
    world.run()
    assert world.taints() == [("unschedulable", "NoSchedule")]
    world.cordon(False)
    world.run()
    assert world.taints() == []


def test_taints_of_a_node_written_by_hand_stay() -> None:
    world = NodeWorld()
    world.create(raw(make_node("hand").taint(NOT_READY).taint("example.com/mine")))
    world.run()
    assert world.taints("hand") == [("not-ready", "NoSchedule"), ("mine", "NoSchedule")]


def test_a_silent_node_is_unknown_after_fifty_seconds() -> None:
    world = NodeWorld()
    world.add_pod()
    stop_heartbeat(world.store, "n0")
    world.run(49)
    assert world.taints() == []
    world.run(50)
    ready = next(known for known in world.node().status.conditions if known.type == "Ready")
    assert (ready.status, ready.reason, ready.message) == (
        "Unknown",
        "NodeStatusUnknown",
        "Kubelet stopped posting node status.",
    )
    assert world.taints() == [("unreachable", "NoSchedule"), ("unreachable", "NoExecute")]
    assert world.pod().status.conditions[0].status == "False"
    assert "NodeNotReady" in world.reasons


def test_a_node_whose_kubelet_comes_back_in_time_stays_ready() -> None:
    world = NodeWorld()
    stop_heartbeat(world.store, "n0")
    world.run(30)
    resume_heartbeat(world.store, "n0")
    world.run(200)
    assert world.taints() == []


def test_a_lease_that_is_renewed_is_a_sign_of_life() -> None:
    world = NodeWorld()
    for second in range(0, 200, 10):
        world.run(second)
        stop_heartbeat(world.store, "n0")  # which renews a lease that is there
    assert world.taints() == []
    world.run(250)
    assert ("unreachable", "NoExecute") in world.taints()


def test_pods_leave_after_the_time_that_they_tolerate() -> None:
    world = NodeWorld()
    world.add_pod("short", tolerations=(api.Toleration(key=UNREACHABLE, operator="Exists", toleration_seconds=10),))
    world.add_pod("usual")
    world.add_pod("forever", tolerations=(api.Toleration(operator="Exists"),))
    world.set_condition("n0", "Ready", "Unknown")
    world.run(9)
    assert world.pod("short").metadata.deletion_timestamp is None
    world.run(10)
    short = world.pod("short")
    assert short.metadata.deletion_timestamp is not None
    assert short.status.conditions[-1].reason == "DeletionByTaintManager"
    assert world.pod("usual").metadata.deletion_timestamp is None
    world.run(300)
    assert world.pod("usual").metadata.deletion_timestamp is not None
    assert world.pod("forever").metadata.deletion_timestamp is None
    deletions = [event.message for event in world.events if event.reason == "TaintManagerEviction"]
    assert deletions == ["Marking for deletion Pod default/short", "Marking for deletion Pod default/usual"]


def test_pods_stay_when_the_taint_goes_in_time() -> None:
    world = NodeWorld()
    world.add_pod()
    world.set_condition("n0", "Ready", "False")
    world.run(100)
    world.set_condition("n0", "Ready", "True")
    world.run(400)
    assert world.pod().metadata.deletion_timestamp is None
    assert world.events[-1].message == "Cancelling deletion of Pod default/web"


def test_pods_without_toleration_leave_at_once() -> None:
    world = NodeWorld()
    world.add_pod()
    node = world.node()
    taint = api.Taint(key="example.com/broken", effect="NoExecute")
    world.store.update(_replace(node, spec=_replace(node.spec, taints=(taint,))))
    world.run()
    assert world.pod().metadata.deletion_timestamp is not None


def test_nodes_of_a_zone_are_tainted_one_by_one() -> None:
    world = NodeWorld(nodes=10)
    for number in range(3):
        world.set_condition(f"n{number}", "Ready", "Unknown")
    world.run()
    assert world.tainted() == ["n0"]
    world.run(10)
    assert world.tainted() == ["n0", "n1"]
    world.run(20)
    assert world.tainted() == ["n0", "n1", "n2"]


def test_most_of_a_small_zone_being_unwell_stops_the_eviction() -> None:
    world = NodeWorld(nodes=5)
    for number in range(3):
        world.set_condition(f"n{number}", "Ready", "Unknown")
    world.run(300)
    assert world.tainted() == []
    world.set_condition("n2", "Ready", "True")
    world.run(330)
    assert world.tainted() == ["n0", "n1"]


def test_no_pod_is_evicted_when_all_nodes_are_unhealthy() -> None:
    world = NodeWorld(nodes=2)
    world.set_condition("n0", "Ready", "Unknown")
    world.run()
    assert world.tainted() == ["n0"]
    world.set_condition("n1", "Ready", "Unknown")
    world.run(400)
    assert world.tainted() == []
