# SPDX-License-Identifier: Apache-2.0
"""Whatever happens while a pod is on its way to its node: nothing leaks, no pod is lost, none is bound twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.binding.cluster import Cluster, Point
from tests.equivalence.examples import examples

from steersman import api
from steersman.cluster.store import Conflict, Pods
from steersman.framework.pod_info import PodInfo
from steersman.scheduler.binding.guarded import Guarded

PODS = ("a", "b", "c")
Fault = Callable[[Cluster, PodInfo], None]


class BrokenError(Exception):
    """Something that a plugin or a server did not expect."""


def fail(cluster: Cluster, pod: PodInfo) -> None:
    raise BrokenError("broken")


def conflict(cluster: Cluster, pod: PodInfo) -> None:
    raise Conflict(api.Pod, pod.name, "the object has been modified")


def cancel(cluster: Cluster, pod: PodInfo) -> None:
    """Of the task that got here."""
    task = asyncio.current_task()
    assert task is not None
    task.cancel()


def shut_down(cluster: Cluster, pod: PodInfo) -> None:
    """All binding cycles, wherever they are, as a host does that ends."""
    for task in asyncio.all_tasks():
        if isinstance(task.get_coro(), Guarded):
            task.cancel()


def delete_pod(cluster: Cluster, pod: PodInfo) -> None:
    if cluster.pod(pod.name) is not None:
        Pods(cluster.store).delete(pod.key, grace_period_seconds=0)


def recreate_pod(cluster: Cluster, pod: PodInfo) -> None:
    delete_pod(cluster, pod)
    cluster.create_pod(pod.name)


def terminate_pod(cluster: Cluster, pod: PodInfo) -> None:
    """As for a pod with finalizers: it stays for a while."""
    current = cluster.pod(pod.name)
    if current is not None and current.metadata.deletion_timestamp is None:
        Pods(cluster.store)._mark(current, cluster.clock.now() + 30, 30, current.metadata.generation + 1)


def bind_elsewhere(cluster: Cluster, pod: PodInfo) -> None:
    """Another scheduler was faster."""
    current = cluster.pod(pod.name)
    if current is not None and not current.spec.node_name and current.metadata.deletion_timestamp is None:
        Pods(cluster.store).bind("default", pod.name, current.metadata.uid, "n2")


def delete_node(cluster: Cluster, pod: PodInfo) -> None:
    record = cluster.scheduler.cache.get(pod.uid)
    if record is not None and len(cluster.store.objects(api.Node)) > 1:
        cluster.store.delete(api.Node, record.node_name)


def preempt(cluster: Cluster, pod: PodInfo) -> None:
    waiting = cluster.scheduler.waiting_pods.get(pod.uid)
    if waiting is not None:
        waiting.preempt("DefaultPreemption", "preempted")
    in_pre_bind = cluster.scheduler.pods_in_pre_bind.get(pod.uid)
    if in_pre_bind is not None:
        in_pre_bind.cancel("preempted by DefaultPreemption")


def reject(cluster: Cluster, pod: PodInfo) -> None:
    cluster.scheduler.waiting_pods.reject(pod.uid, "Gate", "no")


def nothing(cluster: Cluster, pod: PodInfo) -> None:
    """The pod goes on."""


FAULTS: tuple[Fault, ...] = (
    nothing,
    fail,
    conflict,
    cancel,
    shut_down,
    delete_pod,
    recreate_pod,
    terminate_pod,
    bind_elsewhere,
    delete_node,
    preempt,
    reject,
)

points = pytest.mark.parametrize("point", list(Point), ids=lambda point: point.name)
faults = pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)


class Injection:
    """Makes each fault happen once, when the pod gets to the point."""

    def __init__(self, plan: dict[tuple[str, Point], Fault], **options: Any) -> None:
        self.plan = plan
        self.cluster = Cluster(self.at, **options)

    def at(self, point: Point, pod: PodInfo) -> None:
        self.verify()
        fault = self.plan.pop((pod.name, point), None)
        if fault is not None:
            fault(self.cluster, pod)

    def verify(self) -> None:
        """True at every moment."""
        self.cluster.scheduler.cache.validate_state()
        self.cluster.scheduler.queue.validate_state()


def verify_rest(cluster: Cluster) -> None:
    """True once everything has come to its end."""
    scheduler = cluster.scheduler
    scheduler.cache.validate_state()
    scheduler.queue.validate_state()
    assert len(cluster.tasks) == 0
    assert len(scheduler.waiting_pods) == 0
    assert len(scheduler.pods_in_pre_bind) == 0
    assert scheduler.queue.statistics().in_flight == 0
    assert scheduler.cache.assumed_count == 0
    pods = list(cluster.store.objects(api.Pod).values())
    bound = {pod.metadata.uid: pod.spec.node_name for pod in pods if pod.spec.node_name}
    assert {record.info.uid: record.node_name for record in scheduler.cache.pods()} == bound
    for pod in pods:
        is_alive = pod.metadata.deletion_timestamp is None
        assert pod.spec.node_name or not is_alive, f"{pod.metadata.name} never got a node"
        assert scheduler.queue.get(api.key(pod)) is None or not pod.spec.node_name
    assert len(set(cluster.writer.bound)) == len(cluster.writer.bound), "bound twice"
    assert set(cluster.writer.scheduled) <= cluster.reserved <= set(cluster.writer.bound)


@points
@faults
def test_one_fault_at_one_point_leaves_nothing_behind(point: Point, fault: Fault) -> None:
    injection = Injection({("b", point): fault})
    for name in PODS:
        injection.cluster.create_pod(name)
    injection.cluster.settle()
    assert not injection.plan, "the pod never got to that point"
    verify_rest(injection.cluster)


@given(
    st.dictionaries(
        st.tuples(st.sampled_from(PODS), st.sampled_from(list(Point))), st.sampled_from(FAULTS), max_size=8
    ),
)
@examples(20)
def test_any_number_of_faults_leaves_nothing_behind(plan: dict[tuple[str, Point], Fault]) -> None:
    injection = Injection(dict(plan))
    for name in PODS:
        injection.cluster.create_pod(name)
    injection.cluster.settle()
    verify_rest(injection.cluster)
    Cluster.opened.clear()


def test_a_host_that_shuts_down_before_the_first_step_gets_everything_back() -> None:
    cluster = Cluster()
    cluster.create_pod("a")
    assert cluster.scheduler.schedule_one() is not None
    cluster.tasks.close()
    assert cluster.scheduler.cache.pod_count == 0
    assert cluster.reserved == set()
    assert len(cluster.scheduler.waiting_pods) == 0
    assert cluster.scheduler.queue.get("default/a") is not None
    assert cluster.writer.failures == [], "nobody is told, because nothing may be written any more"
    cluster.scheduler.cache.validate_state()
    cluster.scheduler.queue.validate_state()
