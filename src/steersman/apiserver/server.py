# SPDX-License-Identifier: Apache-2.0
"""The HTTPS server in front of an `ApiService`.

    connection ─► gate ─► request ─► token ─► body ─► service ─► what was read or written is durable ─► answer, or a watch

`serving` has the listener and the limits on connections. A watch is written no faster than its client reads; one that does not
read for a while is cut off.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from types import TracebackType
from typing import Final, Self

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web_protocol import RequestHandler

from steersman.apiserver.connections import AiohttpConnection
from steersman.apiserver.pages import OPEN_PATHS
from steersman.apiserver.requests import ApiAnswer, ApiRequest, WatchAnswer
from steersman.apiserver.reviews import Tokens, TokenUser
from steersman.apiserver.service import ApiService, refused
from steersman.apiserver.statuses import RequestRefused
from steersman.errors import SteersmanError
from steersman.serving.connections import ConnectionLimits, ConnectionTable
from steersman.serving.listener import Listen, Listener

logger = logging.getLogger(__name__)

LIMITS: Final = ConnectionLimits(connections=2048, connections_of_one_address=2048)
"""All clients of a sandbox have one address, and each of their watches takes a connection."""
BODY_BYTES: Final = 3 * 1024 * 1024
PIECE_BYTES: Final = 1 << 16
WRITE_SECONDS: Final = 60.0
SHUTDOWN_SECONDS: Final = 1.0
_BEARER: Final = "bearer "
_ANONYMOUS: Final = TokenUser("system:anonymous", ("system:unauthenticated",))
_REQUESTS_LOG: Final = logging.getLogger(f"{__name__}.requests")
"""The log of aiohttp about requests. A request that is no HTTP is answered with 400, and is no fault of ours."""
_HEADERS: Final = {"Cache-Control": "no-cache, private", "X-Content-Type-Options": "nosniff"}


def _is_our_fault(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


_REQUESTS_LOG.addFilter(_is_our_fault)

Durable = Callable[[], Awaitable[None]]
"""Returns when everything that has been written so far would survive a crash."""


async def in_memory() -> None:
    """Nothing survives, and nobody waits."""


class ApiServer:
    """Serves between `__aenter__` and `__aexit__`; `port` is then known."""

    def __init__(
        self,
        listen: Listen,
        service: ApiService,
        tokens: Tokens,
        durable: Durable = in_memory,
        limits: ConnectionLimits = LIMITS,
        sockets: Sequence[socket.socket] = (),
    ) -> None:
        """`sockets` are bound to the address already, if there are any."""
        self._listen = listen
        self._sockets = sockets
        self._service = service
        self._tokens = tokens
        self._durable = durable
        self._limits = limits
        app = web.Application(client_max_size=BODY_BYTES)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(
            app,
            access_log=None,
            logger=_REQUESTS_LOG,
            shutdown_timeout=SHUTDOWN_SECONDS,
            lingering_time=0,
            max_line_size=limits.head_bytes,
            max_field_size=limits.head_bytes,
        )
        #: By aiohttp's protocol, which requests know.
        self._by_protocol: dict[object, AiohttpConnection] = {}
        self.port = 0

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        server = self._runner.server
        assert server is not None, "a runner that was set up has a server"
        self.connections = ConnectionTable(self._limits, lambda: self._connection(server()), takes_bodies=True)
        try:
            self._listener = Listener(self._listen, self.connections, self._sockets)
        except BaseException:
            await self._runner.cleanup()
            raise
        self.port = self._listener.port
        self._accepting = asyncio.ensure_future(self._listener.run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Requests under way have a moment to end; watches are cut."""
        self._accepting.cancel()
        await asyncio.wait((self._accepting,))
        self._listener.close()
        self.connections.cut_all()
        await self._runner.cleanup()

    # -- requests ----------------------------------------------------------------------------------------------------

    def _connection(self, protocol: RequestHandler) -> AiohttpConnection:
        made = AiohttpConnection(protocol, lambda lost: self._by_protocol.pop(lost, None))
        self._by_protocol[protocol] = made
        return made

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        connection = self._by_protocol.get(request.protocol)
        try:
            answer = await self._answer(request)
        except ConnectionError:
            return web.Response()  # the client has gone in the middle of its body
        if isinstance(answer, WatchAnswer):
            if connection is not None:
                self.connections.answering_without_end(connection)
            return await self._stream(request, answer)
        response = await _written(request, answer)
        if connection is not None and response.keep_alive:
            self.connections.answered(connection)
        return response

    async def _answer(self, request: web.Request) -> ApiAnswer | WatchAnswer:
        user = self._user(request)
        if user is None:
            return refused(RequestRefused(401, "Unauthorized", "Unauthorized"), None, "")
        if (request.content_length or 0) > BODY_BYTES:
            return refused(too_large(), None, "")  # nobody waits for it
        try:
            body = await request.read()
        except web.HTTPRequestEntityTooLarge:
            return refused(too_large(), None, "")
        headers = {name.lower(): value for name, value in request.headers.items()}
        headers["accept"] = ",".join(request.headers.getall("Accept", ()))
        path = request.rel_url.raw_path
        answer = self._service.answer(ApiRequest(request.method, path, request.query, headers, body, user))
        try:
            await self._durable()
        except SteersmanError as failure:  # a full disk: whether the write stays is not known
            return refused(RequestRefused(500, "InternalError", str(failure)), None, "")
        return answer

    def _user(self, request: web.Request) -> TokenUser | None:
        header = request.headers.get("Authorization", "")
        if header.lower().startswith(_BEARER):
            return self._tokens.user(header[len(_BEARER) :].strip())
        return _ANONYMOUS if request.path.startswith(OPEN_PATHS) else None

    async def _stream(self, request: web.Request, answer: WatchAnswer) -> web.StreamResponse:
        response = web.StreamResponse(headers={**_HEADERS, "Content-Type": answer.content_type})
        response.enable_chunked_encoding()
        try:
            await response.prepare(request)
            async for piece in answer.stream.pieces():
                await self._durable()
                async with asyncio.timeout(WRITE_SECONDS):
                    await response.write(piece)
            await response.write_eof()
        except TimeoutError:
            _cut(request)
        except (ConnectionError, SteersmanError):
            pass  # the client has gone, or nothing is durable any more
        response.force_close()
        return response


