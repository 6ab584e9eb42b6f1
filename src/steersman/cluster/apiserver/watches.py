# SPDX-License-Identifier: Apache-2.0
"""Watches over HTTP: the writes to a resource since a version, as JSON lines or protobuf frames.

A watcher only holds a position in the store's history. A slow watcher never blocks writers; it gets
a 410 when the history no longer reaches its position. Lines are encoded once for all watchers of a
resource (`EncodedEvents`).
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Final

import msgspec

from steersman.cluster.apiserver.lists import parsed_integer, parsed_version
from steersman.cluster.apiserver.media_types import PARTIAL, MediaType, encoded_event
from steersman.cluster.apiserver.resources import Resource
from steersman.cluster.apiserver.selection import Selection
from steersman.cluster.apiserver.statuses import invalid_options, status_document
from steersman.cluster.store import ADDED, BOOKMARK, DELETED, MODIFIED, Commit, Document, EventType, StatusError, Store

INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"
BOOKMARK_SECONDS: Final = 60.0
LAST_BOOKMARK_SECONDS: Final = 2.0
"""Time before the end of a watch at which a last bookmark is sent for the next watch."""
DEFAULT_SECONDS: Final = 2700.0
"""Timeout of a watch that requests none; clients then restart it, as with a kube-apiserver."""
LINES_AT_A_TIME: Final = 256
MAX_LINES: Final = 8192
MAX_BYTES: Final = 64 * 1024 * 1024
_TRUE: Final = ("true", "1")


class WatchRequest(msgspec.Struct, frozen=True):
    """Watch requested by a client. If `since` is None, the current objects are sent first."""

    resource: Resource
    selection: Selection
    media: MediaType
    since: int | None
    seconds: float
    has_bookmarks: bool
    marks_end_of_initial: bool


def watch_request(
    store: Store, resource: Resource, selection: Selection, media: MediaType, query: Mapping[str, str]
) -> WatchRequest:
    """Parse the query of a request. Raise `RequestRefused`, or `Expired` for old versions."""
    requested, sends_initial = query.get("resourceVersion", ""), query.get("sendInitialEvents", "")
    has_bookmarks = query.get("allowWatchBookmarks", "").lower() in _TRUE
    _check_initial(query)
    since: int | None = None if requested in ("", "0") else parsed_version(requested)
    if sends_initial:
        if since is not None and since > store.version:
            store.commits_since(since)
        since = None if sends_initial.lower() in _TRUE else (since or store.version)
    if since is not None:
        store.commits_since(since)
    marks_end = has_bookmarks and sends_initial.lower() in _TRUE
    return WatchRequest(resource, selection, media, since, _seconds(query), has_bookmarks, marks_end)


def _check_initial(query: Mapping[str, str]) -> None:
    match, sends = query.get("resourceVersionMatch", ""), query.get("sendInitialEvents", "")
    if sends and match != "NotOlderThan":
        why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        raise invalid_options("ListOptions", [f"resourceVersionMatch: Forbidden: {why}"])
    if match and not sends:
        why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        raise invalid_options("ListOptions", [f"resourceVersionMatch: Forbidden: {why}"])


def _seconds(query: Mapping[str, str]) -> float:
    return float(parsed_integer(query.get("timeoutSeconds", ""))) or DEFAULT_SECONDS


class EncodedEvents:
    """Cache of the latest encoded watch events; `shape` converts objects to the client's form."""

    def __init__(self, shape: Callable[[Resource, Document, MediaType, bool], Document]) -> None:
        self._shape = shape
        self._lines: OrderedDict[tuple[int, EventType, str, str, MediaType], bytes] = OrderedDict()
        self._bytes = 0

    def line(self, version: int, what: EventType, request: WatchRequest, document: Document) -> bytes:
        """Return the line of a write, shared by all watchers of a resource in the same form."""
        resource = request.resource
        name = (version, what, resource.api_version, resource.plural, request.media)
        found = self._lines.get(name)
        if found is None:
            found = self.fresh_line(what, request, document, is_first=False)
            self._keep(name, found)
        return found

    def fresh_line(self, what: EventType, request: WatchRequest, document: Document, *, is_first: bool) -> bytes:
        shown = self._shape(request.resource, document, request.media, is_first)
        return encoded_event(what.value, shown, request.media)

    def bookmark(self, request: WatchRequest, metadata: Document) -> bytes:
        """Return a bookmark event with this metadata."""
        resource, media = request.resource, request.media
        obj: Document = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
        shown = self._shape(resource, obj, media, False) if media.form == PARTIAL else obj
        return encoded_event(BOOKMARK.value, shown, media)

    def _keep(self, name: tuple[int, EventType, str, str, MediaType], line: bytes) -> None:
        self._lines[name] = line
        self._bytes += len(line)
        while len(self._lines) > MAX_LINES or self._bytes > MAX_BYTES:
            _, dropped = self._lines.popitem(last=False)
            self._bytes -= len(dropped)


