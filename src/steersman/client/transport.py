# SPDX-License-Identifier: Apache-2.0
"""Requests and streams over HTTP: the one seam between everything that speaks to an API server and the network.

In come method, path and body, out come answers, or `ApiError` and `ConnectionFailed`. `pacing` and `fence` wrap a transport,
`list_watch`, `dispatcher` and `lease` use one; none of them knows aiohttp. Whatever the server sends is bounded: the head and
the body of an answer (`http_answers`, `foreign_input`), a line of a stream (`foreign_input`).
"""

from __future__ import annotations

import asyncio
import math
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import monotonic
from types import MappingProxyType
from typing import Final, Protocol
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from steersman.client import paths
from steersman.client.auth.credentials import HOLDS_CONTROL, ClientCertificate, Credential, Headers, is_header_value
from steersman.client.connection import Connection, tls_context
from steersman.client.errors import ApiError, ClientError, ConnectionFailed
from steersman.client.foreign_input import UNCOMPRESSED, LineAssembler, error_from_status, read_body, read_start
from steersman.client.http_answers import LONGEST_BODY, LONGEST_LIST
from steersman.client.keep_alive import ChannelPool, NotSent, probe_when_silent
from steersman.errors import InputError, SteersmanError
from steersman.redaction import hide_passwords

Query = Mapping[str, str]
NO_QUERY: Final[Query] = MappingProxyType({})

JSON: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH: Final = "application/strategic-merge-patch+json"

CONNECT_SECONDS: Final = 30.0
REQUEST_SECONDS: Final = 60.0
IDLE_SECONDS: Final = 150.0
"""A stream that is silent for so long has been lost: bookmarks come every minute."""
BUFFER_BYTES: Final = 1 << 20
TOO_LATE: Final = "its time was over before it could be sent"
CUT_MID_LINE: Final = "the connection was cut in the middle of a line"
LONGEST_REFUSAL: Final = 1 << 20
"""Bytes of a refusal; more is not read."""
_FIRST_FAILURE: Final = 300
"""API servers do not redirect; whatever does is not one."""


@dataclass(frozen=True, slots=True)
class Response:
    """The answer to a request that the server granted."""

    status: int
    body: bytes
    #: The header of that name: when the server answered, by its own clock.
    date: str = ""


class Transport(Protocol):
    """Paths begin with a slash; they follow whatever path the server's own address has."""

    async def request(
        self,
        method: str,
        path: str,
        query: Query = NO_QUERY,
        body: bytes | None = None,
        content_type: str = JSON,
        timeout: float = REQUEST_SECONDS,
    ) -> Response:
        """ApiError when the server refuses, ConnectionFailed when there is no answer within `timeout` seconds; what could
        not be sent by then is not sent later."""

    def stream(self, path: str, query: Query = NO_QUERY) -> AsyncGenerator[bytes, None]:
        """The lines of an answer that does not end soon. Ends when the server ends it; errors as for `request`.

        To be closed (`aclosing`) by whoever stops before the end.
        """


@dataclass(frozen=True, slots=True)
class _Call:
    method: str
    path: str
    query: Query
    #: Monotonic; None: a stream, which lasts as long as it lasts.
    end: float | None
    body: bytes | None = None
    content_type: str = JSON

    def seconds_left(self) -> float:
        """ConnectionFailed when the time is over before anything was sent."""
        left = math.inf if self.end is None else self.end - monotonic()
        if left <= 0:
            raise ConnectionFailed(f"{self}: {TOO_LATE}", may_have_arrived=False)
        return left

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def longest_body(self) -> int:
        """How much the answer may bring."""
        is_list = self.method == "GET" and (bool(self.query) or paths.is_collection(self.path))
        return LONGEST_LIST if is_list else LONGEST_BODY


