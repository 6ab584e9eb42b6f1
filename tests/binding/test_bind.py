# SPDX-License-Identifier: Apache-2.0
"""Bind: the first plugin that does not skip binds; a refusal leads back to the queue with the reason."""

from __future__ import annotations

from tests.binding.cluster import Cluster, ClusterPlugin

from steersman.framework import SKIP, BindPlugin, PostBindPlugin, Status
from steersman.framework.pod_info import PodInfo
from steersman.framework.ports import REASON_ERROR
from steersman.framework.status import error


class NoWait(ClusterPlugin, PostBindPlugin):
    """Remembers what was bound."""

    name = "NoWait"

    def post_bind(self, pod: PodInfo, node_name: str) -> None:
        self.cluster.reserved.add(f"{pod.name} on {node_name}")


class Refusing(ClusterPlugin, BindPlugin):
    name = "Refusing"
    answer: Status = error("not now")

    async def bind(self, pod: PodInfo, node_name: str) -> Status:
        return self.answer


def test_post_bind_is_told_after_the_binding() -> None:
    cluster = Cluster(plugins=[NoWait])
    cluster.create_pod("a")
    cluster.advance(5)
    assert cluster.reserved == {f"a on {cluster.node_of('a')}"}


def test_without_anything_to_wait_for_binding_needs_no_task() -> None:
    cluster = Cluster(plugins=[NoWait])
    cluster.writer.binds_at_once = True
    cluster.create_pod("a")
    assert cluster.scheduler.schedule_one() is not None
    assert cluster.reserved == {f"a on {cluster.node_of('a')}"}
    assert len(cluster.tasks) == 0


def test_a_refusal_at_once_and_a_late_one_are_told_alike() -> None:
    messages = []
    for at_once in (True, False):
        cluster = Cluster(plugins=[NoWait])
        cluster.writer.binds_at_once = at_once
        cluster.create_pod("a")
        cluster.writer.refusal = error("etcd is down")
        cluster.decide()
        cluster.advance(1.5)
        failure = cluster.writer.failures[0]
        assert failure.reason == REASON_ERROR
        messages.append(failure.message)
    assert messages == ['running Bind plugin "DefaultBinder": etcd is down'] * 2


def test_a_plugin_that_skips_leaves_the_pod_to_the_next_one() -> None:
    class Skipping(Refusing):
        answer = SKIP

    cluster = Cluster(plugins=[Skipping])
    cluster.create_pod("a")
    cluster.advance(5)
    assert cluster.node_of("a")
