# SPDX-License-Identifier: Apache-2.0
"""Another scheduler may fill the node between the decision and the binding: the pod goes elsewhere then."""

from __future__ import annotations

from tests.binding.cluster import Cluster, Point

from steersman.framework.pod_info import PodInfo
from steersman.framework.ports import REASON_UNSCHEDULABLE
from steersman.scheduler.binding.cycle import MAX_CONCURRENT_BINDINGS
from steersman.testing import make_pod


def fill_when_waiting(cpu: str) -> tuple[Cluster, str]:
    """Somebody else's pod, with so much CPU, appears on the node of pod `a` while that is in PreBind. Also the node."""

    def on_point(point: Point, pod: PodInfo) -> None:
        if point is Point.FIRST_PRE_BIND and cluster.pod("foreign") is None:
            record = cluster.scheduler.cache.get(pod.uid)
            assert record is not None
            chosen.append(record.node_name)
            cluster.store.create(make_pod("foreign").req(cpu=cpu).node(record.node_name).obj())

    chosen: list[str] = []
    cluster = Cluster(on_point)
    cluster.create_pod("a", cpu="5")
    cluster.settle()
    return cluster, chosen[0]


def test_a_pod_whose_node_was_filled_goes_to_another_one() -> None:
    cluster, filled = fill_when_waiting("5")
    assert cluster.node_of("a") not in ("", filled)
    first = cluster.writer.failures[0]
    assert first.reason == REASON_UNSCHEDULABLE
    assert "was filled by others" in first.message


def test_a_node_with_room_for_both_is_kept() -> None:
    cluster, shared = fill_when_waiting("3")
    assert cluster.node_of("a") == shared
    assert cluster.writer.failures == []


def test_all_get_their_turn_when_many_are_bound_at_once() -> None:
    cluster = Cluster()
    names = [f"p{index}" for index in range(2 * MAX_CONCURRENT_BINDINGS)]
    for name in names:
        cluster.create_pod(name, cpu="100m")
    cluster.settle()
    assert all(cluster.node_of(name) for name in names)