class HttpTransport:
    """Requests over `keep_alive`, streams and whatever needs a proxy over aiohttp. Connects when it is first used; `close`
    ends that."""

    def __init__(self, connection: Connection, *, user_agent: str = "steersman", idle: float = IDLE_SECONDS) -> None:
        self._connection = connection
        self._base = URL(connection.server.rstrip("/"))
        self._user_agent = user_agent
        self._common_headers = f"Host: {_host(self._base)}\r\nUser-Agent: {user_agent}\r\nAccept: {JSON}"
        self._idle = idle
        self._session: aiohttp.ClientSession | None = None
        self._pool: ChannelPool | None = None
        #: The certificate that the connections show.
        self._shown: ClientCertificate | None = None

    @property
    def server(self) -> str:
        """The server's address, to be shown."""
        return hide_passwords(self._connection.server)

    async def request(
        self,
        method: str,
        path: str,
        query: Query = NO_QUERY,
        body: bytes | None = None,
        content_type: str = JSON,
        timeout: float = REQUEST_SECONDS,
    ) -> Response:
        call = _Call(method, path, query, monotonic() + timeout, body, content_type)
        shown = await self._credential()
        try:
            return await self._granted(call, shown)
        except ApiError as refusal:
            if not refusal.is_unauthorised or not await self._has_another(shown):
                raise
        return await self._granted(call, await self._credential())

    async def stream(self, path: str, query: Query = NO_QUERY) -> AsyncGenerator[bytes, None]:
        shown = await self._credential()
        assembler = LineAssembler()
        async with self._answer(_Call("GET", path, query, None), shown) as response:
            await self._require_accepted(response, shown)
            _probe_when_silent(response)
            async for chunk in response.content.iter_any():
                for line in assembler.feed(chunk):
                    yield line
            if assembler.has_partial_line:
                raise ConnectionFailed(f"GET {path}: {CUT_MID_LINE}", may_have_arrived=True)

    async def close(self) -> None:
        session, self._session = self._session, None
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()
        if session is not None:
            await session.close()

    # -- inside ------------------------------------------------------------------------------------------------------

    async def _credential(self) -> Credential:
        """Credentials that cannot be had now may be there in a moment: files are replaced one after the other, and programs
        that hand out tokens fail at times. Until then there is no connection, and no more than that."""
        try:
            return await self._connection.credentials.current()
        except ClientError:
            raise
        except SteersmanError as cause:
            raise ConnectionFailed(str(cause), may_have_arrived=False) from cause

    async def _has_another(self, shown: Credential) -> bool:
        """Whether there is something else to show than what the server has refused."""
        try:
            return await self._connection.credentials.refused(shown)
        except ClientError:
            raise
        except SteersmanError as cause:
            raise ConnectionFailed(str(cause), may_have_arrived=False) from cause

    async def _granted(self, call: _Call, shown: Credential) -> Response:
        if not self._connection.proxy:
            return await self._exchanged(call, shown)
        async with self._answer(call, shown) as response:
            await _require_success(response)
            body = await read_body(response, call.longest_body)
            return Response(response.status, body, response.headers.get("Date", ""))

    async def _exchanged(self, call: _Call, shown: Credential) -> Response:
        await self._keep_to(shown)
        if self._pool is None:
            self._pool = self._make_pool(shown)
        request, left = self._head(call, shown) + (call.body or b""), call.seconds_left()
        try:
            answer = await self._pool.exchange(request, left, CONNECT_SECONDS, call.longest_body)
        except NotSent as cause:
            message = f"{call}: Cannot connect to {self._base.host}:{self._base.port}: {cause}"
            raise ConnectionFailed(message, may_have_arrived=False) from cause
        except TimeoutError as cause:
            raise ConnectionFailed(f"{call}: no answer in time", may_have_arrived=True) from cause
        except OSError as cause:
            raise ConnectionFailed(f"{call}: {cause}", may_have_arrived=True) from cause
        if answer.status >= _FIRST_FAILURE:
            raise error_from_status(answer.body, code=answer.status, retry_after=answer.headers.get("retry-after"))
        return Response(answer.status, answer.body, answer.headers.get("date", ""))

    def _head(self, call: _Call, shown: Credential) -> bytes:
        target = self._base.raw_path.rstrip("/") + call.path
        if call.query:
            target = f"{target}?{urlencode(call.query)}"
        if not target.isascii() or not target.isprintable() or " " in target:
            raise ConnectionFailed(f"{call}: is not a path that can be sent", may_have_arrived=False)
        lines = [f"{call.method} {target} HTTP/1.1", self._common_headers]
        lines += [f"{name}: {value}" for name, value in _headers(shown)]
        if call.body is not None:
            lines.append(f"Content-Type: {call.content_type}\r\nContent-Length: {len(call.body)}")
        lines.append("\r\n")
        # Whatever is not ASCII goes as UTF-8, as Go's client sends it.
        return "\r\n".join(lines).encode()

    def _make_pool(self, credential: Credential) -> ChannelPool:
        self._shown = credential.certificate
        secure = self._base.scheme == "https"
        tls = self._context(credential) if secure else None
        host, port = self._base.host or "", self._base.port or 0
        return ChannelPool(host, port, tls, self._connection.tls.server_name)

    async def _require_accepted(self, response: aiohttp.ClientResponse, shown: Credential) -> None:
        """A stream is not tried again here; its reader does that, by then with new credentials."""
        try:
            await _require_success(response)
        except ApiError as refusal:
            if refusal.is_unauthorised:
                await self._has_another(shown)
            raise

    @asynccontextmanager
    async def _answer(self, call: _Call, shown: Credential) -> AsyncGenerator[aiohttp.ClientResponse, None]:
        session = await self._connected(shown)
        headers = [*_headers(shown)]
        if call.body is not None:
            headers.append(("Content-Type", call.content_type))
        try:
            async with session.request(
                call.method,
                self._url(call.path, call.query),
                data=call.body,
                headers=headers,
                timeout=self._limits(call),
                proxy=self._connection.proxy or None,
                server_hostname=self._connection.tls.server_name or None,
                allow_redirects=False,
            ) as response:
                yield response
        except TimeoutError as cause:
            raise ConnectionFailed(f"{call}: no answer in time", may_have_arrived=True) from cause
        except (aiohttp.ClientError, OSError, ValueError) as cause:
            arrived = not isinstance(cause, aiohttp.ClientConnectorError)
            raise ConnectionFailed(f"{call}: {hide_passwords(str(cause))}", may_have_arrived=arrived) from cause

    def _limits(self, call: _Call) -> aiohttp.ClientTimeout:
        if call.end is None:
            return aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=self._idle)
        return aiohttp.ClientTimeout(total=call.seconds_left(), sock_connect=CONNECT_SECONDS)

    def _url(self, path: str, query: Query) -> URL:
        return self._base.joinpath(path.lstrip("/"), encoded=True).with_query(dict(query))

    async def _connected(self, credential: Credential) -> aiohttp.ClientSession:
        await self._keep_to(credential)
        if self._session is None:
            self._shown = credential.certificate
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ssl=self._tls(credential)),
                headers={"User-Agent": self._user_agent, "Accept": JSON, **UNCOMPRESSED},
                auto_decompress=False,
                read_bufsize=BUFFER_BYTES,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session

    async def _keep_to(self, credential: Credential) -> None:
        """A new certificate needs new connections; those that show the old one are closed."""
        is_connected = self._session is not None or self._pool is not None
        if is_connected and credential.certificate != self._shown:
            await self.close()

    def _tls(self, credential: Credential) -> bool | ssl.SSLContext:
        if self._base.scheme != "https":
            return True
        return self._context(credential)

    def _context(self, credential: Credential) -> ssl.SSLContext:
        try:
            return tls_context(self._connection.tls, credential.certificate)
        except InputError as cause:
            raise ConnectionFailed(str(cause), may_have_arrived=False) from cause


