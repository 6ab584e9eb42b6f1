# SPDX-License-Identifier: Apache-2.0
"""Whatever is written, and whenever a watch begins: its events rebuild exactly what is in the store."""

from __future__ import annotations

import random

from hypothesis import given, settings, strategies as st
from tests.embedded.store_watches import Watch, WatchEvent, watch_store
from tests.embedded.stores import Recorder, make_store, with_meta

from steersman import api
from steersman.api.selectors import Selector, from_labels
from steersman.cluster.store import EventType, Expired, Store
from steersman.testing import make_node, make_pod

NAMES = ("a", "b", "c", "d")
APPS = ("web", "db")
NAMESPACES = ("default", "other")
KINDS = (api.Pod, api.Node)
Contents = dict[tuple[type[api.Object], str], api.Object]

filters = st.tuples(
    st.sampled_from((None, *NAMESPACES)), st.sampled_from((None, *(from_labels({"app": app}) for app in APPS)))
)


without_deadline = settings(deadline=None)


def _write(store: Store, rng: random.Random) -> None:
    """One random write; those that the store would refuse are turned into others."""
    builder = rng.choice((make_pod(rng.choice(NAMES)).namespace(rng.choice(NAMESPACES)), make_node(rng.choice(NAMES))))
    wanted: api.Object = with_meta(builder.label("app", rng.choice(APPS)).obj(), uid="")
    current = store.find(type(wanted), api.key(wanted))
    if current is None:
        store.create(wanted)
    elif rng.random() < 0.4:
        store.delete(type(wanted), api.key(wanted))
    else:
        store.update(with_meta(current, labels=wanted.metadata.labels))


def _contents(store: Store, namespace: str | None = None, selector: Selector | None = None) -> Contents:
    return {(kind, api.key(obj)): obj for kind in KINDS for obj in store.list(kind, namespace, selector)[0]}


class Mirror:
    """A client that lists, watches, and lists again when its version has expired."""

    def __init__(self, store: Store, namespace: str | None, selector: Selector | None) -> None:
        self._store = store
        self._filter = namespace, selector
        self.relists = 0
        self._watch = self._list()

    def _list(self) -> Watch:
        self.contents = _contents(self._store, *self._filter)
        namespace, selector = self._filter
        return watch_store(self._store, KINDS, self._store.resource_version, namespace=namespace, selector=selector)

    def catch_up(self) -> None:
        try:
            for event in self._watch.drain():
                self._apply(event)
        except Expired:
            self.relists += 1
            self._watch = self._list()
        assert self.contents == _contents(self._store, *self._filter)

    def _apply(self, event: WatchEvent) -> None:
        """Checks that the event fits what came before: nothing is added twice, or changed without being there."""
        name = type(event.object), api.key(event.object)
        assert (name in self.contents) == (event.type is not EventType.ADDED)
        if event.type is EventType.DELETED:
            del self.contents[name]
        else:
            self.contents[name] = event.object


@without_deadline
@given(st.randoms(use_true_random=False), st.integers(0, 40), filters, st.integers(1, 8))
def test_a_client_that_lists_and_watches_mirrors_the_store(
    rng: random.Random, writes: int, wanted: tuple[str | None, Selector | None], history: int
) -> None:
    store = make_store(history=history)
    mirrors: list[Mirror] = []
    for _ in range(writes):
        _write(store, rng)
        if rng.random() < 0.2:
            mirrors.append(Mirror(store, *wanted))
        for mirror in mirrors:
            if rng.random() < 0.3:
                mirror.catch_up()
    for mirror in mirrors:
        mirror.catch_up()


@without_deadline
@given(st.randoms(use_true_random=False), st.integers(1, 30), filters)
def test_a_watch_from_any_version_tells_what_happened_since(
    rng: random.Random, writes: int, wanted: tuple[str | None, Selector | None]
) -> None:
    store = make_store()
    states = {store.resource_version: _contents(store, *wanted)}
    for _ in range(writes):
        _write(store, rng)
        states[store.resource_version] = _contents(store, *wanted)
    namespace, selector = wanted
    for version, contents in states.items():
        rebuilt = dict(contents)
        for event in watch_store(store, KINDS, version, namespace=namespace, selector=selector):
            name = type(event.object), api.key(event.object)
            if event.type is EventType.DELETED:
                del rebuilt[name]
            else:
                rebuilt[name] = event.object
        assert rebuilt == _contents(store, *wanted)


@without_deadline
@given(st.randoms(use_true_random=False), st.integers(0, 10), st.integers(0, 30))
def test_a_listener_receives_what_a_watch_shows(rng: random.Random, before: int, after: int) -> None:
    store, heard = make_store(), Recorder()
    for _ in range(before):
        _write(store, rng)
    store.subscribe(heard, KINDS)
    watch = watch_store(store, KINDS)
    for _ in range(after):
        _write(store, rng)
    shown = [(event.type, event.object) for event in watch.drain()]
    assert [(what, new if new is not None else old) for what, old, new in heard.seen] == shown


@without_deadline
@given(st.randoms(use_true_random=False), st.integers(0, 30))
def test_the_old_object_of_a_change_is_the_new_one_of_the_change_before(rng: random.Random, writes: int) -> None:
    store, heard = make_store(), Recorder()
    store.subscribe(heard, KINDS)
    for _ in range(writes):
        _write(store, rng)
    latest: Contents = {}
    for what, old, new in heard.seen:
        known = new if new is not None else old
        assert known is not None
        name = type(known), api.key(known)
        if what is EventType.MODIFIED:
            assert latest[name] is old
        if new is not None:
            latest[name] = new
        else:
            version = latest.pop(name).metadata.resource_version
            assert old is not None
            assert int(old.metadata.resource_version) > int(version)
    assert latest == _contents(store)
