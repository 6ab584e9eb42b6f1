# SPDX-License-Identifier: Apache-2.0
"""Opens connections to one server, directly or through an HTTP proxy.

A proxy passes bytes to a TLS server through a tunnel (CONNECT); requests for a server without TLS
are sent to the proxy itself, with the whole URL as their target (`client.HttpClient`).
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Callable
from typing import Final, TypeVar, cast

from steersman.kube.http.answers import AnswerParser, InvalidAnswer
from steersman.kube.http.url import Url

P = TypeVar("P", bound=asyncio.Protocol)

PROBE_SECONDS: Final = 30
UNANSWERED_SECONDS: Final = 45
"""The operating system closes a connection whose peer does not answer its probes for this long."""


class NotSent(OSError):
    """No connection was available: the server cannot have seen the request."""


class Connector:
    """Opens connections to one server. `tls` is for the server and for https proxies."""

    def __init__(
        self, url: Url, tls: ssl.SSLContext | None = None, server_name: str = "", proxy: Url | None = None
    ) -> None:
        """`server_name` is expected in the server's certificate instead of its host."""
        self._url = url
        self._tls = tls if url.is_tls else None
        self._proxy_tls = (tls or ssl.create_default_context()) if proxy is not None and proxy.is_tls else None
        self._server_name = server_name or url.host
        self._proxy = proxy

    async def open(self, protocol: Callable[[], P]) -> P:
        """Open a connection for a new protocol. Raise `NotSent` if that fails."""
        try:
            if self._proxy is None:
                return await _connect(protocol, self._url, self._tls, self._server_name)
            if self._tls is None:
                return await _connect(protocol, self._proxy, self._proxy_tls, self._proxy.host)
            return await self._open_tunnel(protocol, self._proxy, self._tls)
        except (OSError, ValueError) as failure:  # a ValueError is about an impossible host name
            raise NotSent(str(failure)) from failure

    async def _open_tunnel(self, protocol: Callable[[], P], proxy: Url, tls: ssl.SSLContext) -> P:
        tunnel = await _connect(lambda: _Tunnel(self._url, proxy), proxy, self._proxy_tls, proxy.host)
        inner, made = tunnel.transport, protocol()
        try:
            await tunnel.established
            outer = await asyncio.get_running_loop().start_tls(inner, made, tls, server_hostname=self._server_name)
        except BaseException:
            inner.abort()
            raise
        assert outer is not None, "start_tls returns a transport unless it raises"
        made.connection_made(outer)
        return made


async def _connect(protocol: Callable[[], P], url: Url, tls: ssl.SSLContext | None, name: str) -> P:
    transport, made = await asyncio.get_running_loop().create_connection(
        protocol, url.host, url.port, ssl=tls, server_hostname=name if tls is not None else None
    )
    channel = transport.get_extra_info("socket")
    if channel is not None:  # otherwise the connection is closed already
        _probe_when_silent(channel.fileno())
    return made


def _probe_when_silent(descriptor: int) -> None:
    """Enable TCP keep-alive: detect the vanished peer of a silent stream within a minute."""
    options = {
        "TCP_KEEPIDLE": PROBE_SECONDS,
        "TCP_KEEPINTVL": UNANSWERED_SECONDS - PROBE_SECONDS,
        "TCP_USER_TIMEOUT": UNANSWERED_SECONDS * 1000,
    }
    # Some event loops' sockets do not allow options; a copy of the descriptor does.
    with socket.socket(fileno=os.dup(descriptor)) as copy:
        copy.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in options.items():
            if hasattr(socket, name):
                copy.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


class _Tunnel(asyncio.Protocol):
    """A CONNECT request and its response, on a connection that then belongs to TLS."""

    transport: asyncio.Transport

    def __init__(self, server: Url, proxy: Url) -> None:
        self._parser = AnswerParser()
        lines = [f"CONNECT {server.address} HTTP/1.1", f"Host: {server.address}"]
        if proxy.user:
            lines.append(f"Proxy-Authorization: {proxy.basic_credentials}")
        self._request = "\r\n".join((*lines, "", "")).encode()
        #: Done when the proxy has granted the request.
        self.established: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not isinstance: uvloop's transports do not inherit from asyncio's classes.
        self.transport = cast(asyncio.Transport, transport)
        self.transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        if self.established.done():
            return
        try:
            answer = self._parser.feed(data)
        except ValueError as wrong:
            self.established.set_exception(InvalidAnswer(f"the proxy: {wrong}"))
            return
        status = self._parser.status if answer is None else answer.status
        if 200 <= status < 300:
            self.established.set_result(None)
        elif status:
            self.established.set_exception(OSError(f"the proxy answers CONNECT with status {status}"))

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.established.done():
            self.established.set_exception(ConnectionResetError("the proxy closed the connection"))
