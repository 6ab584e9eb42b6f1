# SPDX-License-Identifier: Apache-2.0
"""Bookmarks: a watcher to whom nothing happens still learns how far the world has got."""

from __future__ import annotations

from tests.embedded.stores import bare_pod, make_store, told

from steersman import api
from steersman.cluster.store import Store, Watch
from steersman.testing import make_node


def _watch(store: Store) -> Watch:
    return store.watch((api.Pod,), store.resource_version, bookmarks=True)


def test_writes_of_other_kinds_end_in_a_bookmark() -> None:
    store = make_store()
    watch = _watch(store)
    store.create(make_node("n1").obj())
    store.create(make_node("n2").obj())
    (event,) = watch.drain()
    assert event.type.value == "BOOKMARK"
    assert event.object == api.Pod(metadata=api.ObjectMeta(resource_version=store.resource_version))


def test_a_bookmark_follows_the_events_before_it() -> None:
    store = make_store()
    watch = _watch(store)
    store.create(bare_pod())
    store.create(make_node("n1").obj())
    assert told(watch.drain()) == [("ADDED", "web"), ("BOOKMARK", "")]


def test_there_is_no_bookmark_when_the_last_event_says_it_all() -> None:
    store = make_store()
    watch = _watch(store)
    store.create(bare_pod())
    assert told(watch.drain()) == [("ADDED", "web")]
    assert watch.drain() == []


def test_a_watch_goes_on_from_a_bookmark() -> None:
    store = make_store()
    watch = _watch(store)
    store.create(make_node("n1").obj())
    (bookmark,) = watch.drain()
    store.create(bare_pod())
    resumed = store.watch((api.Pod,), bookmark.object.metadata.resource_version)
    assert told(resumed.drain()) == [("ADDED", "web")]


def test_nobody_gets_bookmarks_unasked() -> None:
    store = make_store()
    watch = store.watch((api.Pod,), store.resource_version)
    store.create(make_node("n1").obj())
    assert watch.drain() == []
