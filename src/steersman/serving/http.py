# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 as far as the pages of a scheduler need it.

    gate ─► `HttpConnection` ─► `Request` ─► handler ─► `Answer` ─► written, no faster than the client reads

An answer is known as a whole, or comes in pieces without an end (`StreamAnswer`). Requests have no bodies unless the server
says how long they may be. httptools parses; what is here writes answers and finds handlers (`Router`). Used by `server`.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from email.utils import formatdate
from http import HTTPStatus
from typing import Any, Final, Protocol, TypeAlias
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
LENGTH_REQUIRED: Final = "411 Length Required: send the length of the body\n"
_MOST_DIGITS: Final = 16
CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"


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


class TlsChannel(Protocol):
    """The TLS connection of a client."""

    def get_unverified_chain(self) -> Sequence[bytes]:
        """The certificates that the client has shown, its own first, DER; nobody has verified them."""
        ...


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
    channel: TlsChannel | None = None
    #: What the parts of the path in braces stand for.
    parts: dict[str, str] = {}
    #: None: it is longer than the server takes, and was not read.
    body: bytes | None = b""

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


class StreamAnswer(Answer, frozen=True, kw_only=True):
    """An answer that goes on until the pieces end, or the client goes. `body` is not looked at."""

    pieces: AsyncIterator[bytes]


