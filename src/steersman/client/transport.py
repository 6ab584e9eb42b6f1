# SPDX-License-Identifier: Apache-2.0
"""Requests and streams over HTTP: the one seam between everything that speaks to an API server and the network.

In come method, path and body, out come answers, or `ApiError` and `ConnectionFailed`. `pacing` and `fence` wrap a transport,
`list_watch`, `dispatcher` and `lease` use one; none of them knows what it goes over: `keep_alive` and `streams`, `http2` for
the writes of one who makes many, or `proxied` where a proxy is in between. Whatever the server sends is bounded: the head and
the body of an answer (`http_answers`, `foreign_input`), a line of a stream (`foreign_input`).
"""

from __future__ import annotations

import asyncio
import math
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from functools import partial
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import urlencode

import msgspec
from yarl import URL

from steersman.client import paths
from steersman.client.auth.credentials import HOLDS_CONTROL, ClientCertificate, Credential, Headers, is_header_value
from steersman.client.connection import Connection, tls_context
from steersman.client.errors import ApiError, ClientError, ConnectionFailed
from steersman.client.foreign_input import LineAssembler, LineTooLong, error_from_status
from steersman.client.http2 import ALPN, LONGEST_REQUEST_BODY, Http2Answer
from steersman.client.http2_headers import encode_field, path_field
from steersman.client.http2_requests import Http2NotSpoken, Http2Requests
from steersman.client.http_answers import LONGEST_BODY, LONGEST_LIST
from steersman.client.keep_alive import ChannelPool, NotSent
from steersman.client.read_pacing import ReadPacing
from steersman.client.streams import StreamedAnswer
from steersman.errors import InputError, SteersmanError
from steersman.redaction import hide_passwords

if TYPE_CHECKING:
    from steersman.client.proxied import ProxiedSession

Query = Mapping[str, str]
NO_QUERY: Final[Query] = MappingProxyType({})

JSON: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH: Final = "application/strategic-merge-patch+json"

CONNECT_SECONDS: Final = 30.0
REQUEST_SECONDS: Final = 60.0
IDLE_SECONDS: Final = 150.0
"""A stream that is silent for so long has been lost: bookmarks come every minute."""
AT_HAND_SECONDS: Final = 1.0
"""So long credentials are taken to be as they were, by requests that do not wait for them."""
TOO_LATE: Final = "its time was over before it could be sent"
CUT_MID_LINE: Final = "the connection was cut in the middle of a line"
LONGEST_REFUSAL: Final = 1 << 20
"""Bytes of a refusal; more is not read."""
FIRST_FAILURE: Final = 300
"""The least status of a refusal. API servers do not redirect; whatever does is not one."""


class Response(msgspec.Struct, frozen=True):
    """The answer to a request that the server granted."""

    status: int
    body: bytes
    #: The header of that name: when the server answered, by its own clock. Of reads; nobody asks for that of writes.
    date: str = ""


OnPosted = Callable[[Response | ClientError], None]
"""Told once what has become of a POST."""


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


