# SPDX-License-Identifier: Apache-2.0
"""Replicas are placed together; whatever happens while they are bound finds queue and cache in order."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from steersman import api
from steersman.base.clock import ManualClock
from steersman.base.rng import SeededRng
from steersman.cluster.store import Pods, Store, feed
from steersman.cluster.store.history import EventType
from steersman.scheduler.assembly import EvaluationObserver, Scheduler
from steersman.scheduler.cycle.decision import Decision, Scheduled
from steersman.scheduler.queue import QueueInvariantError
from steersman.simulation.virtual_time.tasks import Tasks
from steersman.simulation.virtual_time.writer import EmbeddedWriter
from steersman.testing import make_node, make_pod
from steersman.testing.selecting import Expression


class World:
    """A scheduler on an embedded cluster with one node for ten pods of one cpu."""

    def __init__(self) -> None:
        self.clock = ManualClock(1_000_000.0)
        self.store = Store(self.clock)
        self.pods = Pods(self.store)
        writer = EmbeddedWriter(self.store, self.clock)
        self.scheduler = Scheduler(self.clock, SeededRng(1), writer, Tasks(self.clock).spawn)
        feed(self.store, self.scheduler.ingest)
        self.store.create(make_node("n1").capacity(cpu="10", pods=100).obj())

    def add(self, *names: str, cpu: str = "1", priority: int = 0) -> None:
        for name in names:
            self.store.create(make_pod(name).req(cpu=cpu).priority(priority).obj())

    def some(self, most: int = 64) -> list[str]:
        decisions = self.scheduler.schedule_some(most)
        self.scheduler.cache.validate_state()
        self.scheduler.queue.validate_state()
        return [name_of(decision) for decision in decisions]

    def node_of(self, name: str) -> str:
        return self.store.get(api.Pod, f"default/{name}").spec.node_name

    def when_bound(self, name: str, act: Callable[[], object]) -> None:
        def told(_: EventType, old: api.Object | None, new: api.Object | None) -> None:
            if isinstance(new, api.Pod) and new.metadata.name == name and new.spec.node_name:
                act()

        self.store.subscribe(told, [api.Pod])


def name_of(decision: Decision) -> str:
    return decision.pod.name if isinstance(decision, Scheduled) else f"not {decision.pod.name}"


@pytest.fixture
def world() -> World:
    return World()


def test_pods_of_one_template_go_together(world: World) -> None:
    world.add("a", "b", "c")
    world.add("x", cpu="2")
    assert world.some() == ["a", "b", "c"]
    assert world.some() == ["x"]
    assert world.some() == []
    assert world.scheduler.queue.scheduling_cycle == 4


def test_no_more_than_requested(world: World) -> None:
    world.add("a", "b", "c")
    assert world.some(2) == ["a", "b"]


def test_a_pod_of_higher_priority_goes_first(world: World) -> None:
    world.add("a", "b")
    world.add("urgent", priority=5)
    assert world.some() == ["urgent"]
    assert world.some() == ["a", "b"]


def test_a_pod_that_waits_for_room_does_not_keep_replicas_apart(world: World) -> None:
    world.add("large", cpu="50")
    assert world.some() == ["not large"]
    world.add("a", "b")
    assert world.some() == ["a", "b"]


def test_while_a_pod_waits_for_others_to_be_bound_each_goes_alone(world: World) -> None:
    """The pod comes to its turn as soon as the one that it waits for is there, before the next replica."""
    follower = make_pod("follower").priority(5).pod_affinity("kubernetes.io/hostname", {"app": "web"})
    world.store.create(follower.obj())
    assert world.some() == ["not follower"]
    world.add("a", "b")
    assert world.some() == ["a"]


def test_observers_of_evaluations_see_each_of_them(world: World) -> None:
    seen: list[str] = []
    world.scheduler.observe(EvaluationObserver(lambda pod, evaluation: seen.append(pod.name)))
    world.add("a", "b")
    assert world.some() + world.some() == ["a", "b"] == seen


def test_a_replica_that_goes_while_another_is_bound_is_given_up(world: World) -> None:
    world.when_bound("a", lambda: world.pods.delete("default/b"))
    world.add("a", "b", "c")
    assert world.some() == ["a", "b", "c"]
    assert (world.node_of("a"), world.node_of("c")) == ("n1", "n1")
    assert {record.info.name for record in world.scheduler.cache.pods()} == {"a", "c"}


def test_a_replica_bound_by_another_client_meanwhile_frees_its_room(world: World) -> None:
    world.when_bound("a", lambda: world.pods.bind("default", "b", "", "elsewhere"))
    world.add("a", "b", "c")
    assert world.some() == ["a", "b", "c"]
    assert world.node_of("b") == "elsewhere"
    assert world.scheduler.cache.nodes.info(0).requested("cpu") == 2000


def test_a_pod_that_comes_meanwhile_has_its_turn_afterwards(world: World) -> None:
    world.when_bound("a", lambda: world.add("urgent", priority=5))
    world.add("a", "b", "c")
    assert world.some() == ["a", "b", "c"]
    assert world.some() == ["urgent"]


def test_only_the_pod_whose_turn_it_is_can_be_taken_as_placed(world: World) -> None:
    world.add("a", "b")
    with pytest.raises(QueueInvariantError, match="the next one is QueuedPodInfo"):
        world.scheduler.queue.pop_placed("another uid")


def test_replicas_that_cannot_be_scored_fail_one_by_one(world: World) -> None:
    """The API server accepts a preference that makes no sense; it must not end more than the pod's own cycle."""
    world.store.create(make_node("n2").capacity(cpu="10", pods=100).obj())
    for name in ("a", "b"):
        world.store.create(make_pod(name).preferred_node_affinity(1, Expression("gen", "Gt", ("new",))).obj())
    assert [world.some(), world.some(), world.some()] == [["not a"], ["not b"], []]
