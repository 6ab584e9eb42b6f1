# SPDX-License-Identifier: Apache-2.0
"""From the store to the scheduler."""

from __future__ import annotations

from tests.embedded.stores import bare_pod, make_store, relabel

from steersman import api
from steersman.cluster.store import Pods, feed
from steersman.framework.watching import WATCHED_KINDS
from steersman.scheduler.ingest import Ingest
from steersman.scheduler.plugins.priority_sort import PrioritySort
from steersman.scheduler.queue import QueueProfile, QueueSettings, SchedulingQueue
from steersman.scheduler.state.cache import Cache
from steersman.scheduler.state.objects import ObjectStore
from steersman.testing import make_namespace, make_node, make_pod


class NotingSink:
    def __init__(self) -> None:
        self.story: list[tuple[str, str]] = []

    def expect(self, kind: type[api.Object], count: int) -> None:
        """Nothing to prepare."""

    def changed(self, obj: api.Object) -> None:
        self.story.append(("changed", obj.metadata.name))

    def deleted(self, obj: api.Object) -> None:
        self.story.append(("deleted", obj.metadata.name))


def test_pods_come_after_everything_they_depend_on() -> None:
    store = make_store(make_pod("web"), make_node("n1"), make_namespace("default"))
    sink = NotingSink()
    feed(store, sink)
    assert sink.story == [("changed", "default"), ("changed", "n1"), ("changed", "web")]


def test_additions_and_changes_are_changes_and_deletions_are_deletions() -> None:
    store, sink = make_store(), NotingSink()
    feed(store, sink)
    store.create(bare_pod())
    relabel(store, "web", app="web")
    store.delete(api.Pod, "default/web")
    assert sink.story == [("changed", "web"), ("changed", "web"), ("deleted", "web")]


def test_a_feed_can_be_cut_off() -> None:
    store, sink = make_store(), NotingSink()
    feed(store, sink).cancel()
    store.create(bare_pod())
    assert sink.story == []


def test_a_feed_may_be_of_some_kinds() -> None:
    store, sink = make_store(make_pod("web"), make_node("n1")), NotingSink()
    feed(store, sink, (api.Node,))
    assert sink.story == [("changed", "n1")]


def test_controllers_of_controllers_are_not_fed() -> None:
    assert api.Deployment not in WATCHED_KINDS
    assert WATCHED_KINDS[-1] is api.Pod


def test_the_scheduler_makes_room_for_a_list_once() -> None:
    store = make_store(*(make_node(f"n{index}") for index in range(200)))
    objects = ObjectStore()
    cache = Cache(objects)
    queue = SchedulingQueue({}, PrioritySort().sort_key, store.clock, QueueSettings())
    feed(store, Ingest(cache, objects, queue, (), {}, lambda _: False))
    assert (cache.nodes.node_count, cache.nodes.generation) == (200, 1)


def test_the_ingest_receives_pods_and_their_bindings() -> None:
    store = make_store(make_pod("web"), make_node("n1"), make_pod("old").node("n1"))
    pods: dict[str, api.Pod] = {}
    objects = ObjectStore()
    cache = Cache(objects)
    profiles = {"default-scheduler": QueueProfile((), ())}
    queue = SchedulingQueue(profiles, PrioritySort().sort_key, store.clock, QueueSettings(), pod_lookup=pods.get)
    feed(store, Ingest(cache, objects, queue, profiles, pods, lambda _: False))
    assert (cache.pod_count, len(queue.pending_pods()[0])) == (1, 1)
    Pods(store).bind("default", "web", "", "n1")
    assert (cache.pod_count, len(queue.pending_pods()[0])) == (2, 0)
