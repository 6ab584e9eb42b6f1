# SPDX-License-Identifier: Apache-2.0
"""The HTTPS server in front of an `ApiService`.

    connection ─► `kube.serving` ─► token ─► body ─► service ─► wait until durable ─► response or watch

`kube.serving` parses requests, limits clients and applies backpressure to responses.
Requests with large bodies, and slow response encoding, run in threads.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from types import TracebackType
from typing import Final

import msgspec

from steersman.base import SteersmanError
from steersman.cluster.apiserver.pages import OPEN_PATHS
from steersman.cluster.apiserver.requests import ApiAnswer, ApiRequest, WatchAnswer
from steersman.cluster.apiserver.reviews import Tokens, TokenUser
from steersman.cluster.apiserver.service import ApiService, refused
from steersman.cluster.apiserver.statuses import RequestRefused
from steersman.cluster.apiserver.watches import WatchStream
from steersman.kube.serving import Answer, ConnectionLimits, HttpServer, Listen, Request, StreamAnswer

LIMITS: Final = ConnectionLimits(connections=2048, connections_of_one_address=2048)
"""All clients of a sandbox share an address, and each watch needs a connection."""
BODY_BYTES: Final = 3 * 1024 * 1024
_BEARER: Final = "bearer "
_ANONYMOUS: Final = TokenUser("system:anonymous", ("system:unauthenticated",))
_HEADERS: Final = {"Cache-Control": "no-cache, private", "X-Content-Type-Options": "nosniff"}
_CLOSE_AFTER: Final = (401, 413)

Durable = Callable[[], Awaitable[None]]
"""Waits until all previous writes would survive a crash."""


async def in_memory() -> None:
    """Return at once, for a cluster that is not persisted."""


class ApiServer(HttpServer):
    """HTTP server that runs from `__aenter__`, which sets `port`, to `__aexit__`."""

    def __init__(
        self,
        listen: Listen,
        service: ApiService,
        tokens: Tokens,
        durable: Durable = in_memory,
        limits: ConnectionLimits = LIMITS,
        sockets: Sequence[socket.socket] = (),
    ) -> None:
        """`sockets`, if any, are already bound."""
        super().__init__(listen, self._handle, limits, sockets, body_limit=self._body_limit)
        self._service = service
        self._tokens = tokens
        self._durable = durable

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Abort watches, wait for other requests in progress, then close all connections."""
        self.connections.cut_streams()
        await super().__aexit__(kind, error, trace)

    # -- requests ----------------------------------------------------------------------------------

    async def _handle(self, request: Request) -> Answer:
        answer = await self._answer(request)
        if isinstance(answer, WatchAnswer):
            return StreamAnswer(
                content_type=answer.content_type, headers=_HEADERS, pieces=self._durable_pieces(answer.stream)
            )
        return _written(answer)

    async def _answer(self, request: Request) -> ApiAnswer | WatchAnswer:
        user, accept = self._user(request), ",".join(request.headers.getall("Accept", []))
        if user is None:
            return refused(RequestRefused(401, "Unauthorized", "Unauthorized"), accept)
        if request.body is None:
            return refused(too_large(), accept)
        headers = {name.lower(): value for name, value in request.headers.items()} | {"accept": accept}
        # The first value of a repeated parameter is used.
        query = dict(reversed(request.query))
        incoming = ApiRequest(request.method, request.raw_path, query, headers, request.body, user)
        if self._service.takes_long(incoming):
            answer = await asyncio.to_thread(self._service.answer, incoming, asyncio.get_running_loop())
        else:
            answer = self._service.answer(incoming)
        try:
            await self._durable()
            if isinstance(answer, ApiAnswer) and not isinstance(answer.body, bytes):
                answer = msgspec.structs.replace(answer, body=await asyncio.to_thread(answer.body))
        except SteersmanError as failure:  # disk full: the write may or may not persist
            return refused(RequestRefused(500, "InternalError", str(failure)), accept)
        return answer

    def _body_limit(self, request: Request) -> int:
        """Return 0 without a valid token: such a body is not read into memory."""
        return 0 if self._user(request) in (None, _ANONYMOUS) else BODY_BYTES

    def _user(self, request: Request) -> TokenUser | None:
        header = request.headers.get("Authorization")
        if header.lower().startswith(_BEARER):
            return self._tokens.user(header[len(_BEARER) :].strip())
        return _ANONYMOUS if request.path.startswith(OPEN_PATHS) else None

    async def _durable_pieces(self, stream: WatchStream) -> AsyncGenerator[bytes, None]:
        """Yield the pieces of a watch once durable; end when writes cannot be made durable."""
        async for piece in stream.pieces():
            try:
                await self._durable()
            except SteersmanError:
                return
            yield piece


def too_large() -> RequestRefused:
    why = f"Request entity too large: limit is {BODY_BYTES}"
    return RequestRefused(413, "RequestEntityTooLarge", why)


def _written(answer: ApiAnswer) -> Answer:
    assert isinstance(answer.body, bytes), "bodies are encoded before they are written"
    return Answer(
        answer.code,
        answer.body,
        answer.content_type,
        {**_HEADERS, **answer.headers},
        closes=answer.code in _CLOSE_AFTER,
        repeated_headers=[("Warning", f'299 - "{_quoted(warning)}"') for warning in answer.warnings],
    )


def _quoted(text: str) -> str:
    """Escape the text for a quoted string in a header, in printable ASCII."""
    plain = "".join(letter if " " <= letter <= "~" else "?" for letter in text)
    return plain.replace("\\", "\\\\").replace('"', '\\"')
