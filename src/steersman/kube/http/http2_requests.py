# SPDX-License-Identifier: Apache-2.0
"""Requests to one server over HTTP/2: opens and replaces the `Http2Connection` that they share.

For small writes. Reads use HTTP/1.1 (`http1`, `streams`), as a list or watch fills a connection.
"""

from __future__ import annotations

import asyncio
from collections import deque
from time import monotonic

from steersman.kube.http.connector import Connector, NotSent
from steersman.kube.http.http1 import IDLE_SECONDS
from steersman.kube.http.http2 import Http2Answer, Http2Connection, OnAnswer
from steersman.kube.http.read_pacing import ReadPacing


class Http2NotSpoken(NotSent):
    """The server has chosen HTTP/1.1."""


class Http2Requests:
    """Requests to one server over one connection, opened and replaced on demand."""

    def __init__(
        self,
        connector: Connector,
        read_pacing: ReadPacing | None = None,
    ) -> None:
        """The TLS context of the connector offers `ALPN`."""
        self._connector = connector
        self._read_pacing = read_pacing
        self._connection: Http2Connection | None = None
        #: All connections, including retired ones that wait for responses.
        self._connections: set[Http2Connection] = set()
        self._is_connecting = False
        self._queue: deque[asyncio.Future[None]] = deque()

    async def exchange(self, block: bytes, body: bytes | None, timeout: float, connect_timeout: float) -> Http2Answer:
        """Send a request and return its response. Raise `NotSent` without a connection in time, and
        `Http2NotSpoken` if the server chose HTTP/1.1. After other OSErrors and TimeoutError the
        request may have arrived."""
        end, size = monotonic() + timeout, len(body or b"")
        connection = self._connection
        if connection is None or self._queue or not connection.has_room(size) or _is_stale(connection):
            connection = await self._with_room(size, min(timeout, connect_timeout))
        if end <= monotonic():
            raise NotSent("no connection in time")
        return await connection.exchange(block, body, end)

    def begin(self, block: bytes, body: bytes, timeout: float, on_end: OnAnswer) -> bool:
        """Send a request without waiting; return False if no connection has room."""
        connection = self._connection
        if connection is None or self._queue or not connection.has_room(len(body)) or _is_stale(connection):
            return False
        connection.begin(block, body, monotonic() + timeout, on_end)
        return True

    def close(self) -> None:
        """Close all connections; those in use after their responses."""
        for connection in self._connections:
            connection.close()
        self._connection = None

    # -- internals ---------------------------------------------------------------------------------------------------

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
        """Wait for a connection or room. A waiter cancelled after its wake-up wakes the next."""
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
            connection = await self._connector.open(lambda: Http2Connection(self._wake_next, self._read_pacing))
        finally:
            self._is_connecting = False
            self._wake_next()
        if not connection.speaks_http2:
            raise Http2NotSpoken("the server speaks HTTP/1.1")
        self._connections = {known for known in self._connections if known.is_open} | {connection}
        self._connection = connection


def _is_stale(connection: Http2Connection) -> bool:
    """Return whether the connection was idle for so long that the server may be closing it."""
    return connection.is_idle and connection.used < monotonic() - IDLE_SECONDS
