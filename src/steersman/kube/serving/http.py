# SPDX-License-Identifier: Apache-2.0
"""Requests, answers and routes of our HTTP servers; no I/O.

`http_connection` parses ─► `Request` ─► handler, perhaps found by a `Router` ─► `Answer` ─► `http_connection` writes
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Protocol, TypeAlias

import msgspec

TEXT: Final = "text/plain; charset=utf-8"
JSON: Final = "application/json; charset=utf-8"
NOT_FOUND: Final = "404 page not found\n"
METHOD_NOT_ALLOWED: Final = "Method Not Allowed\n"


class HeaderFields:
    """The headers of a request. Names are case-insensitive."""

    def __init__(self, fields: Iterable[tuple[str, str]] = ()) -> None:
        self._fields = tuple(fields)

    def get(self, name: str, default: str = "") -> str:
        """Return the first value."""
        return next(self._values(name), default)

    def getall(self, name: str, default: list[str]) -> list[str]:
        return list(self._values(name)) or default

    def items(self) -> Iterable[tuple[str, str]]:
        return self._fields

    def _values(self, name: str) -> Iterator[str]:
        wanted = name.lower()
        return (value for field, value in self._fields if field.lower() == wanted)


class TlsChannel(Protocol):
    """The TLS connection of a client."""

    def get_unverified_chain(self) -> Sequence[bytes]:
        """Return the client's certificates, unverified, its own first, as DER."""
        ...


class Request(msgspec.Struct, frozen=True):
    """A request, as handlers see it."""

    method: str
    #: Percent-decoded, without the query.
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: HeaderFields = HeaderFields()
    #: The address of the client.
    remote: str = ""
    #: The TLS connection; None over plain HTTP.
    channel: TlsChannel | None = None
    #: Values of the parameters in braces of the route.
    parts: dict[str, str] = {}
    #: None if the body exceeds the limit of the server and was not read.
    body: bytes | None = b""
    #: The path as it was sent.
    raw_path: str = ""

    def has(self, name: str) -> bool:
        """Return whether the query has the name, with or without a value."""
        return any(name == field for field, _ in self.query)

    def values(self, name: str) -> list[str]:
        return [value for field, value in self.query if field == name]

    def value(self, name: str, default: str = "") -> str:
        return next(iter(self.values(name)), default)


class Answer(msgspec.Struct, frozen=True):
    """The answer of a handler."""

    status: int = 200
    body: bytes = b""
    content_type: str = TEXT
    headers: dict[str, str] = {}
    #: Whether the connection is closed after it.
    closes: bool = False
    #: Headers whose name may occur more than once.
    repeated_headers: Sequence[tuple[str, str]] = ()


class StreamAnswer(Answer, frozen=True, kw_only=True):
    """An answer that lasts until the pieces end or the client disconnects. `body` is ignored."""

    pieces: AsyncIterator[bytes]


def text_answer(text: str, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    return Answer(status, text.encode(), headers=headers or {})


def json_answer(document: Any, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    return Answer(status, json.dumps(document).encode(), JSON, headers or {})


Handler: TypeAlias = Callable[[Request], Awaitable[Answer]]

BodyLimit: TypeAlias = Callable[[Request], int]
"""Returns the limit of a request's body in bytes, given its head."""


class Route(msgspec.Struct, frozen=True):
    """A handler and its path, with parameters in braces: `/readyz/{check}`."""

    path: str
    handler: Handler


class Router:
    """Calls the handler of a path (GET and HEAD only), or `others` for all other requests."""

    def __init__(self, routes: Iterable[Route], others: Handler | None = None) -> None:
        self._others = others
        self._exact: dict[str, Handler] = {}
        self._patterns: list[tuple[list[str], Handler]] = []
        for route in routes:
            if "{" in route.path:
                self._patterns.append((route.path.split("/"), route.handler))
            else:
                self._exact[route.path] = route.handler

    async def answer(self, request: Request) -> Answer:
        handler, parts = self._find(request.path)
        if handler is None:
            return text_answer(NOT_FOUND, 404) if self._others is None else await self._others(request)
        if request.method not in ("GET", "HEAD"):
            return text_answer(METHOD_NOT_ALLOWED, 405, {"Allow": "GET,HEAD"})
        return await handler(msgspec.structs.replace(request, parts=parts) if parts else request)

    def _find(self, path: str) -> tuple[Handler | None, dict[str, str]]:
        handler = self._exact.get(path)
        if handler is not None:
            return handler, {}
        words = path.split("/")
        for pattern, candidate in self._patterns:
            parts = _matched(pattern, words)
            if parts is not None:
                return candidate, parts
        return None, {}


def _matched(pattern: list[str], words: list[str]) -> dict[str, str] | None:
    if len(pattern) != len(words):
        return None
    parts: dict[str, str] = {}
    for wanted, word in zip(pattern, words, strict=True):
        if wanted.startswith("{"):
            if not word:
                return None
            parts[wanted.strip("{}")] = word
        elif wanted != word:
            return None
    return parts
