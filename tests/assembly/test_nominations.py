# SPDX-License-Identifier: Apache-2.0
"""Nominated pods as the cycle sees them."""

from __future__ import annotations

from collections.abc import Mapping

from steersman import api
from steersman.base.clock import ManualClock
from steersman.framework.pod_info import PodShapes
from steersman.scheduler.assembly.nominations import NominatedPods
from steersman.scheduler.queue import QueueProfile, SchedulingQueue
from steersman.scheduler.state.node_table import NodeTable
from steersman.testing import PodBuilder, make_pod


class Queue:
    """A queue with its nominated pods."""

    def __init__(self) -> None:
        self.pods: dict[str, api.Pod] = {}
        profiles: Mapping[str, QueueProfile] = {"default-scheduler": QueueProfile()}
        self.queue = SchedulingQueue(profiles, lambda queued: (), ManualClock(), pod_lookup=self.pods.get)
        self.nominated = NominatedPods(self.queue, PodShapes(), NodeTable(lambda namespace: {}))

    def add(self, pod: PodBuilder) -> None:
        obj = pod.obj()
        self.pods[api.key(obj)] = obj
        self.queue.add(obj)

    def names(self) -> dict[str, list[str]]:
        return {node: [pod.name for pod in pods] for node, pods in self.nominated.all().by_node.items()}


def test_pods_appear_under_the_node_that_they_are_nominated_to() -> None:
    queue = Queue()
    queue.add(make_pod("a").nominated("n1"))
    queue.add(make_pod("b").nominated("n1"))
    queue.add(make_pod("c").nominated("n2"))
    queue.add(make_pod("d"))
    assert queue.names() == {"n1": ["a", "b"], "n2": ["c"]}
    assert [pod.name for pod in queue.nominated.pods_on("n2")] == ["c"]


def test_a_nomination_that_ends_is_gone() -> None:
    queue = Queue()
    pod = make_pod("a").nominated("n1")
    queue.add(pod)
    assert queue.names() == {"n1": ["a"]}
    queue.queue.delete_nominated_pod_if_exists(pod.obj())
    assert queue.names() == {}
    assert queue.nominated.pods_on("n1") == ()


def test_a_nomination_that_moves_leaves_nothing_behind() -> None:
    queue = Queue()
    pod = make_pod("a").nominated("n1")
    queue.add(pod)
    assert queue.names() == {"n1": ["a"]}
    queue.queue.add_nominated_pod(pod.obj(), "n2")
    assert queue.names() == {"n2": ["a"]}


def test_a_pod_without_nomination_is_nowhere() -> None:
    queue = Queue()
    pod = make_pod("a")
    queue.add(pod)
    queue.queue.add_nominated_pod(pod.obj(), "")
    assert queue.names() == {}


def test_a_pod_that_changes_is_seen_as_it_is_now() -> None:
    queue = Queue()
    old = make_pod("a").nominated("n1").req(cpu="1")
    queue.add(old)
    assert queue.nominated.pods_on("n1")[0].requests("cpu") == 1000
    new = make_pod("a").nominated("n1").req(cpu="2")
    queue.pods["default/a"] = new.obj()
    queue.queue.update(old.obj(), new.obj())
    assert queue.nominated.pods_on("n1")[0].requests("cpu") == 2000


def test_the_same_pods_are_given_as_long_as_nothing_changes() -> None:
    queue = Queue()
    queue.add(make_pod("a").nominated("n1"))
    assert queue.nominated.pods_on("n1")[0] is queue.nominated.pods_on("n1")[0]
