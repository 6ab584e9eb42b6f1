# SPDX-License-Identifier: Apache-2.0
"""Stores for tests: a clock that is moved by hand, and short ways to make and change objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from tests.embedded.store_watches import WatchEvent

from steersman import api
from steersman.base.clock import ManualClock
from steersman.cluster.store import EventType, KubeAdmission, Store
from steersman.testing import Builder, make_pod

#: 2031-01-01T00:00:00Z
START = 1924992000.0
START_TEXT = "2031-01-01T00:00:00Z"

T = TypeVar("T", bound=api.Object)
Seen = tuple[EventType, api.Object | None, api.Object | None]


def make_store(*builders: Builder[Any], history: int = 100) -> Store:
    """A store without admission, with these objects in it."""
    return _filled(Store(ManualClock(START), history=history), builders)


def admitting_store(*builders: Builder[Any]) -> Store:
    """A store that treats objects as a kube-apiserver does."""
    return _filled(Store(ManualClock(START), admission=KubeAdmission()), builders)


def _filled(store: Store, builders: tuple[Builder[Any], ...]) -> Store:
    for builder in builders:
        store.create(raw(builder))
    return store


def clock_of(store: Store) -> ManualClock:
    assert isinstance(store.clock, ManualClock)
    return store.clock


def raw(builder: Builder[T]) -> T:
    """The object without the uid that builders give it, as a manifest would have it."""
    return with_meta(builder.obj(), uid="")


def with_meta(obj: T, **fields: object) -> T:
    return msgspec.structs.replace(obj, metadata=msgspec.structs.replace(obj.metadata, **fields))


def with_spec(pod: api.Pod, **fields: object) -> api.Pod:
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, **fields))


def with_status(pod: api.Pod, **fields: object) -> api.Pod:
    return msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, **fields))


def pod(store: Store, name: str = "web") -> api.Pod:
    return store.get(api.Pod, f"default/{name}")


def relabel(store: Store, name: str, **labels: str) -> api.Pod:
    return store.update(with_meta(pod(store, name), labels=labels, resource_version=""))


def bare_pod(name: str = "web") -> api.Pod:
    return raw(make_pod(name))


def told(events: list[WatchEvent]) -> list[tuple[str, str]]:
    """Types and names: what is worth comparing in most tests."""
    return [(event.type.value, event.object.metadata.name) for event in events]


class Recorder:
    """A listener that remembers what it was told."""

    def __init__(self, react: Callable[[EventType, api.Object | None, api.Object | None], None] | None = None) -> None:
        self.seen: list[Seen] = []
        self._react = react

    def __call__(self, what: EventType, old: api.Object | None, new: api.Object | None) -> None:
        self.seen.append((what, old, new))
        if self._react is not None:
            self._react(what, old, new)

    @property
    def story(self) -> list[tuple[str, str]]:
        return [(what.value, _name(old, new)) for what, old, new in self.seen]


def _name(old: api.Object | None, new: api.Object | None) -> str:
    known = new or old
    assert known is not None
    return known.metadata.name
