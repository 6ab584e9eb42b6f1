# SPDX-License-Identifier: Apache-2.0
"""Requests and streams through an HTTP proxy, over aiohttp. Used by `transport` for servers that have one in front.

A module of its own because of what it imports: aiohttp takes a third of the time that a start needs for imports.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import aiohttp
from yarl import URL

from steersman.client.auth.credentials import Headers
from steersman.client.connection import Connection
from steersman.client.errors import ConnectionFailed
from steersman.client.foreign_input import UNCOMPRESSED, error_from_status, read_body, read_start
from steersman.client.keep_alive import probe_when_silent
from steersman.client.transport import (
    CONNECT_SECONDS,
    FIRST_FAILURE,
    JSON,
    LONGEST_REFUSAL,
    REQUEST_SECONDS,
    Call,
    Query,
    Response,
)
from steersman.redaction import hide_passwords

BUFFER_BYTES = 1 << 20


class ProxiedSession:
    """Connections through the proxy of a `Connection`, all of which show one certificate."""

    def __init__(self, connection: Connection, tls: bool | ssl.SSLContext, user_agent: str, idle: float) -> None:
        self._connection = connection
        self._base = URL(connection.server.rstrip("/"))
        self._idle = idle
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=tls),
            headers={"User-Agent": user_agent, "Accept": JSON, **UNCOMPRESSED},
            auto_decompress=False,
            read_bufsize=BUFFER_BYTES,
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def request(self, call: Call, headers: Headers) -> Response:
        """ApiError or ConnectionFailed, as of `Transport.request`."""
        async with self._answer(call, headers) as response:
            body = await read_body(response, call.longest_body)
            return Response(response.status, body, response.headers.get("Date", ""))

    async def pieces(self, call: Call, headers: Headers) -> AsyncGenerator[bytes, None]:
        """The body of an answer that goes on, as it comes."""
        async with self._answer(call, headers) as response:
            _probe_when_silent(response)
            async for piece in response.content.iter_any():
                yield piece

    async def close(self) -> None:
        await self._session.close()

    @asynccontextmanager
    async def _answer(self, call: Call, headers: Headers) -> AsyncGenerator[aiohttp.ClientResponse, None]:
        sent = list(headers)
        if call.body is not None:
            sent.append(("Content-Type", call.content_type))
        try:
            async with self._session.request(
                call.method,
                self._url(call.path, call.query),
                data=call.body,
                headers=sent,
                timeout=self._limits(call),
                proxy=self._connection.proxy,
                server_hostname=self._connection.tls.server_name or None,
                allow_redirects=False,
            ) as response:
                await _require_success(response)
                yield response
        except TimeoutError as cause:
            raise ConnectionFailed(f"{call}: no answer in time", may_have_arrived=True) from cause
        except (aiohttp.ClientError, OSError, ValueError) as cause:
            arrived = not isinstance(cause, aiohttp.ClientConnectorError)
            raise ConnectionFailed(f"{call}: {hide_passwords(str(cause))}", may_have_arrived=arrived) from cause

    def _limits(self, call: Call) -> aiohttp.ClientTimeout:
        if call.end is None:
            return aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=self._idle)
        return aiohttp.ClientTimeout(total=call.seconds_left(), sock_connect=CONNECT_SECONDS)

    def _url(self, path: str, query: Query) -> URL:
        return self._base.joinpath(path.lstrip("/"), encoded=True).with_query(dict(query))


async def _require_success(response: aiohttp.ClientResponse) -> None:
    if response.status >= FIRST_FAILURE:
        retry_after = response.headers.get("Retry-After")
        async with asyncio.timeout(REQUEST_SECONDS):
            body = await read_start(response, LONGEST_REFUSAL)
        raise error_from_status(body, code=response.status, retry_after=retry_after)


def _probe_when_silent(response: aiohttp.ClientResponse) -> None:
    connection = response.connection
    channel = connection.transport.get_extra_info("socket") if connection and connection.transport else None
    if channel is not None:
        probe_when_silent(channel.fileno())
