# SPDX-License-Identifier: Apache-2.0
"""Typed lists and watches of one kind: JSON from the `transport` to objects for the `reflector`.

An object that cannot be decoded becomes an `Unreadable`, which does not affect others.

Objects have only the fields that the scheduler reads. For extenders, `RawObjects` keeps the texts
of the objects that they are sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec

from steersman import api, config
from steersman.api import codec
from steersman.base import InputError, Timing
from steersman.framework import is_custom
from steersman.kube.client import paths
from steersman.kube.client.discovery import is_absent
from steersman.kube.client.errors import ApiError, ConnectionFailed, UnreadableLine
from steersman.kube.client.foreign_input import error_from_status
from steersman.kube.client.heartbeats import Heartbeats
from steersman.kube.client.invalid_objects import Unreadable
from steersman.kube.client.requests import Query, Request, Response, Transport

T = TypeVar("T", bound=api.Object)

PAGE: Final = 2000
LIST_SECONDS: Final = 300.0
WATCH_SECONDS: Final = 300.0
"""Minimum timeout of a watch; it is randomized up to twice this to spread the load."""

ADDED: Final = "ADDED"
MODIFIED: Final = "MODIFIED"
DELETED: Final = "DELETED"
BOOKMARK: Final = "BOOKMARK"
ERROR: Final = "ERROR"
NONE_IN_USE: Final[Mapping[str, api.Object]] = {}
MAX_EMPTY_PAGES: Final = 100
"""Maximum number of empty pages of a list, which selectors may cause, to detect endless lists."""
NO_END: Final = f"more than {MAX_EMPTY_PAGES} pages of the list have no objects and name another page"
UNREADABLE_PER_TURN: Final = 16
"""Other tasks may run after this number of unreadable objects, whose diagnosis takes a while."""


# -- the pages of a list -----------------------------------------------------------------------------------------------


class ListMeta(msgspec.Struct, rename={"resource_version": "resourceVersion", "next_page": "continue"}):
    """Resource version of a list, and the continuation token of its next page."""

    resource_version: str | None = None
    next_page: str | None = None


class ListPage(msgspec.Struct):
    """A page of a list with undecoded objects."""

    metadata: ListMeta = msgspec.field(default_factory=ListMeta)
    items: list[msgspec.Raw] | None = None


async def pages(
    ask: Callable[[str, Query], Awaitable[Response]], path: str, query: Query
) -> AsyncGenerator[ListPage, None]:
    """Yield the pages of a list, with the `limit` of the query. Raise `ConnectionFailed` for an
    unreadable page or an endless list. Close the generator (`aclosing`) to stop early."""
    empty_pages = 0
    while True:
        page = _page((await ask(path, query)).body, path)
        yield page
        if not page.metadata.next_page:
            return
        empty_pages += not page.items
        if empty_pages > MAX_EMPTY_PAGES:
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
    """A line of a watch, decoded together with its object."""

    type: str
    object: T


class Listing(msgspec.Struct, Generic[T]):
    """The objects at a resource version, and the unreadable ones."""

    objects: list[T] = msgspec.field(default_factory=list)
    unreadable: list[Unreadable] = msgspec.field(default_factory=list)
    resource_version: str = ""


class WatchedChange(msgspec.Struct, Generic[T], frozen=True):
    """An event of a watch. The object of a BOOKMARK has only a version."""

    type: str
    object: T | Unreadable


class ObjectTexts(Protocol):
    """Receives the text of every object, right before the object is passed on."""

    def listed(self, obj: api.Object, text: msgspec.Raw) -> None:
        """Add an object of a list, which is passed on as a whole."""

    def watched(self, obj: api.Object, line: bytes) -> None:
        """Add the object of a watch event, with its line."""


class ListWatch(Generic[T]):
    """All objects of a kind, or those that match a field selector."""

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
        #: None if every update is needed: extenders and recordings get fields that are not decoded.
        self._heartbeats = Heartbeats() if kind is api.Node and self._raw_objects is None and texts is None else None

    async def list(self) -> Listing[T]:
        """List in pages; lists again without pages if the continuation expires. An optional kind
        that the server does not know is not found, also for a user without the right to list it."""
        try:
            return await self._list(PAGE)
        except ApiError as refusal:
            if is_custom(self.kind) and refusal.is_forbidden and await is_absent(self._transport, self.kind, refusal):
                raise ApiError(404, "NotFound", str(refusal)) from refusal
            if not refusal.is_expired:
                raise
            return await self._list(0)

    async def watch(
        self, resource_version: str, in_use: Mapping[str, api.Object] = NONE_IN_USE
    ) -> AsyncGenerator[WatchedChange[T], None]:
        """Yield changes after the version until the watch ends. ERROR lines raise `ApiError`.

        An update that does not differ from the object in use by that key may be a BOOKMARK.
        """
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
                yield self.change_in(line, in_use)

    async def _list(self, page: int) -> Listing[T]:
        listing: Listing[T] = Listing()
        if self._raw_objects is not None:
            self._raw_objects.forget_all(self.kind)
        if self._heartbeats is not None:
            self._heartbeats.clear()
        query = {**self._selection, "limit": str(page)} if page else self._selection
        async with aclosing(pages(self._ask, self._path, query)) as listed:
            async for found in listed:
                await self._add_page(listing, found)
        return listing

    async def _ask(self, path: str, query: Query) -> Response:
        return await self._transport.request(Request("GET", path, query, timeout=LIST_SECONDS))

    async def _add_page(self, listing: Listing[T], page: ListPage) -> None:
        for raw in page.items or ():
            found = self._object(raw)
            if not isinstance(found, Unreadable):
                listing.objects.append(found)
                if self._texts is not None:
                    self._texts.listed(found, raw)
                continue
            listing.unreadable.append(found)
            if len(listing.unreadable) % UNREADABLE_PER_TURN == 0:
                await asyncio.sleep(0)
        listing.resource_version = page.metadata.resource_version or ""

    def change_in(self, line: bytes, in_use: Mapping[str, api.Object] = NONE_IN_USE) -> WatchedChange[T]:
        """Decode the event in a line, unless it is a heartbeat."""
        if self._heartbeats is None:
            return self._change_in_whole(line)
        update = self._heartbeats.read(line)
        if update is not None and self._heartbeats.is_heartbeat(update, in_use):
            return WatchedChange(BOOKMARK, self.kind(metadata=api.ObjectMeta(resource_version=update.resource_version)))
        change = self._change_in_whole(line)
        self._heartbeats.remember(update, change.object)
        return change

    def _change_in_whole(self, line: bytes) -> WatchedChange[T]:
        """Decode a line; in one pass unless it is unusual."""
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
        """Decode a line and its object separately: an unreadable object is not an unreadable line.
        The slow path of `_change_in_whole`."""
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
    """API server's texts by kind and uid, without kind and managed fields, which are most of it."""

    def __init__(self, extenders: Sequence[config.Extender] = ()) -> None:
        shown_pods = [e for e in extenders if e.filter_verb or e.prioritize_verb or e.preempt_verb]
        shown_nodes = [e for e in extenders if (e.filter_verb or e.prioritize_verb) and not e.node_cache_capable]
        self._texts: dict[type[api.Object], dict[str, msgspec.Raw]] = {}
        if shown_pods:
            self._texts[api.Pod] = {}
        if shown_nodes:
            self._texts[api.Node] = {}
        #: Victims of preemption are sent whole to extenders that are not node-cache-capable.
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
        """Return the object as the API server wrote it, or its known fields."""
        text = self._texts.get(type(obj), {}).get(obj.metadata.uid)
        return msgspec.Raw(codec.encode(obj)) if text is None else text


def _trimmed(text: bytes | msgspec.Raw) -> msgspec.Raw:
    document: dict[str, Any] = codec.plain(text)
    for field in ("apiVersion", "kind"):
        document.pop(field, None)
    (document.get("metadata") or {}).pop("managedFields", None)
    return msgspec.Raw(msgspec.json.encode(document))
