# SPDX-License-Identifier: Apache-2.0
"""Watches: every write once, in order, from any version that history still reaches."""

from __future__ import annotations

import pytest
from tests.embedded.store_watches import watch_store
from tests.embedded.stores import bare_pod, make_store, pod, relabel, told

from steersman import api
from steersman.cluster.store import Expired, Timeout
from steersman.testing import make_node, make_pod


def test_a_watch_shows_writes_in_their_order() -> None:
    store = make_store()
    watch = watch_store(store, (api.Pod,), store.resource_version)
    store.create(bare_pod())
    relabel(store, "web", app="web")
    gone = store.delete(api.Pod, "default/web")
    events = watch.drain()
    assert told(events) == [("ADDED", "web"), ("MODIFIED", "web"), ("DELETED", "web")]
    assert events[-1].object == gone
    assert [int(event.object.metadata.resource_version) for event in events] == [2, 3, 4]


def test_a_drained_watch_shows_nothing_twice() -> None:
    store = make_store()
    watch = watch_store(store, (api.Pod,), store.resource_version)
    store.create(bare_pod("a"))
    assert told(watch.drain()) == [("ADDED", "a")]
    assert watch.drain() == []
    store.create(bare_pod("b"))
    assert told(watch.drain()) == [("ADDED", "b")]


def test_a_watch_goes_on_where_a_list_ended() -> None:
    store = make_store(make_pod("a"))
    _, version = store.list(api.Pod)
    store.create(bare_pod("b"))
    assert told(watch_store(store, (api.Pod,), version).drain()) == [("ADDED", "b")]


@pytest.mark.parametrize("since", ["", "0"])
def test_a_watch_without_a_version_begins_with_the_objects_there_are(since: str) -> None:
    store = make_store(make_pod("a"), make_pod("b"))
    store.delete(api.Pod, "default/a")
    watch = watch_store(store, (api.Pod,), since)
    store.create(bare_pod("c"))
    assert told(watch.drain()) == [("ADDED", "b"), ("ADDED", "c")]


def test_a_watch_shows_the_kinds_it_was_requested() -> None:
    store = make_store()
    watch = watch_store(store, (api.Node, api.Namespace), store.resource_version)
    store.create(make_node("n1").obj())
    store.create(bare_pod())
    assert told(watch.drain()) == [("ADDED", "n1")]


def test_a_watch_can_be_iterated_again_and_again() -> None:
    store = make_store()
    watch = watch_store(store, (api.Pod,), store.resource_version)
    store.create(bare_pod("a"))
    store.create(bare_pod("b"))
    assert next(iter(watch)).object.metadata.name == "a"
    assert told(list(watch)) == [("ADDED", "b")]
    assert list(watch) == []


def test_watchers_do_not_take_events_from_each_other() -> None:
    store = make_store()
    first, second = (watch_store(store, (api.Pod,), store.resource_version) for _ in range(2))
    store.create(bare_pod())
    assert told(first.drain()) == told(second.drain()) == [("ADDED", "web")]


def test_a_version_from_before_the_history_has_expired() -> None:
    store = make_store(history=3)
    for number in range(6):
        store.create(bare_pod(str(number)))
    with pytest.raises(Expired, match=r"too old resource version: 1 \(4\)") as refusal:
        watch_store(store, (api.Pod,), "1")
    assert (refusal.value.code, refusal.value.reason) == (410, "Expired")


def test_history_ends_exactly_where_it_says() -> None:
    store = make_store(history=3)
    for number in range(6):
        store.create(bare_pod(str(number)))
    assert told(watch_store(store, (api.Pod,), "4").drain()) == [("ADDED", "3"), ("ADDED", "4"), ("ADDED", "5")]
    with pytest.raises(Expired):
        watch_store(store, (api.Pod,), "3")


def test_the_latest_writes_are_always_in_the_history() -> None:
    store = make_store(history=3)
    for number in range(50):
        store.create(bare_pod(str(number)))
        since = max(1, int(store.resource_version) - 3)
        assert told(watch_store(store, (api.Pod,), str(since)).drain())[-1] == ("ADDED", str(number))


def test_a_watcher_that_falls_behind_must_relist_and_does_not_block_others() -> None:
    store = make_store(history=3)
    slow, quick = (watch_store(store, (api.Pod,), store.resource_version) for _ in range(2))
    for number in range(20):
        store.create(bare_pod(str(number)))
        assert told(quick.drain()) == [("ADDED", str(number))]
    for _ in range(2):
        with pytest.raises(Expired):
            slow.drain()


def test_a_version_of_the_future_is_refused() -> None:
    with pytest.raises(Timeout, match="Too large resource version: 9, current: 1"):
        watch_store(make_store(), (api.Pod,), "9")


def test_a_stopped_watch_is_over() -> None:
    store = make_store()
    watch = watch_store(store, (api.Pod,), store.resource_version)
    store.create(bare_pod())
    watch.stop()
    assert watch.drain() == []
    assert list(watch) == []


def test_a_watch_can_be_resumed_from_where_it_ended() -> None:
    store = make_store()
    watch = watch_store(store, (api.Pod,), store.resource_version)
    store.create(bare_pod("a"))
    watch.drain()
    store.create(bare_pod("b"))
    assert told(watch_store(store, (api.Pod,), watch.resource_version).drain()) == [("ADDED", "b")]


def test_watched_objects_are_the_stored_ones() -> None:
    store = make_store()
    watch = watch_store(store, (api.Pod,), store.resource_version)
    store.create(bare_pod())
    assert watch.drain()[0].object is pod(store)
