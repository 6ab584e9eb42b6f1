# SPDX-License-Identifier: Apache-2.0
"""Watches of some namespace or labels: objects come and go as they come into the filter and leave it."""

from __future__ import annotations

from tests.embedded.stores import bare_pod, make_store, pod, relabel, told, with_meta

from steersman import api
from steersman.api.selectors import from_labels
from steersman.cluster.store import Store, Watch
from steersman.testing import make_pod

WEB = from_labels({"app": "web"})


def _watch(store: Store) -> Watch:
    return store.watch((api.Pod,), store.resource_version, selector=WEB)


def test_objects_outside_the_filter_are_not_shown() -> None:
    store = make_store()
    watch = _watch(store)
    store.create(bare_pod())
    relabel(store, "web", app="db")
    store.delete(api.Pod, "default/web")
    assert watch.drain() == []


def test_an_object_that_comes_into_the_filter_is_added() -> None:
    store = make_store(make_pod("web"))
    watch = _watch(store)
    relabel(store, "web", app="web")
    assert told(watch.drain()) == [("ADDED", "web")]


def test_an_object_that_stays_in_the_filter_is_modified() -> None:
    store = make_store(make_pod("web").label("app", "web"))
    watch = _watch(store)
    relabel(store, "web", app="web", tier="front")
    assert told(watch.drain()) == [("MODIFIED", "web")]


def test_an_object_that_leaves_the_filter_is_deleted_as_it_was_before_at_the_new_version() -> None:
    store = make_store(make_pod("web").label("app", "web"))
    before, watch = pod(store), _watch(store)
    after = relabel(store, "web", app="db")
    (event,) = watch.drain()
    assert event.type.value == "DELETED"
    assert event.object == with_meta(before, resource_version=after.metadata.resource_version)


def test_an_object_that_left_the_filter_is_not_deleted_again() -> None:
    store = make_store(make_pod("web").label("app", "web"))
    watch = _watch(store)
    relabel(store, "web", app="db")
    store.delete(api.Pod, "default/web")
    assert told(watch.drain()) == [("DELETED", "web")]


def test_the_objects_there_are_pass_the_filter_too() -> None:
    store = make_store(make_pod("a").label("app", "web"), make_pod("b"))
    assert told(store.watch((api.Pod,), selector=WEB).drain()) == [("ADDED", "a")]


def test_a_watch_may_be_of_one_namespace() -> None:
    store = make_store()
    watch = store.watch((api.Pod,), store.resource_version, namespace="other")
    store.create(bare_pod())
    store.create(make_pod("b").namespace("other").obj())
    assert told(watch.drain()) == [("ADDED", "b")]
