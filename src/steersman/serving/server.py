# SPDX-License-Identifier: Apache-2.0
"""The HTTPS server of a scheduler, usually on port 10259.

    connection ─► gate ─► request ─► access control ─► handler ─► answer      401, 403, 429 and 500 as Kubernetes words them

Hosts use it as an async context manager. `listener` accepts, `connections` bounds what clients may hold, aiohttp speaks HTTP.
Refusals are `Status` objects, for clients that read JSON.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Final, Self

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from steersman.serving.access import AccessControl, AccessForbidden, Granted, TooManyReviews, Unauthenticated, User
from steersman.serving.client_certificates import CertificateUsers
from steersman.serving.connections import ConnectionLimits, ConnectionTable
from steersman.serving.endpoints import Endpoints, SchedulingLoopBusy
from steersman.serving.handlers import routes
from steersman.serving.listener import Listen, Listener
from steersman.serving.server_tls import certificates_sent

logger = logging.getLogger(__name__)

SHUTDOWN_SECONDS: Final = 5.0
WRITE_SECONDS: Final = 60.0
"""Seconds that a client may take to read an answer."""
PIECE_BYTES: Final = 1 << 16
UNAUTHORIZED: Final = "Unauthorized"
TOO_MANY_REVIEWS: Final = "too many requests that the API server would have to be asked about, please try again later"
_HEADERS: Final = {"Cache-Control": "no-cache, private", "X-Content-Type-Options": "nosniff"}
_BODY_REFUSED: Final = "no request here has a body\n"
_ESCAPES: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


class Server:
    """Serves between `__aenter__` and `__aexit__`; `port` is then known."""

    def __init__(
        self,
        listen: Listen,
        endpoints: Endpoints,
        access: AccessControl,
        users: CertificateUsers | None = None,
        limits: ConnectionLimits | None = None,
        sockets: Sequence[socket.socket] = (),
    ) -> None:
        """`users` are told by client certificates; `sockets` are bound to the address already, if there are any."""
        self._listen = listen
        self._sockets = sockets
        self._limits = limits or ConnectionLimits()
        guard = Guard(access, users or CertificateUsers())
        app = web.Application(middlewares=[guard.middleware()])
        app.add_routes(routes(endpoints))
        self._guard = guard
        # A body that nobody has read is not waited for.
        self._runner = web.AppRunner(
            app,
            access_log=None,
            shutdown_timeout=SHUTDOWN_SECONDS,
            lingering_time=0,
            max_line_size=self._limits.head_bytes,
            max_field_size=self._limits.head_bytes,
        )
        self.port = 0

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        server = self._runner.server
        assert server is not None, "a runner that was set up has a server"
        self.connections = self._guard.table = ConnectionTable(self._limits, server)
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
        """Requests under way have a few seconds to end."""
        self._accepting.cancel()
        await asyncio.wait((self._accepting,))
        self._listener.close()
        await self._runner.cleanup()
        self.connections.cut_all()


class Guard:
    """Before and after every handler: who asks, and that the answer arrives or is given up."""

    def __init__(self, access: AccessControl, users: CertificateUsers) -> None:
        self._access = access
        self._users = users
        #: None: nobody serves yet.
        self.table: ConnectionTable | None = None

    def middleware(self) -> Middleware:
        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            response = await self._response(request, handler)
            response.headers.update(_HEADERS)
            written = await _written(request, response)
            gate = None if self.table is None else self.table.gate_of(request.protocol)
            if gate is not None and written.keep_alive:
                gate.answered()
            return written

        return guard

    async def _response(self, request: web.Request, handler: Handler) -> web.Response:
        if request.can_read_body:
            refusal = web.Response(status=413, text=_BODY_REFUSED)
            refusal.force_close()
            return refusal
        return await self._refusal(request) or await _answer(request, handler)

    async def _refusal(self, request: web.Request) -> web.Response | None:
        """The refusal of a request; None: go on."""
        header, known = request.headers.get("Authorization", ""), _by_certificate(self._users, request)
        verdict = await self._access.decide(request.method, request.path, header, known, request.remote or "")
        if isinstance(verdict, Granted):
            return None
        if isinstance(verdict, Unauthenticated):
            return web.json_response(_unauthorized(), status=401)
        if isinstance(verdict, AccessForbidden):
            return web.json_response(_forbidden(verdict), status=403)
        if isinstance(verdict, TooManyReviews):
            headers = {"Retry-After": str(verdict.retry_after)}
            return web.json_response(_too_many_requests(verdict.retry_after), status=429, headers=headers)
        return web.Response(status=500, text=_internal_error(request.path, verdict.cause))


def _by_certificate(users: CertificateUsers, request: web.Request) -> User | None:
    channel = request.get_extra_info("ssl_object")
    certificate = None if channel is None else channel.getpeercert(binary_form=True)
    return None if certificate is None else users.identify(certificate, request.headers, certificates_sent(channel)[1:])


async def _answer(request: web.Request, handler: Handler) -> web.Response:
    try:
        response = await handler(request)
    except web.HTTPNotFound:
        return web.Response(status=404, text="404 page not found\n")
    except web.HTTPMethodNotAllowed:
        return web.Response(status=405, text="Method Not Allowed\n")
    except SchedulingLoopBusy as busy:
        return web.Response(status=503, text=str(busy), headers={"Retry-After": "10"})
    except Exception:
        logger.exception("%s cannot be shown", request.path)
        return web.Response(status=500, text="Internal Server Error\n")
    assert isinstance(response, web.Response), "handlers answer with everything they have to say"
    return response


async def _written(request: web.Request, response: web.Response) -> web.StreamResponse:
    """Writes the answer, a long one in pieces, no faster than the client reads. Who does not read is cut off; who has gone
    is none of our business."""
    try:
        async with asyncio.timeout(WRITE_SECONDS):
            body = response.body
            if request.method == "HEAD" or not isinstance(body, bytes) or len(body) <= PIECE_BYTES:
                await response.prepare(request)
                await response.write_eof()
                return response
            return await _in_pieces(request, response, body)
    except TimeoutError:
        if request.transport is not None:
            request.transport.abort()
    except ConnectionError:
        pass
    return response


async def _in_pieces(request: web.Request, response: web.Response, body: bytes) -> web.StreamResponse:
    stream = web.StreamResponse(status=response.status, headers=response.headers)
    stream.content_length = len(body)
    await stream.prepare(request)
    for start in range(0, len(body), PIECE_BYTES):
        await stream.write(body[start : start + PIECE_BYTES])
    await stream.write_eof()
    return stream


# -- refusals, as Kubernetes words them --------------------------------------------------------------------------------


def _unauthorized() -> dict[str, Any]:
    return _status(401, UNAUTHORIZED, UNAUTHORIZED)


def _forbidden(refusal: AccessForbidden) -> dict[str, Any]:
    return _status(403, "Forbidden", f"forbidden: {_who_cannot_what(refusal)}", details={})


def _too_many_requests(retry_after: int) -> dict[str, Any]:
    details = {"retryAfterSeconds": retry_after}
    return _status(429, "TooManyRequests", TOO_MANY_REVIEWS, details=details)


def _internal_error(path: str, cause: str) -> str:
    """Plain text, as upstream answers when it could not ask."""
    return f"Internal Server Error: {json.dumps(path)}: {cause}\n".translate(_ESCAPES)


def _who_cannot_what(refusal: AccessForbidden) -> str:
    user, path = json.dumps(refusal.user.name, ensure_ascii=False), json.dumps(refusal.path, ensure_ascii=False)
    message = f"User {user} cannot {refusal.verb} path {path}".translate(_ESCAPES)
    return f"{message}: {refusal.reason}" if refusal.reason else message


def _status(code: int, reason: str, message: str, **more: Any) -> dict[str, Any]:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        **more,
        "code": code,
    }
