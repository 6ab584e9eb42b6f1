"""HTTP/1.1 with as little in between as possible: requests with small bodies, answered as a whole, on kept connections.

Used by `transport` for everything but streams and proxies. A binding is a request of some 300 bytes and an answer of 200; a
general HTTP client spends more on it than the scheduler does on the decision. In goes the head of a request as bytes,
out comes an `Answer`; what it means is the transport's business.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from dataclasses import dataclass
from time import monotonic
from typing import Final, cast

MOST_CONNECTIONS: Final = 32
"""More requests at once only wait for each other in the server, and every connection costs it a handshake."""
IDLE_SECONDS: Final = 60.0
"""Servers close idle connections, at the earliest after this long; a request must not meet that moment."""
_HEAD_END: Final = b"\r\n\r\n"
_LONGEST_HEAD: Final = 1 << 17
_WITHOUT_BODY: Final = (204, 304)


class BadAnswer(OSError):
    """What came is not HTTP/1.1."""


class NotSent(OSError):
    """There was no connection: the server cannot have seen the request."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Header names are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


class Channel(asyncio.Protocol):
    """One connection, one request at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[Answer] | None = None
        self._parser = AnswerParser()
        self._failure: OSError = ConnectionResetError("the connection was closed")
        #: When it was last of use, on the loop's clock.
        self.used = 0.0

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    async def exchange(self, request: bytes, timeout: float) -> Answer:
        """OSError when the connection breaks, TimeoutError when there is no answer in time; it is closed then.

        NotSent when it broke between being handed over and this: nobody would tell of that any more.
        """
        if self._transport is None or self._transport.is_closing():
            raise NotSent(str(self._failure))
        assert self._waiting is None, "one request at a time"
        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[Answer] = loop.create_future()
        self._waiting = waiting
        timer = loop.call_later(timeout, self._time_out)
        self._transport.write(request)
        try:
            return await waiting
        finally:
            timer.cancel()
            self._waiting = None
            if waiting.cancelled():
                self.abandon()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def abandon(self) -> None:
        """Without a farewell, which over TLS would still be waited for when all else has ended: nobody wants an answer."""
        if self._transport is not None:
            self._transport.abort()

    # -- called by the event loop ------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not isinstance: uvloop's transports are none of asyncio's classes.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        try:
            answer = self._parser.feed(data)
        except ValueError as wrong:
            self._fail(BadAnswer(str(wrong)))
            return
        if answer is not None:
            self._finish(answer)

    def eof_received(self) -> None:
        answer = self._parser.end()
        if answer is not None:
            self._finish(answer)

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(exc if isinstance(exc, OSError) else self._failure)

    # -- inside ------------------------------------------------------------------------------------------------------

    def _finish(self, answer: Answer) -> None:
        if self._waiting is None or self._waiting.done():
            self._fail(BadAnswer("an answer that nobody asked for"))
            return
        self._waiting.set_result(answer)
        if not self._parser.keeps_alive:
            self.close()

    def _time_out(self) -> None:
        self._fail(TimeoutError("no answer in time"))

    def _fail(self, failure: OSError) -> None:
        self.close()
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(failure)


class AnswerParser:
    """Puts answers together as bytes arrive."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._head = b""
        self._status = 0
        self._headers: dict[str, str] = {}
        self._parts: list[bytes] = []
        #: Bytes of the body that are to come; None: until the end of the connection.
        self._left: int | None = 0
        self._chunks: ChunkedBody | None = None
        self.keeps_alive = True

    def feed(self, data: bytes) -> Answer | None:
        """The answer, when this completes it. ValueError for what is none."""
        if not self._status:
            end = (self._head + data).find(_HEAD_END) if self._head else data.find(_HEAD_END)
            if end < 0:
                self._head += data
                if len(self._head) > _LONGEST_HEAD:
                    raise ValueError("the head of the answer does not end")
                return None
            data = self._head + data if self._head else data
            self._read_head(data[:end])
            data = data[end + len(_HEAD_END) :]
            if self._status < 200:
                self._begin()
                return self.feed(data)
        return self._take(data)

    def end(self) -> Answer | None:
        """The connection has ended: so has an answer without a length."""
        return self._complete() if self._status and self._left is None and self._chunks is None else None

    def _take(self, data: bytes) -> Answer | None:
        if self._chunks is not None:
            if not self._chunks.feed(data):
                return None
            self._parts = self._chunks.parts
            return self._complete()
        if data:
            self._parts.append(data)
        if self._left is None:
            return None
        self._left -= len(data)
        if self._left < 0:
            raise ValueError("the answer is longer than it says")
        return self._complete() if self._left == 0 else None

    def _read_head(self, head: bytes) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        version, _, rest = first.partition(" ")
        if not version.startswith("HTTP/1.") or not rest[:3].isdecimal():
            raise ValueError(f"not an answer in HTTP/1.1: {first[:80]!r}")
        self._status = int(rest[:3])
        headers = self._headers
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        self.keeps_alive = version == "HTTP/1.1" and headers.get("connection", "").lower() != "close"
        self._expect_body(headers)

    def _expect_body(self, headers: dict[str, str]) -> None:
        if self._status in _WITHOUT_BODY:
            self._left = 0
        elif headers.get("transfer-encoding", "").lower() == "chunked":
            self._chunks = ChunkedBody()
        elif (length := headers.get("content-length")) is not None:
            if not length.isdecimal():
                raise ValueError(f"Content-Length is {length!r}")
            self._left = int(length)
        else:
            self._left = None
            self.keeps_alive = False

    def _complete(self) -> Answer:
        parts = self._parts
        answer = Answer(self._status, self._headers, parts[0] if len(parts) == 1 else b"".join(parts))
        keeps_alive = self.keeps_alive
        self._begin()
        self.keeps_alive = keeps_alive
        return answer


