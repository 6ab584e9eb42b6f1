# SPDX-License-Identifier: Apache-2.0
"""Watches: the writes to some kinds of objects, in order, each exactly once, from a resource version on.

Made by `Store.watch`. `drain` takes what there is, iteration as well; `async for` also waits for more. A watch with a
filter shows an object that comes into the filter as added and one that leaves it as deleted. A watch that falls
behind the history raises `Expired`, and so does every further use of it: list again and start anew.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Self

import msgspec

from steersman.api import Object, ObjectMeta
from steersman.api.selectors import Selector
from steersman.embedded.history import ADDED, BOOKMARK, DELETED, MODIFIED, Commit, EventType, WriteHistory


class WatchEvent(msgspec.Struct, frozen=True, gc=False):
    """One line of a watch. A bookmark's object has nothing but a resource version."""

    type: EventType
    object: Object


class Filter(msgspec.Struct, frozen=True):
    """Which objects a list or watch is about; None does not restrict."""

    namespace: str | None = None
    selector: Selector | None = None

    def matches(self, obj: Object) -> bool:
        meta = obj.metadata
        if self.namespace is not None and meta.namespace != self.namespace:
            return False
        return self.selector is None or self.selector.matches(meta.labels)


class Watch:
    """A reader of the history. `kinds` are the kinds it shows, `initial` the objects it begins with."""

    def __init__(
        self,
        history: WriteHistory,
        kinds: tuple[type[Object], ...],
        version: int,
        initial: Iterable[Object] = (),
        filter: Filter | None = None,
        bookmarks: bool = False,
    ) -> None:
        self._history = history
        self._kinds = kinds
        self._filter = filter or Filter()
        self._bookmarks = bookmarks
        self._ready = deque(WatchEvent(ADDED, obj) for obj in initial if self._filter.matches(obj))
        #: Everything up to this version has been read, and is in `_ready` or was handed out.
        self._position = version
        #: The latest version that the watcher has been, or is about to be, told of.
        self._announced = version
        self._stopped = False

    @property
    def resource_version(self) -> str:
        """From here a new watch would go on with what this one has not handed out yet, once it is drained."""
        return str(self._position)

    def drain(self) -> list[WatchEvent]:
        """Everything that happened since the last call."""
        self._read()
        events = list(self._ready)
        self._ready.clear()
        return events

    def stop(self) -> None:
        """Ends the iteration, also one that is waiting."""
        self._stopped = True
        self._ready.clear()
        self._history.wake()

    def __iter__(self) -> Iterator[WatchEvent]:
        """The events so far; ends when there is nothing more, and may be taken up again."""
        while (event := self._next()) is not None:
            yield event

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> WatchEvent:
        while (event := self._next()) is None:
            if self._stopped:
                raise StopAsyncIteration
            await self._history.next_change()
        return event

    def _next(self) -> WatchEvent | None:
        if not self._ready:
            self._read()
        return self._ready.popleft() if self._ready else None

    def _read(self) -> None:
        if self._stopped:
            return
        for commit in self._history.since(self._position):
            event = self._event(commit)
            if event is not None:
                self._ready.append(event)
                self._announced = commit.version
        self._position = self._history.version
        if self._bookmarks and self._announced < self._position:
            self._announced = self._position
            self._ready.append(self._bookmark())

    def _event(self, commit: Commit) -> WatchEvent | None:
        """The commit as an event that is seen through the filter."""
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
    """The object as of another resource version."""
    metadata = msgspec.structs.replace(obj.metadata, resource_version=str(version))
    return msgspec.structs.replace(obj, metadata=metadata)
