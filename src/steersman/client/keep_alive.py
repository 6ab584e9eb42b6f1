# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 with as little in between as possible: requests with small bodies, answered as a whole, on kept connections.

Used by `transport` for everything but proxies. A binding is a request of some 300 bytes and an answer of 200; a general HTTP
client spends more on it than the scheduler does on the decision. In goes the head of a request as bytes, out comes an
`HttpAnswer` (`http_answers`); what it means is the transport's business. A connection may be handed over to an answer that goes
on (`streams`).
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections import deque
from time import monotonic
from typing import Final, cast

from steersman.client.http_answers import LONGEST_BODY, AnswerParser, BadAnswer, HttpAnswer
from steersman.client.read_pacing import ReadPacing
from steersman.client.streams import StreamedAnswer

MOST_CONNECTIONS: Final = 32
"""More requests at once only wait for each other in the server, and every connection costs it a handshake."""
MOST_HANDSHAKES: Final = 4
"""Connections that are opened at once. A handshake costs either end more than a request does: in a burst, most requests get a
connection that became free before a new one would have been there."""
IDLE_SECONDS: Final = 60.0
"""Servers close idle connections, at the earliest after this long; a request must not meet that moment."""

PROBE_SECONDS: Final = 30
UNANSWERED_SECONDS: Final = 45
"""The operating system gives a connection up whose other end is silent for so long on its probes."""


class NotSent(OSError):
    """There was no connection: the server cannot have seen the request."""


