# SPDX-License-Identifier: Apache-2.0
"""PreBind: asked before, done in order, called off by preemption; its faults lead back to the queue."""

from __future__ import annotations

import asyncio

from tests.binding.cluster import Cluster, ClusterPlugin

from steersman.framework import SKIP, PreBindPlugin, ReservePlugin, Status, unschedulable
from steersman.framework.pod_info import PodInfo
from steersman.framework.ports import REASON_ERROR, REASON_UNSCHEDULABLE
from steersman.framework.status import error


class Slow(ClusterPlugin, PreBindPlugin):
    """Takes ten seconds, unless there is nothing to do."""

    name = "Slow"
    flight: Status | None = None
    result: Status | None = None

    def pre_bind_pre_flight(self, pod: PodInfo, node_name: str) -> Status | None:
        return self.flight

    async def pre_bind(self, pod: PodInfo, node_name: str) -> Status | None:
        await asyncio.sleep(10)
        return self.result


def run(plugin: type[Slow], seconds: float = 15) -> Cluster:
    cluster = Cluster(step_seconds=0.0, plugins=[plugin])
    cluster.create_pod("a")
    cluster.advance(seconds)
    return cluster


def first_failure(cluster: Cluster) -> tuple[str, str]:
    failure = cluster.writer.failures[0]
    return failure.reason, failure.message


def test_the_expected_node_is_written_before_slow_work() -> None:
    cluster = run(Slow, 5)
    assert [pod for pod, _ in cluster.writer.nominations] == ["default/a"]
    pod = cluster.pod("a")
    assert pod is not None
    assert pod.status.nominated_node_name == cluster.writer.nominations[0][1]
    assert pod.spec.node_name == ""
    cluster.advance(10)
    assert cluster.node_of("a") == cluster.writer.nominations[0][1]


def test_without_work_nothing_is_nominated() -> None:
    class Idle(Slow):
        flight = SKIP

    cluster = run(Idle)
    assert cluster.node_of("a")
    assert cluster.writer.nominations == []


def test_a_writer_that_binds_at_once_needs_no_task_when_there_is_no_work() -> None:
    class Idle(Slow):
        flight = SKIP

    cluster = Cluster(step_seconds=0.0, plugins=[Idle])
    cluster.writer.binds_at_once = True
    cluster.create_pod("a")
    assert cluster.scheduler.schedule_one() is not None
    assert cluster.node_of("a")
    assert len(cluster.tasks) == 0


def test_a_fault_of_the_pre_flight_ends_the_attempt() -> None:
    class Broken(Slow):
        flight = error("no idea")

    assert first_failure(run(Broken)) == (REASON_ERROR, 'running PreBindPreFlight "Slow": no idea')


def test_a_pre_flight_cannot_reject() -> None:
    class Rejecting(Slow):
        flight = unschedulable("no")

    text = (
        'PreBindPreFlight Slow returned "Unschedulable", which is unsupported. '
        "It is supposed to return Success, Skip, or Error status"
    )
    assert first_failure(run(Rejecting)) == (REASON_ERROR, text)


def test_an_error_is_reported_with_the_plugin_and_the_pod_tried_again() -> None:
    class Failing(Slow):
        result = error("disk on fire")

    cluster = run(Failing)
    assert first_failure(cluster) == (REASON_ERROR, 'running PreBind plugin "Slow": disk on fire')
    cluster.scheduler.cache.validate_state()
    cluster.advance(2)
    assert len(cluster.scheduler.pods_in_pre_bind) == 1


def test_a_rejection_is_told_as_such_but_tried_again_like_an_error() -> None:
    class Rejecting(Slow):
        result = unschedulable("not today")

    cluster = run(Rejecting)
    assert first_failure(cluster) == (REASON_UNSCHEDULABLE, "not today")
    cluster.advance(2)
    assert len(cluster.scheduler.pods_in_pre_bind) == 1


def test_a_pod_that_failed_is_no_longer_nominated() -> None:
    class Failing(Slow):
        result = error("disk on fire")

    cluster = Cluster(step_seconds=0.0, plugins=[Failing])
    cluster.create_pod("a")
    cluster.advance(11.5)
    pod = cluster.pod("a")
    assert pod is not None
    assert pod.status.nominated_node_name == ""


def test_preemption_calls_the_work_off() -> None:
    cluster = run(Slow, 5)
    pod = cluster.pod("a")
    assert pod is not None
    in_pre_bind = cluster.scheduler.pods_in_pre_bind.get(pod.metadata.uid)
    assert in_pre_bind is not None
    assert in_pre_bind.cancel("preempted by DefaultPreemption")
    cluster.decide()
    assert first_failure(cluster) == (REASON_ERROR, 'running PreBind plugin "Slow": preempted by DefaultPreemption')
    assert cluster.scheduler.cache.pod_count == 0
    assert cluster.scheduler.pods_in_pre_bind.get(pod.metadata.uid) is None


def test_work_that_does_not_notice_is_not_followed_by_a_binding() -> None:
    class Stubborn(Slow):
        async def pre_bind(self, pod: PodInfo, node_name: str) -> Status | None:
            try:
                await asyncio.sleep(10)
            except asyncio.CancelledError:
                return None
            return None

    cluster = run(Stubborn, 5)
    pod = cluster.pod("a")
    assert pod is not None
    in_pre_bind = cluster.scheduler.pods_in_pre_bind.get(pod.metadata.uid)
    assert in_pre_bind is not None
    in_pre_bind.cancel("preempted by DefaultPreemption")
    cluster.decide()
    assert first_failure(cluster) == (REASON_ERROR, "preempted by DefaultPreemption")
    assert cluster.node_of("a") == ""


def test_a_plugin_that_never_ends_is_given_up() -> None:
    class Endless(Slow):
        async def pre_bind(self, pod: PodInfo, node_name: str) -> Status | None:
            await asyncio.Event().wait()
            return None

    cluster = run(Endless, 3700)
    expected = 'running PreBind plugin "Slow": TimeoutError: not finished after 1h0m0s'
    assert first_failure(cluster) == (REASON_ERROR, expected)


def test_what_was_reserved_is_given_back_in_reverse_order() -> None:
    undone: list[str] = []

    class First(ClusterPlugin, ReservePlugin):
        name = "First"

        def reserve(self, pod: PodInfo, node_name: str) -> None:
            """Nothing to keep."""

        def unreserve(self, pod: PodInfo, node_name: str) -> None:
            undone.append(self.name)

    class Second(First):
        name = "Second"

    class Failing(Slow):
        result = error("disk on fire")

    cluster = Cluster(step_seconds=0.0, plugins=[First, Second, Failing])
    cluster.create_pod("a")
    cluster.advance(11.5)
    assert undone == ["Second", "First"]
