# SPDX-License-Identifier: Apache-2.0
"""The transport to an API server: the last step of the chain in `requests`.

A `Request` becomes a `Response`, or an `ApiError` or `ConnectionFailed`. Adds credentials, and
sends over `kube.http`: writes of a client with many over HTTP/2, everything else over HTTP/1.1.
Heads, bodies and lines of streams are bounded.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from functools import partial
from time import monotonic
from typing import Final
from urllib.parse import urlencode

from steersman.base import InputError, SteersmanError, hide_passwords
from steersman.kube.client import paths
from steersman.kube.client.auth.credentials import (
    HOLDS_CONTROL,
    ClientCertificate,
    Credential,
    Headers,
    is_header_value,
)
from steersman.kube.client.connection import Connection, tls_context
from steersman.kube.client.errors import ApiError, ClientError, ConnectionFailed
from steersman.kube.client.foreign_input import LineAssembler, LineTooLong, error_from_status
from steersman.kube.client.requests import JSON, NO_QUERY, REQUEST_SECONDS, OnEnd, Query, Request, Response
from steersman.kube.http.answers import MAX_BODY_BYTES, MAX_LIST_BYTES
from steersman.kube.http.client import CONNECT_SECONDS, HttpClient
from steersman.kube.http.connector import Connector, NotSent
from steersman.kube.http.hpack import encode_field, path_field
from steersman.kube.http.http2 import ALPN, MAX_REQUEST_BODY_BYTES, Http2Answer
from steersman.kube.http.http2_requests import Http2NotSpoken, Http2Requests
from steersman.kube.http.read_pacing import ReadPacing
from steersman.kube.http.streams import StreamedAnswer
from steersman.kube.http.url import Url

IDLE_SECONDS: Final = 150.0
"""A stream that is silent for longer is lost: bookmarks come every minute."""
CREDENTIAL_SECONDS: Final = 1.0
"""Requests that do not wait use credentials that were read within this time."""
TOO_LATE: Final = "its time was over before it could be sent"
CUT_MID_LINE: Final = "the connection was cut in the middle of a line"
MAX_REFUSAL_BYTES: Final = 1 << 20
"""Limit of the body of a refusal in bytes; the rest is not read."""
FIRST_FAILURE: Final = 300
"""The lowest status of a refusal. API servers do not redirect."""


class HttpTransport:
    """A `NowaitTransport` to one API server. Connects on demand, until `close`."""

    def __init__(
        self,
        connection: Connection,
        *,
        user_agent: str = "steersman",
        idle: float = IDLE_SECONDS,
        multiplexes: bool = False,
        read_pacing: ReadPacing | None = None,
    ) -> None:
        """`multiplexes`: writes share one HTTP/2 connection, if the server supports that.
        `read_pacing` is shared by the connections of an event loop."""
        self._connection = connection
        self._base = Url.parse(connection.server.rstrip("/"))
        self._base_path = self._base.target
        self._proxy = Url.parse(connection.proxy) if connection.proxy else None
        self._user_agent = user_agent
        self._idle = idle
        self._read_pacing = read_pacing
        self._http1: HttpClient | None = None
        # A proxy that uses TLS must not get the TLS context of HTTP/2.
        is_proxy_tls = self._proxy is not None and self._proxy.is_tls
        self._multiplexes = multiplexes and connection.http2 and self._base.is_tls and not is_proxy_tls
        self._http2: Http2Requests | None = None
        #: Encoded HTTP/2 headers by method and content type, for the credentials in `_blocks_show`.
        self._blocks: dict[tuple[str, str], bytes] = {}
        self._blocks_show: Headers = ()
        #: The client certificate of the open connections.
        self._shown: ClientCertificate | None = None
        #: The last credential, and the monotonic time until which it needs no new read.
        self._last_credential: Credential | None = None
        self._credential_until = 0.0

    @property
    def server(self) -> str:
        """Server address without a password."""
        return hide_passwords(self._connection.server)

    async def request(self, request: Request, /) -> Response:
        end, shown = monotonic() + request.timeout, await self._credential()
        try:
            return await self._granted(request, end, shown)
        except ApiError as refusal:
            if not refusal.is_unauthorised or not await self._has_another(shown):
                raise
        return await self._granted(request, end, await self._credential())

    def request_nowait(self, request: Request, timeout: float, on_end: OnEnd, /) -> bool:
        """Send a write over the open HTTP/2 connection with a recently read credential."""
        shown, body = self._credential_nowait(), request.body or b""
        if self._http2 is None or shown is None or len(body) > MAX_REQUEST_BODY_BYTES:
            return False
        try:
            block = self._block(request, shown)
        except ConnectionFailed:
            return False
        return self._http2.begin(block, body, timeout, partial(self._ended, request, on_end))

    async def stream(self, path: str, query: Query = NO_QUERY) -> AsyncGenerator[bytes, None]:
        shown, request = await self._credential(), Request("GET", path, query)
        assembler = LineAssembler()
        try:
            async with aclosing(self._pieces(request, shown)) as pieces:
                async for piece in pieces:
                    for line in assembler.feed(piece):
                        yield line
        except LineTooLong as cause:
            raise ConnectionFailed(f"{request}: {cause}", may_have_arrived=True) from cause
        except ApiError as refusal:
            # Not retried here: the reader of the stream retries, with new credentials.
            if refusal.is_unauthorised:
                await self._has_another(shown)
            raise
        if assembler.has_partial_line:
            raise ConnectionFailed(f"{request}: {CUT_MID_LINE}", may_have_arrived=True)

    async def close(self) -> None:
        self._disconnect()

    # -- internals ---------------------------------------------------------------------------------------------------

    async def _credential(self) -> Credential:
        """Return the current credential. Raise `ConnectionFailed`, which is retried, if it cannot
        be read: files may be incomplete while they are replaced, and exec plugins may fail."""
        try:
            shown = await self._connection.credentials.current()
        except ClientError:
            raise
        except SteersmanError as cause:
            raise ConnectionFailed(str(cause), may_have_arrived=False) from cause
        self._last_credential, self._credential_until = shown, monotonic() + CREDENTIAL_SECONDS
        return shown

    def _credential_nowait(self) -> Credential | None:
        """Return the recently read credential if it is usable without waiting."""
        shown = self._last_credential
        if shown is None or monotonic() >= self._credential_until:
            return None
        is_shown = shown.certificate is self._shown or shown.certificate == self._shown
        return shown if is_shown else None

    async def _has_another(self, shown: Credential) -> bool:
        """Return whether there is another credential than the one that the server refused."""
        self._last_credential = None
        try:
            return await self._connection.credentials.refused(shown)
        except ClientError:
            raise
        except SteersmanError as cause:
            raise ConnectionFailed(str(cause), may_have_arrived=False) from cause

    async def _granted(self, request: Request, end: float, shown: Credential) -> Response:
        if self._multiplexes and not request.is_read and len(request.body or b"") <= MAX_REQUEST_BODY_BYTES:
            try:
                return await self._multiplexed(request, end, shown)
            except Http2NotSpoken:
                self._multiplexes = False
        client, headers, target = self._connected(shown), _headers(shown), self._target(request)
        if request.body is not None:
            headers = (*headers, ("Content-Type", request.content_type))
        left, longest = _seconds_left(request, end), _longest_body(request)
        try:
            answer = await client.request(request.method, target, left, headers, request.body, longest)
        except OSError as cause:
            raise self._failure(request, cause) from cause
        if answer.status >= FIRST_FAILURE:
            raise error_from_status(answer.body, code=answer.status, retry_after=answer.headers.get("retry-after"))
        return Response(answer.status, answer.body, answer.headers.get("date", ""))

    async def _multiplexed(self, request: Request, end: float, shown: Credential) -> Response:
        """Send a request over HTTP/2. Raise `Http2NotSpoken`, unsent, if unsupported."""
        self._keep_to(shown)
        if self._http2 is None:
            self._http2 = self._http2_requests(shown)
        block, left = self._block(request, shown), _seconds_left(request, end)
        try:
            outcome = self._outcome(request, await self._http2.exchange(block, request.body, left, CONNECT_SECONDS))
        except Http2NotSpoken:
            raise
        except OSError as cause:
            raise self._failure(request, cause) from cause
        if isinstance(outcome, ClientError):
            raise outcome
        return outcome

    def _ended(self, request: Request, on_end: OnEnd, outcome: Http2Answer | OSError) -> None:
        """Pass on the outcome. An exception of the listener must not break the connection."""
        try:
            on_end(self._outcome(request, outcome))
        except Exception as error:
            context = {"message": f"{request}: its listener failed", "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)

    def _outcome(self, request: Request, outcome: Http2Answer | OSError) -> Response | ClientError:
        if isinstance(outcome, OSError):
            return self._failure(request, outcome)
        if outcome.status < FIRST_FAILURE:
            return Response(outcome.status, outcome.body)
        try:
            retry_after = outcome.header("retry-after")
        except OSError as cause:
            return self._failure(request, cause)
        return error_from_status(outcome.body, code=outcome.status, retry_after=retry_after)

    async def _pieces(self, request: Request, shown: Credential) -> AsyncGenerator[bytes, None]:
        """Yield the body of a stream as it arrives. Raise `ApiError` if refused."""
        client, target = self._connected(shown), self._target(request)
        try:
            stream = await client.begin_stream(target, _headers(shown))
            try:
                while piece := await stream.read(self._idle):
                    if stream.status >= FIRST_FAILURE:
                        raise await _refusal(stream, piece)
                    yield piece
                if stream.status >= FIRST_FAILURE:
                    raise await _refusal(stream, b"")
            finally:
                client.end_stream(stream)
        except OSError as cause:
            raise self._failure(request, cause) from cause

    def _failure(self, request: Request, cause: OSError) -> ConnectionFailed:
        if isinstance(cause, NotSent):
            message = f"{request}: Cannot connect to {self._base.host}:{self._base.port}: {cause}"
            return ConnectionFailed(message, may_have_arrived=False)
        reason = "no answer in time" if isinstance(cause, TimeoutError) else str(cause)
        return ConnectionFailed(f"{request}: {reason}", may_have_arrived=True)

    def _block(self, request: Request, shown: Credential) -> bytes:
        """Return the header block of a request in HTTP/2."""
        return path_field(self._target(request)) + self._block_of(request.method, request.content_type, shown)

    def _block_of(self, method: str, content_type: str, shown: Credential) -> bytes:
        """Return the headers that all requests with the method and content type share."""
        if shown.headers != self._blocks_show:
            self._blocks, self._blocks_show = {}, shown.headers
        common = self._blocks.get((method, content_type))
        if common is None:
            common = self._blocks[method, content_type] = self._common_block(method, content_type, shown)
        return common

    def _common_block(self, method: str, content_type: str, shown: Credential) -> bytes:
        fields = [(":method", method), (":scheme", self._base.scheme), (":authority", self._base.authority)]
        fields += [("user-agent", self._user_agent), ("accept", JSON), ("content-type", content_type)]
        fields += [(name.lower(), value) for name, value in _headers(shown)]
        return b"".join(encode_field(name, value) for name, value in fields)

    def _target(self, request: Request) -> str:
        target = self._base_path + request.path
        if request.query:
            target = f"{target}?{urlencode(request.query)}"
        if not _is_sendable(target):
            raise ConnectionFailed(f"{request}: is not a path that can be sent", may_have_arrived=False)
        return target

    def _connected(self, shown: Credential) -> HttpClient:
        self._keep_to(shown)
        if self._http1 is None:
            self._shown = shown.certificate
            self._http1 = HttpClient(
                self._base,
                self._context(shown) if self._base.is_tls else None,
                server_name=self._connection.tls.server_name,
                proxy=self._proxy,
                headers=(("User-Agent", self._user_agent), ("Accept", JSON)),
                read_pacing=self._read_pacing,
            )
        return self._http1

    def _http2_requests(self, shown: Credential) -> Http2Requests:
        self._shown = shown.certificate
        tls = self._context(shown)
        tls.set_alpn_protocols(ALPN)
        connector = Connector(self._base, tls, self._connection.tls.server_name, self._proxy)
        return Http2Requests(connector, self._read_pacing)

    def _keep_to(self, credential: Credential) -> None:
        """Close connections that were opened with another certificate."""
        if credential.certificate != self._shown:
            self._disconnect()

    def _disconnect(self) -> None:
        http1, self._http1 = self._http1, None
        http2, self._http2 = self._http2, None
        if http1 is not None:
            http1.close()
        if http2 is not None:
            http2.close()

    def _context(self, credential: Credential) -> ssl.SSLContext:
        try:
            context = tls_context(self._connection.tls, credential.certificate)
            if self._connection.on_certificate is not None and credential.certificate is not None:
                self._connection.on_certificate(self._connection.server, credential.certificate)
            return context
        except InputError as cause:
            raise ConnectionFailed(str(cause), may_have_arrived=False) from cause


@asynccontextmanager
async def http_transport(
    connection: Connection,
    *,
    user_agent: str = "steersman",
    multiplexes: bool = False,
    read_pacing: ReadPacing | None = None,
) -> AsyncGenerator[HttpTransport, None]:
    """Open a transport, and close it at the end."""
    transport = HttpTransport(connection, user_agent=user_agent, multiplexes=multiplexes, read_pacing=read_pacing)
    try:
        yield transport
    finally:
        await transport.close()


async def _refusal(stream: StreamedAnswer, body: bytes) -> ApiError:
    """Read the rest of a refused stream and return the refusal."""
    async with asyncio.timeout(REQUEST_SECONDS):
        while len(body) < MAX_REFUSAL_BYTES and (piece := await stream.read(REQUEST_SECONDS)):
            body += piece
    retry_after = stream.headers.get("retry-after")
    return error_from_status(body[:MAX_REFUSAL_BYTES], code=stream.status, retry_after=retry_after)


def _seconds_left(request: Request, end: float) -> float:
    """Return the time until `end`, monotonic. Raise `ConnectionFailed` if it is over."""
    left = end - monotonic()
    if left <= 0:
        raise ConnectionFailed(f"{request}: {TOO_LATE}", may_have_arrived=False)
    return left


def _longest_body(request: Request) -> int:
    """Return the limit of the response's body in bytes."""
    is_list = request.is_read and (bool(request.query) or paths.is_collection(request.path))
    return MAX_LIST_BYTES if is_list else MAX_BODY_BYTES


def _is_sendable(target: str) -> bool:
    """Return whether a path with its query can be sent unchanged."""
    return target.isascii() and target.isprintable() and " " not in target


def _headers(shown: Credential) -> Headers:
    """Return a credential's headers. Raise `ConnectionFailed` for control characters."""
    for name, value in shown.headers:
        if not is_header_value(value):
            raise ConnectionFailed(f"{name}: {HOLDS_CONTROL}", may_have_arrived=False)
    return shown.headers