class WatchStream:
    """Stream of the lines of a watch, in chunks."""

    def __init__(self, store: Store, request: WatchRequest, encoded: EncodedEvents) -> None:
        self._store = store
        self._request = request
        self._encoded = encoded
        #: Version up to which lines were yielded, including the latest chunk.
        self._position = store.version if request.since is None else request.since
        self._is_first = True

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the lines of the watch until its timeout. If it falls behind the history, the last
        line is an error."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._request.seconds
        if self._request.since is None:
            async for piece in self._initial():
                yield piece
        next_bookmark = _next_bookmark(loop.time(), deadline)
        while (now := loop.time()) < deadline:
            try:
                piece, is_more = self._next_piece()
            except StatusError as expired:
                yield encoded_event("ERROR", status_document(expired), self._request.media)
                return
            if piece:
                yield piece
            if not is_more and now >= next_bookmark:
                next_bookmark = _next_bookmark(now, deadline)
                if self._request.has_bookmarks:
                    yield self._bookmark()
            if not is_more:
                await self._wait(min(deadline, next_bookmark) - now)

    async def _wait(self, seconds: float) -> None:
        if self._store.version > self._position:
            return
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                await self._store.next_commit()
        except TimeoutError:
            return

    async def _initial(self) -> AsyncIterator[bytes]:
        """Yield the objects at the start of the watch, sorted by key."""
        request, kind = self._request, self._request.resource.stored_as
        assert kind is not None, "only what is stored can be watched"
        found = dict(self._store.documents(kind))
        names = [name for name in sorted(found) if request.selection.matches(found[name])]
        for start in range(0, len(names), LINES_AT_A_TIME):
            chosen = names[start : start + LINES_AT_A_TIME]
            yield b"".join(self._line(ADDED, found[name]) for name in chosen)
        if request.marks_end_of_initial:
            yield self._bookmark({INITIAL_EVENTS_END: "true"})

    def _next_piece(self) -> tuple[bytes, bool]:
        """Return the lines of events since the last chunk, and whether more are available."""
        commits = self._store.commits_since(self._position)
        lines: list[bytes] = []
        for commit in commits:
            line = self._line_of(commit)
            self._position = commit.version
            if line:
                lines.append(line)
                if len(lines) >= LINES_AT_A_TIME:
                    return b"".join(lines), True
        return b"".join(lines), False

    def _line_of(self, commit: Commit) -> bytes:
        """Return the event of a write as seen through the selection; empty if not selected."""
        request = self._request
        if commit.kind is not request.resource.stored_as:
            return b""
        old, new = commit.old_document, commit.document if commit.new is not None else None
        selection = request.selection
        was_shown = old is not None and selection.matches(old)
        is_shown = new is not None and selection.matches(new)
        if is_shown and new is not None:
            return self._line(MODIFIED if was_shown else ADDED, new, commit.version)
        if not was_shown or old is None:
            return b""
        gone = commit.document if new is None and commit.document is not None else with_version(old, commit.version)
        return self._line(DELETED, gone, commit.version)

    def _line(self, what: EventType, document: Document, version: int | None = None) -> bytes:
        if self._is_first:
            self._is_first = False
            return self._encoded.fresh_line(what, self._request, document, is_first=True)
        if version is None:
            return self._encoded.fresh_line(what, self._request, document, is_first=False)
        return self._encoded.line(version, what, self._request, document)

    def _bookmark(self, annotations: Mapping[str, str] | None = None) -> bytes:
        metadata: Document = {"resourceVersion": str(self._position), "creationTimestamp": None}
        if annotations:
            metadata["annotations"] = dict(annotations)
        return self._encoded.bookmark(self._request, metadata)


def _next_bookmark(now: float, deadline: float) -> float:
    last = deadline - LAST_BOOKMARK_SECONDS
    regular = now + BOOKMARK_SECONDS
    return last if now < last < regular else regular


def with_version(document: Document, version: int) -> Document:
    return {**document, "metadata": {**(document.get("metadata") or {}), "resourceVersion": str(version)}}
