# SPDX-License-Identifier: Apache-2.0
"""Plugins may ask for other pods to be tried at once."""

from __future__ import annotations

from tests.binding.cluster import Cluster, ClusterPlugin

from steersman import api
from steersman.framework import CycleState, PermitPlugin, PreEnqueuePlugin, Status, pods_to_activate, unschedulable
from steersman.framework.pod_info import PodInfo


class LeaderFirst(ClusterPlugin, PermitPlugin):
    """Followers are turned down until the leader has been placed."""

    name = "LeaderFirst"

    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        if pod.name != "leader":
            leader = self.cluster.pod("leader")
            return None if leader is not None else unschedulable("no leader")
        for other in self.cluster.store.objects(api.Pod).values():
            pods_to_activate(state).add(other)
        return None


class Quiet(PreEnqueuePlugin):
    """Present so that nothing but the leader wakes the followers."""

    name = "Quiet"

    def pre_enqueue(self, pod: PodInfo) -> None:
        """Admits everybody."""


def test_they_move_at_the_end_of_a_cycle_that_found_a_node() -> None:
    cluster = Cluster(plugins=[LeaderFirst, Quiet])
    cluster.create_pod("follower")
    cluster.decide()
    assert cluster.scheduler.queue.statistics().active == 0
    cluster.create_pod("leader")
    queued = cluster.scheduler.queue.get("default/follower")
    assert queued is not None
    assert cluster.scheduler.schedule_one() is not None
    assert cluster.scheduler.queue.statistics().active == 1
    cluster.advance(5)
    assert cluster.node_of("follower")