class Call(msgspec.Struct, frozen=True):
    """A request on its way through this package."""

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
    """Requests and streams over connections of our own, or through a proxy. Connects when it is first used; `close` ends
    that."""

    def __init__(
        self,
        connection: Connection,
        *,
        user_agent: str = "steersman",
        idle: float = IDLE_SECONDS,
        multiplexes: bool = False,
        read_pacing: ReadPacing | None = None,
    ) -> None:
        """`multiplexes`: writes share one HTTP/2 connection, if the server speaks that. `read_pacing`: shared with whatever
        else is read in this loop."""
        self._connection = connection
        self._base = URL(connection.server.rstrip("/"))
        self._base_path = self._base.raw_path.rstrip("/")
        self._user_agent = user_agent
        self._common_headers = f"Host: {_host(self._base)}\r\nUser-Agent: {user_agent}\r\nAccept: {JSON}"
        self._idle = idle
        self._read_pacing = read_pacing
        self._proxied: ProxiedSession | None = None
        self._pool: ChannelPool | None = None
        self._multiplexes = multiplexes and connection.http2 and not connection.proxy and self._base.scheme == "https"
        self._http2: Http2Requests | None = None
        #: The headers that all requests of a method and content type have, in HTTP/2, by these two; for these credentials.
        self._blocks: dict[tuple[str, str], bytes] = {}
        self._blocks_show: Headers = ()
        #: The certificate that the connections show.
        self._shown: ClientCertificate | None = None
        #: The credential that was asked for last, and until when (monotonic) it need not be asked for again.
        self._at_hand: Credential | None = None
        self._at_hand_until = 0.0

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
        call = Call(method, path, query, monotonic() + timeout, body, content_type)
        shown = await self._credential()
        try:
            return await self._granted(call, shown)
        except ApiError as refusal:
            if not refusal.is_unauthorised or not await self._has_another(shown):
                raise
        return await self._granted(call, await self._credential())

    def begin_post(self, path: str, body: bytes, timeout: float, on_end: OnPosted) -> bool:
        """POSTs for one who does not wait, over the HTTP/2 connection that is there and with credentials that were just shown.

        False: that is not possible now, and nothing was sent; `request` does it. `on_end` is told what `request` would return
        or raise, but that nothing is tried twice.
        """
        shown = self._credential_at_hand()
        if self._http2 is None or shown is None or len(body) > LONGEST_REQUEST_BODY:
            return False
        target = self._base_path + path
        if not _is_sendable(target):
            return False
        try:
            block = path_field(target) + self._block_of("POST", JSON, shown)
        except ConnectionFailed:
            return False
        return self._http2.begin(block, body, timeout, partial(self._posted, path, on_end))

    async def stream(self, path: str, query: Query = NO_QUERY) -> AsyncGenerator[bytes, None]:
        shown, call = await self._credential(), Call("GET", path, query, None)
        assembler = LineAssembler()
        try:
            async with aclosing(await self._pieces(call, shown)) as pieces:
                async for piece in pieces:
                    for line in assembler.feed(piece):
                        yield line
        except LineTooLong as cause:
            raise ConnectionFailed(f"{call}: {cause}", may_have_arrived=True) from cause
        except ApiError as refusal:
            # Not tried again here; the reader of the stream does that, by then with new credentials.
            if refusal.is_unauthorised:
                await self._has_another(shown)
            raise
        if assembler.has_partial_line:
            raise ConnectionFailed(f"{call}: {CUT_MID_LINE}", may_have_arrived=True)

    async def close(self) -> None:
        proxied, self._proxied = self._proxied, None
        pool, self._pool = self._pool, None
        http2, self._http2 = self._http2, None
        if pool is not None:
            pool.close()
        if http2 is not None:
            http2.close()
        if proxied is not None:
            await proxied.close()

    # -- inside ------------------------------------------------------------------------------------------------------

    async def _credential(self) -> Credential:
        """Credentials that cannot be had now may be there in a moment: files are replaced one after the other, and programs
        that hand out tokens fail at times. Until then there is no connection, and no more than that."""
        try:
            shown = await self._connection.credentials.current()
        except ClientError:
            raise
        except SteersmanError as cause:
            raise ConnectionFailed(str(cause), may_have_arrived=False) from cause
        self._at_hand, self._at_hand_until = shown, monotonic() + AT_HAND_SECONDS
        return shown

    def _credential_at_hand(self) -> Credential | None:
        """The credential that `_credential` found a moment ago; None: it has to be asked for, or needs another connection."""
        shown = self._at_hand
        if shown is None or monotonic() >= self._at_hand_until:
            return None
        is_shown = shown.certificate is self._shown or shown.certificate == self._shown
        return shown if is_shown else None

    async def _has_another(self, shown: Credential) -> bool:
        """Whether there is something else to show than what the server has refused."""
        self._at_hand = None
        try:
            return await self._connection.credentials.refused(shown)
        except ClientError:
            raise
        except SteersmanError as cause:
            raise ConnectionFailed(str(cause), may_have_arrived=False) from cause

    async def _granted(self, call: Call, shown: Credential) -> Response:
        if self._connection.proxy:
            return await (await self._through_proxy(shown)).request(call, _headers(shown))
        if self._multiplexes and call.method != "GET" and len(call.body or b"") <= LONGEST_REQUEST_BODY:
            try:
                return await self._multiplexed(call, shown)
            except Http2NotSpoken:
                self._multiplexes = False
        pool = await self._connected(shown)
        request, left = self._head(call, shown) + (call.body or b""), call.seconds_left()
        try:
            answer = await pool.exchange(request, left, CONNECT_SECONDS, call.longest_body)
        except OSError as cause:
            raise self._failure(call, cause) from cause
        if answer.status >= FIRST_FAILURE:
            raise error_from_status(answer.body, code=answer.status, retry_after=answer.headers.get("retry-after"))
        return Response(answer.status, answer.body, answer.headers.get("date", ""))

    async def _multiplexed(self, call: Call, shown: Credential) -> Response:
        """Over HTTP/2. Http2NotSpoken when the server does not speak it; nothing has been sent then."""
        await self._keep_to(shown)
        if self._http2 is None:
            self._http2 = self._http2_requests(shown)
        block, left = self._block(call, shown), call.seconds_left()
        try:
            outcome = self._response(call, await self._http2.exchange(block, call.body, left, CONNECT_SECONDS))
        except Http2NotSpoken:
            raise
        except OSError as cause:
            raise self._failure(call, cause) from cause
        if isinstance(outcome, ClientError):
            raise outcome
        return outcome

    def _posted(self, path: str, on_end: OnPosted, outcome: Http2Answer | OSError) -> None:
        """Called by the connection, which must not suffer from what the listener does."""
        try:
            if isinstance(outcome, Http2Answer) and outcome.status < FIRST_FAILURE:
                on_end(Response(outcome.status, outcome.body))
            else:
                on_end(self._response(Call("POST", path, NO_QUERY, None), outcome))
        except Exception as error:
            context = {"message": f"POST {path}: what was to follow broke", "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)

    def _response(self, call: Call, outcome: Http2Answer | OSError) -> Response | ClientError:
        if isinstance(outcome, OSError):
            return self._failure(call, outcome)
        if outcome.status < FIRST_FAILURE:
            return Response(outcome.status, outcome.body)
        try:
            retry_after = outcome.header("retry-after")
        except OSError as cause:
            return self._failure(call, cause)
        return error_from_status(outcome.body, code=outcome.status, retry_after=retry_after)

    async def _pieces(self, call: Call, shown: Credential) -> AsyncGenerator[bytes, None]:
        """The body of an answer that goes on, as it comes. ApiError when the server refuses."""
        if self._connection.proxy:
            return (await self._through_proxy(shown)).pieces(call, _headers(shown))
        return self._streamed(call, await self._connected(shown), self._head(call, shown))

    async def _streamed(self, call: Call, pool: ChannelPool, request: bytes) -> AsyncGenerator[bytes, None]:
        try:
            stream = await pool.begin_stream(request, CONNECT_SECONDS)
            try:
                while piece := await stream.read(self._idle):
                    if stream.status >= FIRST_FAILURE:
                        raise await _refusal(stream, piece)
                    yield piece
                if stream.status >= FIRST_FAILURE:
                    raise await _refusal(stream, b"")
            finally:
                pool.end_stream(stream)
        except OSError as cause:
            raise self._failure(call, cause) from cause

    def _failure(self, call: Call, cause: OSError) -> ConnectionFailed:
        if isinstance(cause, NotSent):
            message = f"{call}: Cannot connect to {self._base.host}:{self._base.port}: {cause}"
            return ConnectionFailed(message, may_have_arrived=False)
        reason = "no answer in time" if isinstance(cause, TimeoutError) else str(cause)
        return ConnectionFailed(f"{call}: {reason}", may_have_arrived=True)

    def _block(self, call: Call, shown: Credential) -> bytes:
        """The head of a request in HTTP/2."""
        return path_field(self._target(call)) + self._block_of(call.method, call.content_type, shown)

    def _block_of(self, method: str, content_type: str, shown: Credential) -> bytes:
        """The headers that all requests of the method and content type have."""
        if shown.headers != self._blocks_show:
            self._blocks, self._blocks_show = {}, shown.headers
        common = self._blocks.get((method, content_type))
        if common is None:
            common = self._blocks[method, content_type] = self._common_block(method, content_type, shown)
        return common

    def _common_block(self, method: str, content_type: str, shown: Credential) -> bytes:
        fields = [(":method", method), (":scheme", self._base.scheme), (":authority", _host(self._base))]
        fields += [("user-agent", self._user_agent), ("accept", JSON), ("content-type", content_type)]
        fields += [(name.lower(), value) for name, value in _headers(shown)]
        return b"".join(encode_field(name, value) for name, value in fields)

    def _target(self, call: Call) -> str:
        target = self._base_path + call.path
        if call.query:
            target = f"{target}?{urlencode(call.query)}"
        if not _is_sendable(target):
            raise ConnectionFailed(f"{call}: is not a path that can be sent", may_have_arrived=False)
        return target

    def _head(self, call: Call, shown: Credential) -> bytes:
        lines = [f"{call.method} {self._target(call)} HTTP/1.1", self._common_headers]
        lines += [f"{name}: {value}" for name, value in _headers(shown)]
        if call.body is not None:
            lines.append(f"Content-Type: {call.content_type}\r\nContent-Length: {len(call.body)}")
        lines.append("\r\n")
        # Whatever is not ASCII goes as UTF-8, as Go's client sends it.
        return "\r\n".join(lines).encode()

    async def _connected(self, shown: Credential) -> ChannelPool:
        await self._keep_to(shown)
        if self._pool is None:
            self._shown = shown.certificate
            tls = self._context(shown) if self._base.scheme == "https" else None
            host, port = self._base.host or "", self._base.port or 0
            name = self._connection.tls.server_name
            self._pool = ChannelPool(host, port, tls, name, read_pacing=self._read_pacing)
        return self._pool

    def _http2_requests(self, shown: Credential) -> Http2Requests:
        self._shown = shown.certificate
        tls = self._context(shown)
        tls.set_alpn_protocols(ALPN)
        host, port = self._base.host or "", self._base.port or 0
        return Http2Requests(host, port, tls, self._connection.tls.server_name, self._read_pacing)

    async def _through_proxy(self, shown: Credential) -> ProxiedSession:
        from steersman.client.proxied import ProxiedSession  # aiohttp, which few need

        await self._keep_to(shown)
        if self._proxied is None:
            self._shown = shown.certificate
            self._proxied = ProxiedSession(self._connection, self._tls(shown), self._user_agent, self._idle)
        return self._proxied

    async def _keep_to(self, credential: Credential) -> None:
        """A new certificate needs new connections; those that show the old one are closed."""
        is_connected = self._proxied is not None or self._pool is not None or self._http2 is not None
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
    connection: Connection,
    *,
    user_agent: str = "steersman",
    multiplexes: bool = False,
    read_pacing: ReadPacing | None = None,
) -> AsyncGenerator[HttpTransport, None]:
    """A transport that is closed at the end."""
    transport = HttpTransport(connection, user_agent=user_agent, multiplexes=multiplexes, read_pacing=read_pacing)
    try:
        yield transport
    finally:
        await transport.close()


async def _refusal(stream: StreamedAnswer, body: bytes) -> ApiError:
    """The refusal of a stream, of whose body something has come."""
    async with asyncio.timeout(REQUEST_SECONDS):
        while len(body) < LONGEST_REFUSAL and (piece := await stream.read(REQUEST_SECONDS)):
            body += piece
    retry_after = stream.headers.get("retry-after")
    return error_from_status(body[:LONGEST_REFUSAL], code=stream.status, retry_after=retry_after)


def _is_sendable(target: str) -> bool:
    """Whether a path with its query can stand in a request."""
    return target.isascii() and target.isprintable() and " " not in target


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