def text_answer(text: str, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    return Answer(status, text.encode(), headers=headers or {})


def json_answer(document: Any, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    return Answer(status, json.dumps(document).encode(), JSON, headers or {})


Handler: TypeAlias = Callable[[Request], Awaitable[Answer]]

BodyLimit: TypeAlias = Callable[[Request], int]
"""How many bytes the body of a request may have; asked when its head is there."""


class Route(msgspec.Struct, frozen=True):
    """A handler and its path, of which parts in braces stand for anything: `/readyz/{check}`."""

    path: str
    handler: Handler


class Router:
    """Finds the handler of a path. Pages are read, nothing else; `others` decides by itself about all other paths."""

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


class HttpConnection:
    """One connection behind its gate, which hands over the head of one request at a time."""

    def __init__(
        self,
        handler: Handler,
        on_answered: Callable[[HttpConnection], None],
        body_limit: BodyLimit | None = None,
        on_endless: Callable[[HttpConnection], None] = lambda _: None,
    ) -> None:
        """`body_limit` None: requests with bodies are refused. `on_endless` is told that an answer without an end begins."""
        self._handler = handler
        self._on_answered = on_answered
        self._body_limit = body_limit
        self._on_endless = on_endless
        self._transport: asyncio.Transport | None = None
        self._answering: asyncio.Task[None] | None = None
        #: The request whose body is being read, what there is of it, and how long it will be.
        self._awaiting: _Parsed | None = None
        self._body = bytearray()
        #: The client has sent something behind its request, which was dropped.
        self._is_ahead = False
        #: Set while the client reads what is written.
        self._writable = asyncio.Event()
        self._writable.set()

    @property
    def is_answering(self) -> bool:
        return self._answering is not None and not self._answering.done()

    @property
    def awaits_body(self) -> bool:
        """The client has yet to send the rest of its request."""
        return self._awaiting is not None

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
        assert self._transport is not None, "who has sent a head is connected"
        parsed = _parsed(head, remote, self._transport.get_extra_info("ssl_object"), self._body_limit is not None)
        if isinstance(parsed, Answer):
            self._begin(self._write(parsed, "GET"))
        elif parsed.body_bytes == 0:
            self._begin(self._answer(parsed))
        elif self._body_limit is None or parsed.body_bytes > self._body_limit(parsed.request):
            self._begin(self._answer(parsed.with_body(None)))
        else:
            self._awaiting = parsed
            if parsed.request.headers.get("Expect").lower() == "100-continue":
                self._transport.write(CONTINUE)

    def body_received(self, data: bytes) -> None:
        """Takes data behind a head, in servers that take bodies. A client that does not wait for its answer is told to connect
        anew."""
        if self._awaiting is None:
            self._is_ahead = True
            return
        self._body += data
        if len(self._body) < self._awaiting.body_bytes:
            return
        parsed, body = self._awaiting, bytes(self._body)
        self._awaiting = None
        self._body.clear()
        if len(body) > parsed.body_bytes:
            self._begin(self._write(Answer(400, NOT_HTTP.encode(), closes=True), "GET"))
        else:
            self._begin(self._answer(parsed.with_body(body)))

    def connection_lost(self) -> None:
        self._writable.set()
        self._awaiting = None
        self._body.clear()
        if self._answering is not None:
            self._answering.cancel()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    # -- inside ------------------------------------------------------------------------------------------------------

    def _begin(self, answering: Coroutine[Any, Any, None]) -> None:
        self._answering = asyncio.get_running_loop().create_task(answering)

    async def _answer(self, parsed: _Parsed) -> None:
        request = parsed.request
        try:
            answer = await self._handler(request)
        except Exception:
            logger.exception("%s %s cannot be answered", request.method, request.path)
            answer = Answer(500, b"Internal Server Error\n", closes=True)
        if isinstance(answer, StreamAnswer):
            await self._stream(answer, request.method)
        else:
            # Behind a body that was not read the next request cannot be found.
            await self._write(answer, request.method, parsed.keep_alive and request.body is not None)

    async def _write(self, answer: Answer, method: str, keep_alive: bool = False) -> None:
        """Who does not read is cut off; who has gone is none of our business."""
        transport = self._transport
        assert transport is not None, "who has sent a head is connected"
        keep_alive = keep_alive and not answer.closes and not self._is_ahead
        transport.write(_head(answer, keep_alive, {"Content-Length": str(len(answer.body))}))
        body = b"" if method == "HEAD" else answer.body
        try:
            async with asyncio.timeout(WRITE_SECONDS):
                for start in range(0, len(body), PIECE_BYTES):
                    await self._writable.wait()
                    transport.write(body[start : start + PIECE_BYTES])
        except TimeoutError:
            transport.abort()
            return
        if keep_alive and not self._is_ahead:
            self._on_answered(self)
        else:
            transport.close()

    async def _stream(self, answer: StreamAnswer, method: str) -> None:
        """Piece after piece, each after the client has read those before; the connection ends with the last one."""
        transport = self._transport
        assert transport is not None, "who has sent a head is connected"
        self._on_endless(self)
        transport.write(_head(answer, False, {"Transfer-Encoding": "chunked"}))
        try:
            if method != "HEAD":
                async for piece in answer.pieces:
                    transport.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                    if not self._writable.is_set():
                        async with asyncio.timeout(WRITE_SECONDS):
                            await self._writable.wait()
                transport.write(b"0\r\n\r\n")
        except TimeoutError:
            transport.abort()
            return
        transport.close()


class _Parsed(msgspec.Struct, frozen=True):
    request: Request
    keep_alive: bool
    body_bytes: int

    def with_body(self, body: bytes | None) -> _Parsed:
        request = msgspec.structs.replace(self.request, body=body)
        return msgspec.structs.replace(self, request=request)


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


def _parsed(head: bytes, remote: str, channel: TlsChannel | None, takes_bodies: bool) -> _Parsed | Answer:
    """The request, as yet without its body; an answer to what is none, or has a body that is not taken."""
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
    headers = HeaderFields(collector.headers)
    body_bytes = 0 if collector.is_complete else _content_length(headers)
    if body_bytes != 0 and not takes_bodies:
        return Answer(413, BODY_REFUSED.encode(), closes=True)
    if body_bytes is None:
        return Answer(411, LENGTH_REQUIRED.encode(), closes=True)
    try:
        target = urlsplit(collector.url.decode("ascii"))
    except ValueError:
        return Answer(400, NOT_HTTP.encode(), closes=True)
    query = tuple(parse_qsl(target.query, keep_blank_values=True))
    method, path = parser.get_method().decode("ascii"), unquote(target.path)
    return _Parsed(Request(method, path, query, headers, remote, channel), collector.keeps_alive, body_bytes)


def _content_length(headers: HeaderFields) -> int | None:
    """None: the body has no length that is known beforehand."""
    given = headers.get("Content-Length")
    return int(given) if given.isdecimal() and len(given) < _MOST_DIGITS else None


def _head(answer: Answer, keep_alive: bool, framing: dict[str, str]) -> bytes:
    fields = {
        "Content-Type": answer.content_type,
        **framing,
        "Date": formatdate(usegmt=True),
        **answer.headers,
    }
    if not keep_alive:
        fields["Connection"] = "close"
    lines = [f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}"]
    lines += (f"{name}: {value}" for name, value in fields.items())
    return "\r\n".join((*lines, "", "")).encode("latin-1")
