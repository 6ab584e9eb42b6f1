# SPDX-License-Identifier: Apache-2.0
"""Listeners in the same process: told at once, in order, of what there is and of what happens."""

from __future__ import annotations

import pytest
from tests.embedded.stores import Recorder, bare_pod, make_store, pod, relabel

from steersman import api
from steersman.cluster.store import EventType
from steersman.testing import make_node, make_pod


def test_a_listener_first_receives_the_existing_objects() -> None:
    store = make_store(make_pod("b"), make_node("n1"), make_pod("a"))
    heard = Recorder()
    store.subscribe(heard, (api.Node, api.Pod))
    assert heard.story == [("ADDED", "n1"), ("ADDED", "b"), ("ADDED", "a")]


def test_a_listener_receives_every_write_with_old_and_new() -> None:
    store, heard = make_store(), Recorder()
    store.subscribe(heard, (api.Pod,))
    created = store.create(bare_pod())
    changed = relabel(store, "web", app="web")
    gone = store.delete(api.Pod, "default/web")
    assert heard.seen == [
        (EventType.ADDED, None, created),
        (EventType.MODIFIED, created, changed),
        (EventType.DELETED, gone, None),
    ]


def test_a_listener_receives_its_kinds_only() -> None:
    store, heard = make_store(), Recorder()
    store.subscribe(heard, (api.Node,))
    store.create(bare_pod())
    assert heard.seen == []


def test_a_write_that_changes_nothing_is_not_delivered() -> None:
    store, heard = make_store(make_pod("web")), Recorder()
    store.subscribe(heard, (api.Pod,))
    store.update(pod(store))
    assert heard.story == [("ADDED", "web")]


def test_the_store_is_up_to_date_when_a_listener_is_reported() -> None:
    store = make_store()

    def check(_: EventType, __: api.Object | None, new: api.Object | None) -> None:
        assert pod(store) is new

    store.subscribe(check, (api.Pod,))
    store.create(bare_pod())
    relabel(store, "web", app="web")


def test_what_a_listener_writes_is_told_after_what_it_was_told() -> None:
    store = make_store()

    def label(what: EventType, _: api.Object | None, __: api.Object | None) -> None:
        if what is EventType.ADDED:
            relabel(store, "web", app="web")

    writer, reader = Recorder(label), Recorder()
    store.subscribe(writer, (api.Pod,))
    store.subscribe(reader, (api.Pod,))
    store.create(bare_pod())
    assert writer.story == reader.story == [("ADDED", "web"), ("MODIFIED", "web")]


def test_a_listener_that_writes_during_the_initial_delivery_never_receives_an_older_object() -> None:
    store = make_store(make_pod("a"), make_pod("b"))

    def label_the_other(what: EventType, _: api.Object | None, new: api.Object | None) -> None:
        if what is EventType.ADDED and new is not None and new.metadata.name == "a":
            relabel(store, "b", app="web")

    heard = Recorder(label_the_other)
    store.subscribe(heard, (api.Pod,))
    assert heard.story == [("ADDED", "a"), ("ADDED", "b"), ("MODIFIED", "b")]
    assert heard.seen[-1][2] is pod(store, "b")


def test_a_listener_added_during_a_delivery_receives_nothing_twice() -> None:
    store, late = make_store(), Recorder()

    def subscribe_another(what: EventType, _: api.Object | None, new: api.Object | None) -> None:
        if what is EventType.ADDED and new is not None and new.metadata.name == "a":
            store.create(bare_pod("b"))
            store.subscribe(late, (api.Pod,))
            store.create(bare_pod("c"))

    store.subscribe(subscribe_another, (api.Pod,))
    store.create(bare_pod("a"))
    assert late.story == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]


def test_a_cancelled_subscription_is_silent() -> None:
    store, heard = make_store(), Recorder()
    subscription = store.subscribe(heard, (api.Pod,))
    store.create(bare_pod("a"))
    subscription.cancel()
    store.create(bare_pod("b"))
    assert heard.story == [("ADDED", "a")]


def test_a_listener_can_silence_another_one_at_once() -> None:
    store, heard = make_store(), Recorder()
    silence = Recorder(lambda *_: second.cancel())
    store.subscribe(silence, (api.Pod,))
    second = store.subscribe(heard, (api.Pod,))
    store.create(bare_pod())
    assert heard.seen == []


def test_what_a_listener_raises_reaches_the_writer_and_the_write_stands() -> None:
    store, heard = make_store(), Recorder()

    def fail(_: EventType, __: api.Object | None, new: api.Object | None) -> None:
        if new is not None and new.metadata.name == "a":
            raise ValueError("cannot take it")

    store.subscribe(heard, (api.Pod,))
    store.subscribe(fail, (api.Pod,))
    with pytest.raises(ValueError, match="cannot take it"):
        store.create(bare_pod("a"))
    store.create(bare_pod("b"))
    assert heard.story == [("ADDED", "a"), ("ADDED", "b")]