class Channel(asyncio.Protocol):
    """One connection, one request at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[HttpAnswer] | None = None
        self._parser = AnswerParser()
        self._failure: OSError = ConnectionResetError("the connection was closed")
        #: When it was last of use, on the loop's clock.
        self.used = 0.0

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    async def exchange(self, request: bytes, timeout: float, longest_body: int = LONGEST_BODY) -> HttpAnswer:
        """OSError when the connection breaks, TimeoutError when there is no answer in time; it is closed then.

        NotSent when it broke between being handed over and this: nobody would tell of that any more.
        """
        if self._transport is None or self._transport.is_closing():
            raise NotSent(str(self._failure))
        assert self._waiting is None, "one request at a time"
        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[HttpAnswer] = loop.create_future()
        self._waiting = waiting
        self._parser.longest_body = longest_body
        timer = loop.call_later(timeout, self._time_out)
        self._transport.write(request)
        try:
            return await waiting
        finally:
            timer.cancel()
            self._waiting = None
            if waiting.cancelled():
                self.abandon()

    def handed_over(self, read_pacing: ReadPacing | None = None) -> StreamedAnswer:
        """The connection as one of a stream; this channel is done with it. NotSent when it broke."""
        if self._transport is None or self._transport.is_closing():
            raise NotSent(str(self._failure))
        transport, self._transport = self._transport, None
        probe_when_silent(transport.get_extra_info("socket").fileno())
        return StreamedAnswer(transport, read_pacing)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def abandon(self) -> None:
        """Closes without a farewell, which over TLS would be waited for when all else has ended: nobody wants an answer."""
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

    def _finish(self, answer: HttpAnswer) -> None:
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


class ChannelPool:
    """Connections to one server. Opened when they are needed, the last one used is used first."""

    def __init__(
        self,
        host: str,
        port: int,
        tls: ssl.SSLContext | None,
        server_name: str = "",
        most: int = MOST_CONNECTIONS,
        read_pacing: ReadPacing | None = None,
    ) -> None:
        """`read_pacing` is for streams."""
        self._host = host
        self._port = port
        self._tls = tls
        self._server_name = server_name
        self._most = most
        self._read_pacing = read_pacing
        self._idle: list[Channel] = []
        self._open = 0
        #: How many of those are being opened.
        self._opening = 0
        self._queue: deque[asyncio.Future[Channel | None]] = deque()
        #: Connections that were handed over; they do not count in `_open`.
        self._streams: set[StreamedAnswer] = set()

    async def exchange(
        self, request: bytes, timeout: float, connect_timeout: float, longest_body: int = LONGEST_BODY
    ) -> HttpAnswer:
        """NotSent when there is no connection in time; other OSErrors and TimeoutError when the request may have arrived."""
        # Not the loop's clock, which may stand still while the loop does: nothing is written when the time is over.
        end = monotonic() + timeout
        channel = await self._acquire(min(timeout, connect_timeout))
        try:
            left = end - monotonic()
            if left <= 0:
                raise NotSent("no connection in time")
            return await channel.exchange(request, left, longest_body)
        finally:
            self._release(channel)

    async def begin_stream(self, request: bytes, connect_timeout: float) -> StreamedAnswer:
        """Sends a request whose answer goes on, over a connection of its own; to be given back by `end_stream`.

        NotSent when there is no connection in time.
        """
        channel = await self._acquire(connect_timeout)
        try:
            stream = channel.handed_over(self._read_pacing)
        finally:
            self._pass_on(None)
        self._streams.add(stream)
        stream.send(request)
        return stream

    def end_stream(self, stream: StreamedAnswer) -> None:
        stream.close()
        self._streams.discard(stream)

    def close(self) -> None:
        """Closes all connections; of those in use, each when its request is done. Streams are cut."""
        self._most = 0
        for stream in self._streams:
            stream.close()
        self._streams.clear()
        for channel in self._idle:
            channel.abandon()
        self._idle.clear()

    # -- inside ------------------------------------------------------------------------------------------------------

    async def _acquire(self, timeout: float) -> Channel:
        channel = self._take_idle()
        if channel is not None:
            return channel
        if self._may_open():
            self._open += 1
        else:
            channel = await self._wait_for_one(timeout)
            if channel is not None:
                return channel
        return await self._connect(timeout)

    def _may_open(self) -> bool:
        """Whether another connection may be opened now. A closed pool opens one for each that asks."""
        return self._most == 0 or (self._open < self._most and self._opening < MOST_HANDSHAKES)

    async def _wait_for_one(self, timeout: float) -> Channel | None:
        """A channel that became free; None: the caller may open a new one."""
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
        self._opening += 1
        try:
            async with asyncio.timeout(timeout):
                _, channel = await loop.create_connection(
                    Channel, self._host, self._port, ssl=self._tls, server_hostname=name if self._tls else None
                )
        except BaseException as ended:
            self._open -= 1
            if isinstance(ended, TimeoutError):
                raise NotSent("no connection in time") from None
            if isinstance(ended, OSError | ValueError):  # a ValueError is about names that no server can have
                raise NotSent(str(ended)) from ended
            raise
        finally:
            self._opening -= 1
            self._let_another_open()
        return channel

    def _let_another_open(self) -> None:
        if self._queue and self._may_open():
            self._open += 1
            self._pass_on(None)

    def _release(self, channel: Channel) -> None:
        if not channel.is_open or self._most == 0:
            channel.abandon()
            self._pass_on(None)
            return
        channel.used = asyncio.get_running_loop().time()
        self._pass_on(channel)

    def _pass_on(self, channel: Channel | None) -> None:
        """Gives the first in the queue a free channel, or the right to open one."""
        while self._queue:
            place = self._queue.popleft()
            if not place.done():
                place.set_result(channel)
                return
        if channel is None:
            self._open -= 1
        else:
            self._idle.append(channel)


def probe_when_silent(descriptor: int) -> None:
    """Lets the operating system notice within a minute that the other end of a connection has vanished without a word. For
    streams, whose silence says nothing."""
    options = {
        "TCP_KEEPIDLE": PROBE_SECONDS,
        "TCP_KEEPINTVL": UNANSWERED_SECONDS - PROBE_SECONDS,
        "TCP_USER_TIMEOUT": UNANSWERED_SECONDS * 1000,
    }
    # Not every event loop lets one set options on the socket that it shows; a copy of the descriptor always does.
    with socket.socket(fileno=os.dup(descriptor)) as copy:
        copy.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in options.items():
            if hasattr(socket, name):
                copy.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
