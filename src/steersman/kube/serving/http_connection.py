# SPDX-License-Identifier: Apache-2.0
"""One connection of an HTTP/1.1 server: parses requests, calls the handler, writes answers.

    gate (`connections`) ─► head ─► body ─► `Request` ─► handler ─► `Answer` ─► written, no faster than the client reads

httptools parses. Bodies have a `Content-Length` or are chunked, and are refused unless the server
has a limit for them. An answer is complete, or a stream of pieces (`StreamAnswer`). Malformed input
is answered with an error and ends the connection.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine
from email.utils import formatdate
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

import httptools
import msgspec

from steersman.kube.serving.http import Answer, BodyLimit, Handler, HeaderFields, Request, StreamAnswer, TlsChannel

logger = logging.getLogger(__name__)

WRITE_SECONDS: Final = 60.0
"""Seconds that a client may take to read a piece of an answer."""
LINGER_SECONDS: Final = 0.5
"""Time for which a refused body is read and dropped, so that the client sees the answer."""
PIECE_BYTES: Final = 1 << 16
MAX_FRAMING_BYTES: Final = 64 << 10
"""Limit of chunk extensions and trailers of a body."""
BODY_REFUSED: Final = "no request here has a body\n"
NOT_HTTP: Final = "400 Bad Request: not a request of HTTP/1.1\n"
CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_PHRASES: Final = {status.value: status.phrase for status in HTTPStatus}
_MAX_LENGTH_DIGITS: Final = 16


class HttpConnection:
    """A connection behind its gate, which passes one request head and body at a time."""

    def __init__(
        self,
        handler: Handler,
        on_answered: Callable[[HttpConnection], None],
        body_limit: BodyLimit | None = None,
        on_endless: Callable[[HttpConnection], None] = lambda _: None,
    ) -> None:
        """`body_limit` None refuses bodies. `on_endless` is called when a stream begins."""
        self._handler = handler
        self._on_answered = on_answered
        self._body_limit = body_limit
        self._on_endless = on_endless
        self._transport: asyncio.Transport | None = None
        self._answering: asyncio.Task[None] | None = None
        #: The request whose body is being read.
        self._incoming: _IncomingRequest | None = None
        #: Whether received data are dropped: the rest of a body that was refused.
        self._drops = False
        #: Whether the answer under way is a stream.
        self.is_streaming = False
        #: Set unless the write buffer is full.
        self._writable = asyncio.Event()
        self._writable.set()

    @property
    def is_answering(self) -> bool:
        return self._answering is not None and not self._answering.done()

    @property
    def awaits_body(self) -> bool:
        """Whether the client has yet to send the rest of its request."""
        return self._incoming is not None

    async def finished(self) -> None:
        """Return when no answer is under way."""
        if self._answering is not None:
            await asyncio.wait((self._answering,))

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    # -- called by the gate ------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def head_received(self, head: bytes, remote: str) -> None:
        """Handle the complete head of a request; no other request is under way."""
        assert self._transport is not None, "a head comes over a connection"
        try:
            incoming = _IncomingRequest(head, remote, self._transport.get_extra_info("ssl_object"))
        except ValueError:
            self._begin(self._write(Answer(400, NOT_HTTP.encode(), closes=True), "GET"))
            return
        if incoming.is_complete:
            self._begin(self._answer(incoming))
        elif self._body_limit is None:
            self._begin(self._write(Answer(413, BODY_REFUSED.encode(), closes=True), "GET"))
        else:
            incoming.limit = self._body_limit(incoming.request)
            self._incoming = incoming
            if incoming.length > incoming.limit:
                self._refuse_body(incoming)
            elif incoming.request.headers.get("Expect").lower() == "100-continue":
                self._transport.write(CONTINUE)

    def body_received(self, data: bytes) -> bytes:
        """Handle data after a head, and return the data that belong to the next request."""
        incoming = self._incoming
        if incoming is None:
            return b"" if self._drops else data
        try:
            rest = incoming.feed(data)
        except ValueError:
            self._incoming = None
            self._begin(self._write(Answer(400, NOT_HTTP.encode(), closes=True), "GET"))
            return b""
        if incoming.size > incoming.limit:
            self._refuse_body(incoming)
            return b""
        if incoming.is_complete:
            self._incoming = None
            self._begin(self._answer(incoming))
        return rest

    def connection_lost(self) -> None:
        self._writable.set()
        self._incoming = None
        if self._answering is not None:
            self._answering.cancel()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    # -- internals ---------------------------------------------------------------------------------------------------

    def _refuse_body(self, incoming: _IncomingRequest) -> None:
        self._incoming, self._drops = None, True
        incoming.refuse_body()
        self._begin(self._answer(incoming))

    def _begin(self, answering: Coroutine[Any, Any, None]) -> None:
        self._answering = asyncio.get_running_loop().create_task(answering)

    async def _answer(self, incoming: _IncomingRequest) -> None:
        request = incoming.complete_request()
        try:
            answer = await self._handler(request)
        except Exception:
            logger.exception("%s %s cannot be answered", request.method, request.path)
            answer = Answer(500, b"Internal Server Error\n", closes=True)
        if isinstance(answer, StreamAnswer):
            await self._stream(answer, request.method)
        else:
            await self._write(answer, request.method, incoming.keeps_alive)

    async def _write(self, answer: Answer, method: str, keep_alive: bool = False) -> None:
        """Write an answer; abort the connection if the client does not read it."""
        transport = self._transport
        assert transport is not None, "a head comes over a connection"
        keep_alive = keep_alive and not answer.closes
        head = _head(answer, keep_alive, f"Content-Length: {len(answer.body)}\r\n")
        body = b"" if method == "HEAD" else answer.body
        transport.write(head + body[:PIECE_BYTES])
        try:
            for start in range(PIECE_BYTES, len(body), PIECE_BYTES):
                await self._until_writable()
                transport.write(body[start : start + PIECE_BYTES])
        except TimeoutError:
            transport.abort()
            return
        if keep_alive:
            self._on_answered(self)
            return
        if self._drops:
            await asyncio.sleep(LINGER_SECONDS)
        transport.close()

    async def _stream(self, answer: StreamAnswer, method: str) -> None:
        """Write each piece as a chunk after the previous ones were read; then close."""
        transport = self._transport
        assert transport is not None, "a head comes over a connection"
        self.is_streaming = True
        self._on_endless(self)
        transport.write(_head(answer, False, "Transfer-Encoding: chunked\r\n"))
        try:
            if method != "HEAD":
                async for piece in answer.pieces:
                    transport.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                    await self._until_writable()
                transport.write(b"0\r\n\r\n")
        except TimeoutError:
            transport.abort()
        else:
            transport.close()
        finally:
            if isinstance(answer.pieces, AsyncGenerator):
                await answer.pieces.aclose()

    async def _until_writable(self) -> None:
        if not self._writable.is_set():
            async with asyncio.timeout(WRITE_SECONDS):
                await self._writable.wait()


class _IncomingRequest:
    """A request that is being received. Raises ValueError for data that are not HTTP/1.1."""

    def __init__(self, head: bytes, remote: str, channel: TlsChannel | None) -> None:
        #: Limit of the body in bytes; set by the connection.
        self.limit = 0
        self.size = 0
        self.is_complete = False
        #: Whether another request may follow on the connection.
        self.keeps_alive = False
        self._url = b""
        self._headers: list[tuple[str, str]] = []
        self._parts: list[bytes] = []
        self._is_refused = self._is_chunked = False
        #: Bytes since the last piece of the body.
        self._framing_bytes = 0
        self._parser = httptools.HttpRequestParser(self)
        self._parse(head)
        if self._parser.get_http_version() not in ("1.0", "1.1"):
            raise ValueError("not HTTP/1.1")
        fields = HeaderFields(self._headers)
        self.length = 0 if self.is_complete else _content_length(fields)
        self._is_chunked = not self.is_complete and not self.length
        self.request = _request(self._parser.get_method().decode("ascii"), self._url, fields, remote, channel)

    def feed(self, data: bytes) -> bytes:
        """Parse a part of the body; return what follows the body."""
        left = len(data) if self._is_chunked else self.length - self.size
        self._framing_bytes += len(data)
        self._parse(data[:left])
        if self._framing_bytes > MAX_FRAMING_BYTES and not self.is_complete:
            raise ValueError("a line between the pieces of the body does not end")
        return data[left:]

    def refuse_body(self) -> None:
        self._is_refused, self.keeps_alive = True, False
        self._parts.clear()

    def complete_request(self) -> Request:
        """Return the request with its body."""
        if self._is_refused:
            return msgspec.structs.replace(self.request, body=None)
        if not self._parts:
            return self.request
        body = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        return msgspec.structs.replace(self.request, body=body)

    def _parse(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.keeps_alive = False  # upgrades are ignored: the request is answered in HTTP/1.1
        except httptools.HttpParserError as error:
            raise ValueError(str(error)) from None

    # -- called by httptools -----------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        if self.is_complete:
            raise ValueError("a request begins behind a chunked body, before it is answered")

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._is_chunked:  # trailers are ignored
            self._headers.append((name.decode("latin-1"), value.decode("utf-8", "surrogateescape")))

    def on_headers_complete(self) -> None:
        # The parser resets this at the end of the message.
        self.keeps_alive = self._parser.should_keep_alive()

    def on_body(self, data: bytes) -> None:
        self._framing_bytes = 0
        self.size += len(data)
        if self.size <= self.limit:
            self._parts.append(data)

    def on_message_complete(self) -> None:
        self.is_complete = True


def _request(method: str, url: bytes, headers: HeaderFields, remote: str, channel: TlsChannel | None) -> Request:
    """Return the request. Raise ValueError for an invalid URL or several hosts."""
    if len(headers.getall("Host", [])) > 1:
        raise ValueError("the host is given twice")
    target = url.decode("ascii")
    if target.startswith("/"):
        raw_path, _, query = target.partition("?")
    else:
        parts = urlsplit(target)
        raw_path, query = parts.path, parts.query
    fields = tuple(parse_qsl(query, keep_blank_values=True)) if query else ()
    path = unquote(raw_path) if "%" in raw_path else raw_path
    return Request(method, path, fields, headers, remote, channel, raw_path=raw_path)


def _content_length(headers: HeaderFields) -> int:
    """Return the declared body length; 0 if chunked. Raise ValueError if it is invalid."""
    given = headers.get("Content-Length", "0")
    if len(given) > _MAX_LENGTH_DIGITS:
        raise ValueError("the length of the body is not a length")
    return int(given)


def _head(answer: Answer, keep_alive: bool, framing: str) -> bytes:
    fields = {"Content-Type": answer.content_type, "Date": formatdate(usegmt=True), **answer.headers}
    lines = [f"HTTP/1.1 {answer.status} {_PHRASES.get(answer.status, '')}"]
    lines += [f"{name}: {value}" for name, value in fields.items()]
    lines += [f"{name}: {value}" for name, value in answer.repeated_headers]
    if not keep_alive:
        lines.append("Connection: close")
    return "\r\n".join((*lines, f"{framing}\r\n")).encode("latin-1", "replace")
