# SPDX-License-Identifier: Apache-2.0
"""Watches of an embedded store for tests: ordered, exactly-once streams of the writes to some kinds.

`drain` and iteration return available events; `async for` also waits for more. A watch that falls behind the history raises
`Expired` at every further use.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Self

import msgspec

from steersman.api import Object, ObjectMeta, Selector
from steersman.cluster.store import ADDED, BOOKMARK, DELETED, MODIFIED, Commit, EventType, Store


def watch_store(
    store: Store,
    kinds: Iterable[type[Object]],
    since: str = "",
    *,
    namespace: str | None = None,
    selector: Selector | None = None,
    bookmarks: bool = False,
) -> Watch:
    """Watch writes after the version `since`; for "" or "0", start with the current objects as ADDED."""
    kinds = tuple(kinds)
    wanted = Filter(namespace, selector)
    if since not in ("", "0"):
        store.commits_since(int(since))  # raises Expired
        return Watch(store, kinds, int(since), (), wanted, bookmarks)
    initial = [obj for kind in kinds for obj in store.objects(kind).values()]
    return Watch(store, kinds, int(store.resource_version), initial, wanted, bookmarks)


class WatchEvent(msgspec.Struct, frozen=True, gc=False):
    """An event of a watch. The object of a bookmark has only a resource version."""

    type: EventType
    object: Object


class Filter(msgspec.Struct, frozen=True):
    """Selection of objects for a list or watch; None does not restrict."""

    namespace: str | None = None
    selector: Selector | None = None

    def matches(self, obj: Object) -> bool:
        meta = obj.metadata
        if self.namespace is not None and meta.namespace != self.namespace:
            return False
        return self.selector is None or self.selector.matches(meta.labels)


class Watch:
    """Reader of the store's history for `kinds`, beginning with the objects in `initial`."""

    def __init__(
        self,
        store: Store,
        kinds: tuple[type[Object], ...],
        version: int,
        initial: Iterable[Object] = (),
        filter: Filter | None = None,
        bookmarks: bool = False,
    ) -> None:
        self._store = store
        self._kinds = kinds
        self._filter = filter or Filter()
        self._bookmarks = bookmarks
        self._ready = deque(WatchEvent(ADDED, obj) for obj in initial if self._filter.matches(obj))
        #: Version up to which commits were read into `_ready` or returned.
        self._position = version
        #: Latest version that was or will be passed to the watcher.
        self._announced = version
        self._stopped = False

    @property
    def resource_version(self) -> str:
        """Version from which a new watch would continue this one once it is drained."""
        return str(self._position)

    def drain(self) -> list[WatchEvent]:
        """Return all events since the last call."""
        self._read()
        events = list(self._ready)
        self._ready.clear()
        return events

    def stop(self) -> None:
        """End the iteration."""
        self._stopped = True
        self._ready.clear()

    def __iter__(self) -> Iterator[WatchEvent]:
        """Yield the available events; may be iterated again later."""
        while (event := self._next()) is not None:
            yield event

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> WatchEvent:
        while (event := self._next()) is None:
            await self._store.next_commit()
        return event

    def _next(self) -> WatchEvent | None:
        if not self._ready:
            self._read()
        return self._ready.popleft() if self._ready else None

    def _read(self) -> None:
        if self._stopped:
            return
        for commit in self._store.commits_since(self._position):
            event = self._event(commit)
            if event is not None:
                self._ready.append(event)
                self._announced = commit.version
        self._position = int(self._store.resource_version)
        if self._bookmarks and self._announced < self._position:
            self._announced = self._position
            self._ready.append(self._bookmark())

    def _event(self, commit: Commit) -> WatchEvent | None:
        """Convert a commit to an event as seen through the filter."""
        if commit.kind not in self._kinds:
            return None
        old, new = commit.old, commit.new
        was_shown = old is not None and self._filter.matches(old)
        if new is not None and self._filter.matches(new):
            return WatchEvent(MODIFIED if was_shown else ADDED, new)
        if old is not None and was_shown:
            return WatchEvent(DELETED, with_version(old, commit.version))
        return None

    def _bookmark(self) -> WatchEvent:
        return WatchEvent(BOOKMARK, self._kinds[0](metadata=ObjectMeta(resource_version=str(self._position))))


def with_version(obj: Object, version: int) -> Object:
    """Return the object with another resource version."""
    metadata = msgspec.structs.replace(obj.metadata, resource_version=str(version))
    return msgspec.structs.replace(obj, metadata=metadata)
