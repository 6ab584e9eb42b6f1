# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 as far as the pages of a scheduler need it: a request has no body, its answer is known as a whole.

    gate ─► `HttpConnection` ─► `Request` ─► handler ─► `Answer` ─► written, no faster than the client reads

httptools parses; what is here writes answers and finds handlers (`Router`). Used by `server`.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from email.utils import formatdate
from http import HTTPStatus
from ssl import SSLObject
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

import httptools
import msgspec

logger = logging.getLogger(__name__)

WRITE_SECONDS: Final = 60.0
"""Seconds that a client may take to read an answer."""
PIECE_BYTES: Final = 1 << 16
TEXT: Final = "text/plain; charset=utf-8"
JSON: Final = "application/json; charset=utf-8"
BODY_REFUSED: Final = "no request here has a body\n"
NOT_HTTP: Final = "400 Bad Request: not a request of HTTP/1.1\n"
NOT_FOUND: Final = "404 page not found\n"
METHOD_NOT_ALLOWED: Final = "Method Not Allowed\n"


class HeaderFields:
    """The headers of a request; case does not matter."""

    def __init__(self, fields: Iterable[tuple[str, str]] = ()) -> None:
        self._fields = tuple(fields)

    def get(self, name: str, default: str = "") -> str:
        """The first value."""
        return next(self._values(name), default)

    def getall(self, name: str, default: list[str]) -> list[str]:
        return list(self._values(name)) or default

    def items(self) -> Iterable[tuple[str, str]]:
        return self._fields

    def _values(self, name: str) -> Iterator[str]:
        wanted = name.lower()
        return (value for field, value in self._fields if field.lower() == wanted)


class Request(msgspec.Struct, frozen=True):
    """One request, as handlers see it."""

    method: str
    #: Unquoted, without the query.
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: HeaderFields = HeaderFields()
    #: The address of the client.
    remote: str = ""
    #: The TLS connection; None over plain HTTP.
    channel: SSLObject | None = None
    #: What the parts of the path in braces stand for.
    parts: dict[str, str] = {}

    def has(self, name: str) -> bool:
        """Whether the query mentions the name, with or without a value."""
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
    closes: bool = False


def text_answer(text: str, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    return Answer(status, text.encode(), headers=headers or {})


def json_answer(document: Any, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    return Answer(status, json.dumps(document).encode(), JSON, headers or {})


Handler: TypeAlias = Callable[[Request], Awaitable[Answer]]


class Route(msgspec.Struct, frozen=True):
    """A handler and its path, of which parts in braces stand for anything: `/readyz/{check}`."""

    path: str
    handler: Handler


class Router:
    """Finds the handler of a path. Pages are read, nothing else."""

    def __init__(self, routes: Iterable[Route]) -> None:
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
            return text_answer(NOT_FOUND, 404)
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


class HttpConnection:
    """One connection behind its gate, which hands over the head of one request at a time."""

    def __init__(self, handler: Handler, on_answered: Callable[[HttpConnection], None]) -> None:
        self._handler = handler
        self._on_answered = on_answered
        self._transport: asyncio.Transport | None = None
        self._answering: asyncio.Task[None] | None = None
        #: Set while the client reads what is written.
        self._writable = asyncio.Event()
        self._writable.set()

    @property
    def is_answering(self) -> bool:
        return self._answering is not None and not self._answering.done()

    async def finished(self) -> None:
        """Returns when no answer is under way."""
        if self._answering is not None:
            await asyncio.wait((self._answering,))

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    # -- called by the gate ------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def head_received(self, head: bytes, remote: str) -> None:
        """The head of a request, whole, while no other is being answered."""
        self._answering = asyncio.get_running_loop().create_task(self._answer(head, remote))

    def body_received(self, data: bytes) -> None:
        """What comes behind a head, in servers that take bodies; here there are none."""

    def connection_lost(self) -> None:
        self._writable.set()
        if self._answering is not None:
            self._answering.cancel()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    # -- inside ------------------------------------------------------------------------------------------------------

    async def _answer(self, head: bytes, remote: str) -> None:
        assert self._transport is not None, "who has sent a head is connected"
        parsed = _parsed(head, remote, self._transport.get_extra_info("ssl_object"))
        if isinstance(parsed, Answer):
            await self._write(parsed, "GET")
            return
        await self._write(await self._handler(parsed.request), parsed.request.method, parsed.keep_alive)

    async def _write(self, answer: Answer, method: str, keep_alive: bool = False) -> None:
        """Who does not read is cut off; who has gone is none of our business."""
        transport = self._transport
        assert transport is not None, "who has sent a head is connected"
        keep_alive = keep_alive and not answer.closes
        transport.write(_head(answer, keep_alive))
        body = b"" if method == "HEAD" else answer.body
        try:
            async with asyncio.timeout(WRITE_SECONDS):
                for start in range(0, len(body), PIECE_BYTES):
                    await self._writable.wait()
                    transport.write(body[start : start + PIECE_BYTES])
        except TimeoutError:
            transport.abort()
            return
        if keep_alive:
            self._on_answered(self)
        else:
            transport.close()


class _Parsed(msgspec.Struct, frozen=True):
    request: Request
    keep_alive: bool


class _Collector:
    """The callbacks of httptools."""

    def __init__(self) -> None:
        self.url = b""
        self.headers: list[tuple[str, str]] = []
        self.is_complete = False
        self.keeps_alive = False
        self.parser = httptools.HttpRequestParser(self)

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.decode("latin-1"), value.decode("utf-8", "surrogateescape")))

    def on_headers_complete(self) -> None:
        # The parser forgets that with the end of the message.
        self.keeps_alive = self.parser.should_keep_alive()

    def on_message_complete(self) -> None:
        self.is_complete = True


def _parsed(head: bytes, remote: str, channel: SSLObject | None) -> _Parsed | Answer:
    """The request; an answer to what is none, or has a body."""
    collector = _Collector()
    parser = collector.parser
    try:
        parser.feed_data(head)
    except httptools.HttpParserUpgrade:
        collector.keeps_alive = False  # no other protocol is spoken here
    except httptools.HttpParserError:
        return Answer(400, NOT_HTTP.encode(), closes=True)
    if parser.get_http_version() not in ("1.0", "1.1"):
        return Answer(400, NOT_HTTP.encode(), closes=True)
    if not collector.is_complete:
        return Answer(413, BODY_REFUSED.encode(), closes=True)
    try:
        target = urlsplit(collector.url.decode("ascii"))
    except ValueError:
        return Answer(400, NOT_HTTP.encode(), closes=True)
    query = tuple(parse_qsl(target.query, keep_blank_values=True))
    method, path = parser.get_method().decode("ascii"), unquote(target.path)
    return _Parsed(
        Request(method, path, query, HeaderFields(collector.headers), remote, channel), collector.keeps_alive
    )


def _head(answer: Answer, keep_alive: bool) -> bytes:
    fields = {
        "Content-Type": answer.content_type,
        "Content-Length": str(len(answer.body)),
        "Date": formatdate(usegmt=True),
        **answer.headers,
    }
    if not keep_alive:
        fields["Connection"] = "close"
    lines = [f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}"]
    lines += (f"{name}: {value}" for name, value in fields.items())
    return "\r\n".join((*lines, "", "")).encode("latin-1")