class ChunkedBody:
    """A body in pieces, each with its length before it."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self._rest = b""
        #: Of the current piece, with the line end behind it; 0: the next length has to be read.
        self._left = 0
        self._trailer = False

    def feed(self, data: bytes) -> bool:
        """Whether it is complete. ValueError when it is malformed."""
        data = self._rest + data if self._rest else data
        position = 0
        while position < len(data):
            if self._left:
                position = self._piece(data, position)
                continue
            end = data.find(b"\r\n", position)
            if end < 0:
                break
            line, position = data[position:end], end + 2
            if self._trailer:
                if not line:
                    return True
                continue
            size = int(line.partition(b";")[0], 16)
            self._trailer = size == 0
            self._left = size + 2 if size else 0
        self._rest = data[position:]
        return False

    def _piece(self, data: bytes, position: int) -> int:
        taken = data[position : position + self._left]
        # The last two bytes of a piece are its line end.
        content = max(0, self._left - 2)
        if content:
            self.parts.append(taken[:content])
        self._left -= len(taken)
        return position + len(taken)


class ChannelPool:
    """Connections to one server. Opened when they are needed, the last one used is used first."""

    def __init__(
        self, host: str, port: int, tls: ssl.SSLContext | None, server_name: str = "", most: int = MOST_CONNECTIONS
    ) -> None:
        self._host = host
        self._port = port
        self._tls = tls
        self._server_name = server_name
        self._most = most
        self._idle: list[Channel] = []
        self._open = 0
        self._queue: deque[asyncio.Future[Channel | None]] = deque()

    async def exchange(self, request: bytes, timeout: float, connect_timeout: float) -> Answer:
        """NotSent when there is no connection in time; other OSErrors and TimeoutError when the request may have arrived."""
        # Not the loop's clock, which may stand still while the loop does: nothing is written when the time is over.
        end = monotonic() + timeout
        channel = await self._acquire(min(timeout, connect_timeout))
        try:
            left = end - monotonic()
            if left <= 0:
                raise NotSent("no connection in time")
            return await channel.exchange(request, left)
        finally:
            self._release(channel)

    def close(self) -> None:
        """Of those in use, each when its request is done."""
        self._most = 0
        for channel in self._idle:
            channel.abandon()
        self._idle.clear()

    # -- inside ------------------------------------------------------------------------------------------------------

    async def _acquire(self, timeout: float) -> Channel:
        channel = self._take_idle()
        if channel is not None:
            return channel
        if self._open >= self._most > 0:
            channel = await self._wait_for_one(timeout)
            if channel is not None:
                return channel
        else:
            self._open += 1
        return await self._connect(timeout)

    async def _wait_for_one(self, timeout: float) -> Channel | None:
        """None: the caller may open a new one."""
        place: asyncio.Future[Channel | None] = asyncio.get_running_loop().create_future()
        self._queue.append(place)
        try:
            async with asyncio.timeout(timeout):
                return await place
        except (TimeoutError, asyncio.CancelledError) as ended:
            if place.done() and not place.cancelled():
                self._pass_on(place.result())
            if isinstance(ended, TimeoutError):
                raise NotSent("no connection became free in time") from None
            raise

    def _take_idle(self) -> Channel | None:
        oldest = asyncio.get_running_loop().time() - IDLE_SECONDS
        while self._idle:
            channel = self._idle.pop()
            if channel.is_open and channel.used >= oldest:
                return channel
            channel.close()
            self._open -= 1
        return None

    async def _connect(self, timeout: float) -> Channel:
        loop = asyncio.get_running_loop()
        name = self._server_name or (self._host if self._tls is not None else None)
        try:
            async with asyncio.timeout(timeout):
                _, channel = await loop.create_connection(
                    Channel, self._host, self._port, ssl=self._tls, server_hostname=name if self._tls else None
                )
        except TimeoutError:
            self._pass_on(None)
            raise NotSent("no connection in time") from None
        except OSError as cause:
            self._pass_on(None)
            raise NotSent(str(cause)) from cause
        except BaseException:
            self._pass_on(None)
            raise
        return channel

    def _release(self, channel: Channel) -> None:
        if not channel.is_open or self._most == 0:
            channel.abandon()
            self._pass_on(None)
            return
        channel.used = asyncio.get_running_loop().time()
        self._pass_on(channel)

    def _pass_on(self, channel: Channel | None) -> None:
        """To the first in the queue: a free channel, or the right to open one."""
        while self._queue:
            place = self._queue.popleft()
            if not place.done():
                place.set_result(channel)
                return
        if channel is None:
            self._open -= 1
        else:
            self._idle.append(channel)
