# SPDX-License-Identifier: Apache-2.0
"""Connections to a server, with limits for the time and the memory that each client may take.

    accepted ─► handshake ─► head of a request ─► answer ─► head of the next ─► …
                  10 s            10 s               120 s      90 s until it begins

`GuardedConnection` stands between a socket and its `HttpConnection`: it passes complete heads, one
at a time, and aborts clients that take too long. `ConnectionTable` limits the number of
connections, in all and per address. If there are too many, the one that has waited for its client
the longest is aborted, so that a probe always gets through.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Callable
from enum import Enum, auto
from socket import SHUT_RDWR, socket
from typing import Final, cast

import msgspec

from steersman.kube.serving.http_connection import HttpConnection

_HEAD_END: Final = b"\r\n\r\n"
_TOO_LONG: Final = b"HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class ConnectionLimits(msgspec.Struct, frozen=True):
    """Limits of connections: times in seconds, sizes in bytes, numbers."""

    handshake: float = 10.0
    #: Between handshake, or first byte of a further request, and the end of the head.
    head: float = 10.0
    #: Between two requests, as in Kubernetes' servers.
    idle: float = 90.0
    #: From the end of a head to the last byte of its answer.
    answer: float = 120.0
    head_bytes: int = 32 * 1024
    connections: int = 256
    connections_of_one_address: int = 64


class Phase(Enum):
    """Phase of a connection: the event that it waits for."""

    HANDSHAKE = auto()
    HEAD = auto()
    IDLE = auto()
    ANSWER = auto()


class GuardedConnection(asyncio.Protocol):
    """A connection. `http` gets a complete request head, then data until its body is complete."""

    def __init__(self, table: ConnectionTable, peer: str, channel: socket, http: HttpConnection) -> None:
        self._table = table
        self.peer = peer
        self._channel = channel
        self.http = http
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._is_paused = False
        #: Whether the write buffer is full because the client does not read.
        self._is_deaf = False
        self._timer: asyncio.TimerHandle | None = None
        self.phase = Phase.HANDSHAKE

    @property
    def waits_for_client(self) -> bool:
        """Whether the connection waits for its client, so that aborting it interrupts no answer."""
        if self.phase is not Phase.ANSWER or self._is_deaf or self.http.awaits_body:
            return True
        return self._transport is not None and self._transport.is_closing()

    def begin(self) -> None:
        self._enter(Phase.HANDSHAKE)

    def abort(self) -> None:
        """Close the connection immediately, without the closing handshake of TLS."""
        if self._transport is not None:
            self._transport.abort()
            return
        try:
            self._channel.shutdown(SHUT_RDWR)
        except OSError:
            return  # the peer has disconnected already

    def lift_time_limit(self) -> None:
        """Lift the time limit for a stream, whose writer aborts clients that do not read."""
        if self._timer is not None:
            self._timer.cancel()

    def answered(self) -> None:
        """Wait for the next request: the answer has been written."""
        if self._transport is None or self._transport.is_closing() or self not in self._table:
            return
        self._enter(Phase.HEAD if self._buffer else Phase.IDLE)
        if self._is_paused:
            self._is_paused = False
            self._transport.resume_reading()
        self._take_head()

    def forget(self) -> None:
        """Remove the connection, which has ended."""
        if self._timer is not None:
            self._timer.cancel()
        self._table.remove(self)

    # -- called by the event loop ------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not isinstance: uvloop's transports do not inherit from asyncio's classes.
        self._transport = cast(asyncio.Transport, transport)
        if self not in self._table:
            self.abort()  # it was dropped from the table during the handshake
            return
        self._enter(Phase.HEAD)
        self.http.connection_made(self._transport)

    def data_received(self, data: bytes) -> None:
        if self not in self._table:
            return
        self._buffer += self.http.body_received(data) if self.phase is Phase.ANSWER else data
        if self.phase is Phase.IDLE:
            self._enter(Phase.HEAD)
        if self.phase is Phase.HEAD:
            self._take_head()
        elif len(self._buffer) > self._table.limits.head_bytes and self._transport is not None and not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self.forget()
        self.http.connection_lost()

    def pause_writing(self) -> None:
        self._is_deaf = True
        self.http.pause_writing()

    def resume_writing(self) -> None:
        self._is_deaf = False
        self.http.resume_writing()

    # -- internals ---------------------------------------------------------------------------------------------------

    def _take_head(self) -> None:
        end = self._buffer.find(_HEAD_END, 0, self._table.limits.head_bytes)
        if end >= 0:
            head = bytes(self._buffer[: end + len(_HEAD_END)])
            del self._buffer[: len(head)]
            self._enter(Phase.ANSWER)
            self.http.head_received(head, self.peer)
            if self._buffer:
                self._buffer[:] = self.http.body_received(bytes(self._buffer))
        elif len(self._buffer) >= self._table.limits.head_bytes:
            self._refuse()

    def _refuse(self) -> None:
        if self._transport is not None:
            self._transport.write(_TOO_LONG)
            self._transport.close()
            self._enter(Phase.ANSWER)

    def _enter(self, phase: Phase) -> None:
        self.phase = phase
        self._table.moved(self)
        if self._timer is not None:
            self._timer.cancel()
        seconds = self._table.seconds_for(phase)
        self._timer = asyncio.get_running_loop().call_later(seconds, self.abort)


class ConnectionTable:
    """All connections of a server."""

    def __init__(self, limits: ConnectionLimits, connect: Callable[[], HttpConnection]) -> None:
        self.limits = limits
        self._connect = connect
        self._seconds = {
            Phase.HANDSHAKE: limits.handshake,
            Phase.HEAD: limits.head,
            Phase.IDLE: limits.idle,
            Phase.ANSWER: limits.answer,
        }
        #: Connection → its guard, ordered by the last change of phase, oldest first.
        self._guarded: OrderedDict[HttpConnection, GuardedConnection] = OrderedDict()
        self._of_address: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._guarded)

    @property
    def busy(self) -> int:
        """Number of connections that are being answered."""
        return sum(not guarded.waits_for_client for guarded in self._guarded.values())

    def __contains__(self, guarded: GuardedConnection) -> bool:
        return guarded.http in self._guarded

    def admit(self, channel: socket, peer: str) -> GuardedConnection | None:
        """Return the guard of a new connection; None if there are too many, all being answered."""
        if self._of_address[peer] >= self.limits.connections_of_one_address and not self.cut_oldest(peer):
            return None
        if len(self._guarded) >= self.limits.connections and not self.cut_oldest():
            return None
        guarded = GuardedConnection(self, peer, channel, self._connect())
        self._guarded[guarded.http] = guarded
        self._of_address[peer] += 1
        guarded.begin()
        return guarded

    def cut_oldest(self, peer: str | None = None) -> bool:
        """Abort the connection, of `peer` or any, that waits longest for its client."""
        connections = (guarded for guarded in self._guarded.values() if peer in (None, guarded.peer))
        found = next((guarded for guarded in connections if guarded.waits_for_client), None)
        if found is None:
            return False
        found.abort()
        # Its slot is free immediately; `connection_lost` is called later.
        found.forget()
        return True

    def answered(self, connection: HttpConnection) -> None:
        """Wait for the next request on a connection whose answer has been written."""
        guarded = self._guarded.get(connection)
        if guarded is not None:
            guarded.answered()

    def lift_time_limit(self, connection: HttpConnection) -> None:
        """Lift the time limit of a connection whose answer is a stream."""
        guarded = self._guarded.get(connection)
        if guarded is not None:
            guarded.lift_time_limit()

    async def finish(self, seconds: float) -> None:
        """Close idle connections and wait for answers under way, at most `seconds`."""
        under_way = [guarded.http for guarded in self._guarded.values() if guarded.http.is_answering]
        for guarded in self._guarded.values():
            if not guarded.http.is_answering:
                guarded.http.close()
        if under_way:
            await asyncio.wait([asyncio.ensure_future(http.finished()) for http in under_way], timeout=seconds)

    def cut_streams(self) -> None:
        """Abort the connections whose answer has no end."""
        for guarded in list(self._guarded.values()):
            if guarded.http.is_streaming:
                guarded.abort()

    def cut_all(self) -> None:
        for guarded in list(self._guarded.values()):
            guarded.abort()

    # -- for guarded connections -------------------------------------------------------------------------------------

    def seconds_for(self, phase: Phase) -> float:
        return self._seconds[phase]

    def moved(self, guarded: GuardedConnection) -> None:
        self._guarded.move_to_end(guarded.http)

    def remove(self, guarded: GuardedConnection) -> None:
        if self._guarded.pop(guarded.http, None) is not None:
            self._of_address[guarded.peer] -= 1
            if not self._of_address[guarded.peer]:
                del self._of_address[guarded.peer]
