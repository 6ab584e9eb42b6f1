# SPDX-License-Identifier: Apache-2.0
"""Requests over HTTP/1.1: a pool of keep-alive connections to one server.

Input is a request as bytes, output an `HttpAnswer` (`answers`). A binding is a request of 300 bytes
and a response of 200; general HTTP clients spend more CPU on it than the scheduler spends on the
decision. A connection is handed over to `streams` for a streamed response.
"""

from __future__ import annotations

import asyncio
from collections import deque
from time import monotonic
from typing import Final, cast

from steersman.kube.http.answers import MAX_BODY_BYTES, AnswerParser, HttpAnswer, InvalidAnswer
from steersman.kube.http.connector import Connector, NotSent
from steersman.kube.http.read_pacing import ReadPacing
from steersman.kube.http.streams import StreamedAnswer

MAX_CONNECTIONS: Final = 32
"""Limit of open connections; more would only queue in the server and cost handshakes."""
MAX_HANDSHAKES: Final = 4
"""Limit of connections that are being opened. A handshake costs more than a request: in a burst,
most requests get a free connection before a new one would be ready."""
IDLE_SECONDS: Final = 60.0
"""Connections that were idle for longer are not used again: servers may be closing them."""


class Channel(asyncio.Protocol):
    """One connection, one request at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[HttpAnswer] | None = None
        self._parser = AnswerParser()
        self._failure: OSError = ConnectionResetError("the connection was closed")
        #: End of the last exchange, on the loop's clock.
        self.used = 0.0

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    async def exchange(self, request: bytes, timeout: float, longest_body: int = MAX_BODY_BYTES) -> HttpAnswer:
        """Send a request and return its response. After an OSError (connection broken) or
        TimeoutError the connection is closed.

        Raise `NotSent` if it was closed before the request could be written.
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

    def into_stream(self, read_pacing: ReadPacing | None = None) -> StreamedAnswer:
        """Turn the connection into a stream. Raise `NotSent` if the connection is closed."""
        if self._transport is None or self._transport.is_closing():
            raise NotSent(str(self._failure))
        transport, self._transport = self._transport, None
        return StreamedAnswer(transport, read_pacing)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def abandon(self) -> None:
        """Close without the closing handshake of TLS, which would delay the end of the program."""
        if self._transport is not None:
            self._transport.abort()

    # -- called by the event loop ------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not isinstance: uvloop's transports do not inherit from asyncio's classes.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        try:
            answer = self._parser.feed(data)
        except ValueError as wrong:
            self._fail(InvalidAnswer(str(wrong)))
            return
        if answer is not None:
            self._finish(answer)

    def eof_received(self) -> None:
        answer = self._parser.end()
        if answer is not None:
            self._finish(answer)

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(exc if isinstance(exc, OSError) else self._failure)

    # -- internals ---------------------------------------------------------------------------------------------------

    def _finish(self, answer: HttpAnswer) -> None:
        if self._waiting is None or self._waiting.done():
            self._fail(InvalidAnswer("an answer without a request"))
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
    """Connections to one server, opened on demand; the most recently used one is reused first."""

    def __init__(
        self,
        connector: Connector,
        most: int = MAX_CONNECTIONS,
        read_pacing: ReadPacing | None = None,
    ) -> None:
        """`most` limits the open connections; `read_pacing` is used by streams."""
        self._connector = connector
        self._most = most
        self._read_pacing = read_pacing
        self._idle: list[Channel] = []
        self._open = 0
        #: Number of connections among them that are being opened.
        self._opening = 0
        self._queue: deque[asyncio.Future[Channel | None]] = deque()
        #: Connections that were handed over to streams; not counted in `_open`.
        self._streams: set[StreamedAnswer] = set()

    async def exchange(
        self, request: bytes, timeout: float, connect_timeout: float, longest_body: int = MAX_BODY_BYTES
    ) -> HttpAnswer:
        """Send a request on a free connection. After errors but `NotSent` it may have arrived."""
        # Not the loop's clock, which stops while busy: never write after the deadline.
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
        """Send a request for a stream over a separate connection. The caller calls `end_stream`.

        Raise `NotSent` if there is no connection in time.
        """
        channel = await self._acquire(connect_timeout)
        try:
            stream = channel.into_stream(self._read_pacing)
        finally:
            self._pass_on(None)
        self._streams.add(stream)
        stream.send(request)
        return stream

    def end_stream(self, stream: StreamedAnswer) -> None:
        stream.close()
        self._streams.discard(stream)

    def close(self) -> None:
        """Close idle connections and streams now, and connections in use after their response."""
        self._most = 0
        for stream in self._streams:
            stream.close()
        self._streams.clear()
        for channel in self._idle:
            channel.abandon()
        self._idle.clear()

    # -- internals ---------------------------------------------------------------------------------------------------

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
        """Return whether another connection may be opened. A closed pool opens one per request."""
        return self._most == 0 or (self._open < self._most and self._opening < MAX_HANDSHAKES)

    async def _wait_for_one(self, timeout: float) -> Channel | None:
        """Wait for a free channel; None: the caller may open a new one."""
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
        self._opening += 1
        try:
            async with asyncio.timeout(timeout):
                return await self._connector.open(Channel)
        except BaseException as ended:
            self._open -= 1
            if isinstance(ended, TimeoutError):
                raise NotSent("no connection in time") from None
            raise
        finally:
            self._opening -= 1
            self._open_next_connection()

    def _open_next_connection(self) -> None:
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
        """Give the first waiter a free channel, or the right to open one."""
        while self._queue:
            place = self._queue.popleft()
            if not place.done():
                place.set_result(channel)
                return
        if channel is None:
            self._open -= 1
        else:
            self._idle.append(channel)