@asynccontextmanager
async def http_transport(
    connection: Connection, *, user_agent: str = "steersman"
) -> AsyncGenerator[HttpTransport, None]:
    """A transport that is closed at the end."""
    transport = HttpTransport(connection, user_agent=user_agent)
    try:
        yield transport
    finally:
        await transport.close()


async def _require_success(response: aiohttp.ClientResponse) -> None:
    if response.status >= _FIRST_FAILURE:
        retry_after = response.headers.get("Retry-After")
        async with asyncio.timeout(REQUEST_SECONDS):
            body = await read_start(response, LONGEST_REFUSAL)
        raise error_from_status(body, code=response.status, retry_after=retry_after)


def _host(url: URL) -> str:
    """The header Host of a request: without the name and password that an address may have."""
    host = url.raw_host or ""
    name = f"[{host}]" if ":" in host else host
    return name if url.is_default_port() else f"{name}:{url.port}"


def _headers(shown: Credential) -> Headers:
    """A line end in a header would begin another one."""
    for name, value in shown.headers:
        if not is_header_value(value):
            raise ConnectionFailed(f"{name}: {HOLDS_CONTROL}", may_have_arrived=False)
    return shown.headers


def _probe_when_silent(response: aiohttp.ClientResponse) -> None:
    connection = response.connection
    channel = connection.transport.get_extra_info("socket") if connection and connection.transport else None
    if channel is not None:
        probe_when_silent(channel.fileno())
