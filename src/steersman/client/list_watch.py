# SPDX-License-Identifier: Apache-2.0
"""Lists and watches of one kind, typed. In comes JSON from the `transport`, out go objects for the `reflector`.

An object that cannot be read comes out as `Unreadable`: the others of the list, and the lines after it, are as good as ever.

The objects hold only the fields that the scheduler itself reads. Extenders are shown the others too: `RawObjects` keeps the
texts of what was decoded, no more than the configured extenders are shown, and `extenders` sends them on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec

from steersman import api, config
from steersman.api import codec
from steersman.client import paths
from steersman.client.errors import ApiError, ConnectionFailed, UnreadableLine
from steersman.client.foreign_input import error_from_status
from steersman.client.pacing import Timing
from steersman.client.set_aside import Unreadable
from steersman.client.transport import Query, Response, Transport
from steersman.errors import InputError

T = TypeVar("T", bound=api.Object)

PAGE: Final = 2000
LIST_SECONDS: Final = 300.0
WATCH_SECONDS: Final = 300.0
"""A watch is asked to end after so long, or up to twice as long: the load spreads over the replicas of a server."""

ADDED: Final = "ADDED"
MODIFIED: Final = "MODIFIED"
DELETED: Final = "DELETED"
BOOKMARK: Final = "BOOKMARK"
ERROR: Final = "ERROR"
MOST_EMPTY_PAGES: Final = 100
"""Pages may be empty where a selector leaves nothing; a server that goes on like this would never come to the end."""
NO_END: Final = f"more than {MOST_EMPTY_PAGES} pages of the list have no objects and name another page"
UNREADABLE_AT_ONCE: Final = 16
"""After so many unreadable objects of a list others may run: finding out what is wrong takes a while."""


# -- the pages of a list -----------------------------------------------------------------------------------------------


class ListMeta(msgspec.Struct, rename={"resource_version": "resourceVersion", "next_page": "continue"}):
    """The version at which a list was made, and where its next page begins."""

    resource_version: str | None = None
    next_page: str | None = None


class ListPage(msgspec.Struct):
    """A page of a list; its objects have not been decoded."""

    metadata: ListMeta = msgspec.field(default_factory=ListMeta)
    items: list[msgspec.Raw] | None = None


async def pages(
    ask: Callable[[str, Query], Awaitable[Response]], path: str, query: Query
) -> AsyncGenerator[ListPage, None]:
    """The pages of a list, as many as the `limit` of the query makes of it. ConnectionFailed for one that cannot be read, and
    for a list that does not come to its end; to be closed (`aclosing`) by whoever stops before."""
    empty_pages = 0
    while True:
        page = _page((await ask(path, query)).body, path)
        yield page
        if not page.metadata.next_page:
            return
        empty_pages += not page.items
        if empty_pages > MOST_EMPTY_PAGES:
            raise ConnectionFailed(f"GET {path}: {NO_END}", may_have_arrived=True)
        query = {**query, "continue": page.metadata.next_page}


def _page(body: bytes, path: str) -> ListPage:
    try:
        return codec.decode(body, ListPage)
    except InputError as cause:
        raise ConnectionFailed(f"GET {path}: the list cannot be read: {cause}", may_have_arrived=True) from cause


# -- lists and watches of a kind ---------------------------------------------------------------------------------------


class _Line(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _TypedLine(msgspec.Struct, Generic[T]):
    """A line of a watch whose object is decoded with it."""

    type: str
    object: T


class Listing(msgspec.Struct, Generic[T]):
    """The objects at a resource version, and those of them that cannot be read."""

    objects: list[T] = msgspec.field(default_factory=list)
    unreadable: list[Unreadable] = msgspec.field(default_factory=list)
    resource_version: str = ""


class WatchedChange(msgspec.Struct, Generic[T], frozen=True):
    """One line of a watch: ADDED, MODIFIED, DELETED, or a BOOKMARK, whose object has nothing but a version."""

    type: str
    object: T | Unreadable


class ObjectTexts(Protocol):
    """Is given the text of every object that was read, right before the object goes on its way."""

    def listed(self, obj: api.Object, text: msgspec.Raw) -> None:
        """An object of a list; the others of the list follow before any is told."""

    def watched(self, obj: api.Object, line: bytes) -> None:
        """The object of a line of a watch, and that line."""


class ListWatch(Generic[T]):
    """All objects of a kind, or those that a field selector leaves."""

    def __init__(
        self,
        transport: Transport,
        kind: type[T],
        timing: Timing,
        field_selector: str = "",
        raw_objects: RawObjects | None = None,
        texts: ObjectTexts | None = None,
    ) -> None:
        self.kind = kind
        self._texts = texts
        self._raw_objects = raw_objects if raw_objects is not None and raw_objects.keeps(kind) else None
        self._transport = transport
        self._timing = timing
        self._path = paths.collection(kind)
        self._typed_lines: msgspec.json.Decoder[_TypedLine[T]] = msgspec.json.Decoder(_TypedLine[kind])  # type: ignore[valid-type]
        self._selection = {"fieldSelector": field_selector} if field_selector else {}

    async def list(self) -> Listing[T]:
        """Page by page; all at once if the server loses its place in between."""
        try:
            return await self._list(PAGE)
        except ApiError as refusal:
            if not refusal.is_expired:
                raise
            return await self._list(0)

    async def watch(self, resource_version: str) -> AsyncGenerator[WatchedChange[T], None]:
        """The changes after the version. Ends when the server ends it; ApiError also for an ERROR line."""
        seconds = int(self._timing.jittered(WATCH_SECONDS, 1.0))
        query = {
            **self._selection,
            "watch": "true",
            "resourceVersion": resource_version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(seconds),
        }
        async with aclosing(self._transport.stream(self._path, query)) as lines:
            async for line in lines:
                yield self.change_in(line)

    async def _list(self, page: int) -> Listing[T]:
        listing: Listing[T] = Listing()
        if self._raw_objects is not None:
            self._raw_objects.forget_all(self.kind)
        query = {**self._selection, "limit": str(page)} if page else self._selection
        async with aclosing(pages(self._ask, self._path, query)) as listed:
            async for found in listed:
                await self._add_page(listing, found)
        return listing

    async def _ask(self, path: str, query: Query) -> Response:
        return await self._transport.request("GET", path, query, timeout=LIST_SECONDS)

    async def _add_page(self, listing: Listing[T], page: ListPage) -> None:
        for raw in page.items or ():
            found = self._object(raw)
            if not isinstance(found, Unreadable):
                listing.objects.append(found)
                if self._texts is not None:
                    self._texts.listed(found, raw)
                continue
            listing.unreadable.append(found)
            if len(listing.unreadable) % UNREADABLE_AT_ONCE == 0:
                await asyncio.sleep(0)
        listing.resource_version = page.metadata.resource_version or ""

    def change_in(self, line: bytes) -> WatchedChange[T]:
        """The change that a line tells of; in one pass over its text where nothing is unusual about it."""
        if self._raw_objects is not None:
            return self.change_in_parts(line)
        try:
            event = self._typed_lines.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return self.change_in_parts(line)
        if event.type == ERROR or not event.object.metadata.name:
            return self.change_in_parts(line)
        if self._texts is not None:
            self._texts.watched(event.object, line)
        return WatchedChange(event.type, event.object)

    def change_in_parts(self, line: bytes) -> WatchedChange[T]:
        """The change that a line tells of, its object decoded by itself: an unreadable object is not an unreadable line. Twin
        of `change_in`."""
        try:
            event = codec.decode(line, _Line)
        except InputError as cause:
            raise UnreadableLine(f"GET {self._path}: a line cannot be read: {cause}", may_have_arrived=True) from cause
        if event.type == ERROR:
            raise error_from_status(event.object)
        obj = self._object(event.object, is_named=event.type != BOOKMARK)
        if event.type == DELETED and self._raw_objects is not None and not isinstance(obj, Unreadable):
            self._raw_objects.forget(obj)
        if self._texts is not None and not isinstance(obj, Unreadable):
            self._texts.watched(obj, line)
        return WatchedChange(event.type, obj)

    def _object(self, raw: msgspec.Raw, is_named: bool = True) -> T | Unreadable:
        try:
            obj = codec.decode(raw, self.kind)
            if is_named and not obj.metadata.name:
                raise InputError("is missing", field="metadata.name")
            if self._raw_objects is not None:
                self._raw_objects.remember(obj, raw)
        except InputError as cause:
            return Unreadable.from_text(raw, self.kind, str(cause))
        return obj


# -- objects as the server wrote them ----------------------------------------------------------------------------------


class RawObjects:
    """Texts of the API server by kind and uid: without managed fields, which are most of the text, and without the kind."""

    def __init__(self, extenders: Sequence[config.Extender] = ()) -> None:
        shown_pods = [e for e in extenders if e.filter_verb or e.prioritize_verb or e.preempt_verb]
        shown_nodes = [e for e in extenders if (e.filter_verb or e.prioritize_verb) and not e.node_cache_capable]
        self._texts: dict[type[api.Object], dict[str, msgspec.Raw]] = {}
        if shown_pods:
            self._texts[api.Pod] = {}
        if shown_nodes:
            self._texts[api.Node] = {}
        #: Victims of preemption are shown whole to extenders that know no nodes.
        self._keeps_bound_pods = any(e.preempt_verb and not e.node_cache_capable for e in shown_pods)

    def keeps(self, kind: type[api.Object]) -> bool:
        return kind in self._texts

    def remember(self, obj: api.Object, text: bytes | msgspec.Raw) -> None:
        if isinstance(obj, api.Pod) and obj.spec.node_name and not self._keeps_bound_pods:
            self.forget(obj)
        else:
            self._texts[type(obj)][obj.metadata.uid] = _trimmed(text)

    def forget(self, obj: api.Object) -> None:
        self._texts[type(obj)].pop(obj.metadata.uid, None)

    def forget_all(self, kind: type[api.Object]) -> None:
        self._texts[kind].clear()

    def shown(self, obj: api.Object) -> msgspec.Raw:
        """The object as the API server wrote it, or as much of it as is known."""
        text = self._texts.get(type(obj), {}).get(obj.metadata.uid)
        return msgspec.Raw(codec.encode(obj)) if text is None else text


def _trimmed(text: bytes | msgspec.Raw) -> msgspec.Raw:
    document: dict[str, Any] = codec.plain(text)
    for field in ("apiVersion", "kind"):
        document.pop(field, None)
    (document.get("metadata") or {}).pop("managedFields", None)
    return msgspec.Raw(msgspec.json.encode(document))