def too_large() -> RequestRefused:
    return RequestRefused(413, "RequestEntityTooLarge", f"limit is {BODY_BYTES}")


async def _written(request: web.Request, answer: ApiAnswer) -> web.StreamResponse:
    """Writes the answer, a long one in pieces, no faster than the client reads; who does not read is cut off."""
    body = answer.body if isinstance(answer.body, bytes) else b"".join(answer.body)
    response = web.StreamResponse(status=answer.code, headers={**_HEADERS, "Content-Type": answer.content_type})
    response.headers.update(answer.headers)
    for warning in answer.warnings:
        response.headers.add("Warning", f'299 - "{_quoted(warning)}"')
    response.content_length = len(body)
    if answer.code in (401, 413):
        response.force_close()
    try:
        async with asyncio.timeout(WRITE_SECONDS):
            await response.prepare(request)
            if request.method != "HEAD":
                for piece in _pieces(body):
                    await response.write(piece)
            await response.write_eof()
    except TimeoutError:
        _cut(request)
    except ConnectionError:
        pass  # the client has gone
    return response


def _pieces(body: bytes) -> Iterable[bytes]:
    if len(body) <= PIECE_BYTES:
        return (body,)
    return (body[start : start + PIECE_BYTES] for start in range(0, len(body), PIECE_BYTES))


def _quoted(text: str) -> str:
    """The text as part of a quoted string in a header: printable ASCII."""
    plain = "".join(letter if " " <= letter <= "~" else "?" for letter in text)
    return plain.replace("\\", "\\\\").replace('"', '\\"')


def _cut(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()
