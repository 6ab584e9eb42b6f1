# SPDX-License-Identifier: Apache-2.0
"""Writes to one server over HTTP/2: `transport` asks, an `Http2Connection` carries them.

Reads stay on HTTP/1.1 (`keep_alive`, `streams`): a list or a watch fills a connection by itself, and has nothing to share.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from time import monotonic

from steersman.client.http2 import Http2Answer, Http2Connection, OnAnswer
from steersman.client.keep_alive import IDLE_SECONDS, NotSent, probe_when_silent
from steersman.client.read_pacing import ReadPacing


class Http2NotSpoken(NotSent):
    """The server has chosen HTTP/1.1."""


class Http2Requests:
    """Requests to one server: over one connection, opened when it is needed, and anew when that has ended."""

    def __init__(
        self,
        host: str,
        port: int,
        tls: ssl.SSLContext | None,
        server_name: str = "",
        read_pacing: ReadPacing | None = None,
    ) -> None:
        """`tls` offers `ALPN`."""
        self._host = host
        self._port = port
        self._tls = tls
        self._server_name = server_name
        self._read_pacing = read_pacing
        self._connection: Http2Connection | None = None
        #: Retired ones, whose last answers are under way, too.
        self._connections: set[Http2Connection] = set()
        self._is_connecting = False
        self._queue: deque[asyncio.Future[None]] = deque()

    async def exchange(self, block: bytes, body: bytes | None, timeout: float, connect_timeout: float) -> Http2Answer:
        """NotSent when there is no connection in time, `Http2NotSpoken` when the server speaks another language; other
        OSErrors and TimeoutError when the request may have arrived."""
        end, size = monotonic() + timeout, len(body or b"")
        connection = self._connection
        if connection is None or self._queue or not connection.has_room(size) or _is_stale(connection):
            connection = await self._with_room(size, min(timeout, connect_timeout))
        if end <= monotonic():
            raise NotSent("no connection in time")
        return await connection.exchange(block, body, end)

    def begin(self, block: bytes, body: bytes, timeout: float, on_end: OnAnswer) -> bool:
        """`exchange` for one who does not wait; False: there is no connection with room, and nothing was sent."""
        connection = self._connection
        if connection is None or self._queue or not connection.has_room(len(body)) or _is_stale(connection):
            return False
        connection.begin(block, body, monotonic() + timeout, on_end)
        return True

    def close(self) -> None:
        """Closes all connections; those in use when their requests are done."""
        for connection in self._connections:
            connection.close()
        self._connection = None

    # -- inside ------------------------------------------------------------------------------------------------------

    async def _with_room(self, size: int, timeout: float) -> Http2Connection:
        try:
            async with asyncio.timeout(timeout):
                while True:
                    connection = self._connection
                    if connection is not None and (not connection.is_open or _is_stale(connection)):
                        connection.close()
                        connection = self._connection = None
                    if connection is not None and connection.has_room(size):
                        self._wake_next()
                        return connection
                    if connection is None and not self._is_connecting:
                        await self._connect()
                    else:
                        await self._wait()
        except TimeoutError:
            raise NotSent("no connection in time") from None

    async def _wait(self) -> None:
        """Waits until something may have changed. Whoever is woken for nothing, or has no time any more, wakes the next."""
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self._wake_next()
            raise

    def _wake_next(self) -> None:
        while self._queue:
            place = self._queue.popleft()
            if not place.done():
                place.set_result(None)
                return

    async def _connect(self) -> None:
        self._is_connecting = True
        try:
            connection = await self._opened()
        finally:
            self._is_connecting = False
            self._wake_next()
        if not connection.speaks_http2:
            raise Http2NotSpoken("the server speaks HTTP/1.1")
        self._connections = {known for known in self._connections if known.is_open} | {connection}
        self._connection = connection

    async def _opened(self) -> Http2Connection:
        name = self._server_name or self._host
        try:
            transport, connection = await asyncio.get_running_loop().create_connection(
                lambda: Http2Connection(self._wake_next, self._read_pacing),
                self._host,
                self._port,
                ssl=self._tls,
                server_hostname=name if self._tls else None,
            )
        except (OSError, ValueError) as failure:  # a ValueError is about names that no server can have
            raise NotSent(str(failure)) from failure
        if connection.speaks_http2:
            probe_when_silent(transport.get_extra_info("socket").fileno())
        return connection


def _is_stale(connection: Http2Connection) -> bool:
    """Whether it has been idle for so long that the server may close it at any moment."""
    return connection.is_idle and connection.used < monotonic() - IDLE_SECONDS
