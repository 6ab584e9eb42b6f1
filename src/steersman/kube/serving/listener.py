# SPDX-License-Identifier: Apache-2.0
"""Listening sockets: accepts connections and runs their TLS handshakes concurrently; failures do
not end it.

Used by `server`. `connections` limits the connections.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Sequence
from typing import Final

import msgspec

from steersman.kube.serving.connections import ConnectionTable, GuardedConnection

logger = logging.getLogger(__name__)

DEFAULT_PORT: Final = 10259
BACKLOG: Final = 512
PAUSE_SECONDS: Final = 0.1
TLS_CLOSE_SECONDS: Final = 5.0
"""Timeout of the closing handshake of TLS."""
_NO_ROOM: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Listen(msgspec.Struct, frozen=True):
    """The address to listen on, and the certificate."""

    #: --bind-address
    address: str = "0.0.0.0"
    #: --secure-port; 0 takes any free one.
    port: int = DEFAULT_PORT
    #: None for plain HTTP, for a proxy in the same pod.
    tls: ssl.SSLContext | None = None
    #: --permit-port-sharing, --permit-address-sharing; None for the system default.
    share_port: bool | None = None
    share_address: bool | None = None


class Listener:
    """Accepts connections until `run` is cancelled."""

    def __init__(self, listen: Listen, table: ConnectionTable, sockets: Sequence[socket.socket] = ()) -> None:
        """Listen on the address, or use bound `sockets`. Raise OSError on failure."""
        self._listen = listen
        self._table = table
        self._sockets = sockets or bound_sockets(listen)
        self._complaint = ""

    @property
    def port(self) -> int:
        port: int = self._sockets[0].getsockname()[1]
        return port

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for listening in self._sockets:
                group.create_task(self._accept(listening, group), name="accept connections")

    def close(self) -> None:
        for listening in self._sockets:
            listening.close()

    # -- internals ---------------------------------------------------------------------------------------------------

    async def _accept(self, listening: socket.socket, group: asyncio.TaskGroup) -> None:
        while True:
            try:
                await self._accept_one(listening, group)
            except OSError as failure:
                await self._survive(failure)
            except Exception:
                logger.exception("a connection cannot be accepted")
                await asyncio.sleep(PAUSE_SECONDS)

    async def _accept_one(self, listening: socket.socket, group: asyncio.TaskGroup) -> None:
        channel, address = await asyncio.get_running_loop().sock_accept(listening)
        self._complaint = ""
        guarded = self._table.admit(channel, str(address[0]))
        if guarded is None:
            channel.close()
        else:
            group.create_task(self._tls_handshake(channel, guarded))

    async def _tls_handshake(self, channel: socket.socket, guarded: GuardedConnection) -> None:
        """Run the TLS handshake; failures of clients are ignored."""
        loop, tls = asyncio.get_running_loop(), self._listen.tls
        limit, farewell = (None, None) if tls is None else (self._table.limits.handshake, TLS_CLOSE_SECONDS)
        try:
            await loop.connect_accepted_socket(
                lambda: guarded, channel, ssl=tls, ssl_handshake_timeout=limit, ssl_shutdown_timeout=farewell
            )
        except (OSError, asyncio.CancelledError) as failure:
            guarded.forget()
            channel.close()
            if isinstance(failure, asyncio.CancelledError):
                raise
        except Exception:
            guarded.forget()
            channel.close()
            logger.exception("a connection from %s cannot be established", guarded.peer)

    async def _survive(self, failure: OSError) -> None:
        """Log a failure once. Without free file descriptors, abort an idle connection."""
        if failure.errno in _NO_ROOM:
            self._table.cut_oldest()
        if str(failure) != self._complaint:
            self._complaint = str(failure)
            logger.warning("cannot accept connections: %s", failure)
        await asyncio.sleep(PAUSE_SECONDS)


def bound_sockets(listen: Listen) -> Sequence[socket.socket]:
    """Return listening sockets, one for each address of the name."""
    found = socket.getaddrinfo(listen.address or None, listen.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    sockets: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in dict.fromkeys(found):
            sockets.append(socket.socket(family, kind, protocol))
            _bind(sockets[-1], listen, address)
    except BaseException:
        for opened in sockets:
            opened.close()
        raise
    return sockets


def _bind(listening: socket.socket, listen: Listen, address: tuple[object, ...]) -> None:
    if listen.share_address is not False:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if listen.share_port:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    if listening.family == socket.AF_INET6:
        listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    try:
        listening.bind(address)
    except OSError as cause:
        message = f"cannot listen on {address[0]} port {address[1]}: {(cause.strerror or str(cause)).lower()}"
        raise OSError(cause.errno, message) from None
    listening.listen(BACKLOG)
    listening.setblocking(False)
