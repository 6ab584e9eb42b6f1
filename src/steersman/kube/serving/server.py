# SPDX-License-Identifier: Apache-2.0
"""HTTPS server of a scheduler, usually on port 10259.

    connection ─► gate ─► request ─► access control ─► handler ─► answer      401, 403, 429 and 500 as Kubernetes words them

Servers are async context managers. `listener` accepts, `connections` limits clients,
`http_connection` implements HTTP. The sandbox's API and web page use `HttpServer` too. Refusals are
`Status` objects, for clients that read JSON.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from steersman.kube.serving.access import AccessControl, AccessForbidden, Granted, TooManyReviews, Unauthenticated
from steersman.kube.serving.client_certificates import CertificateUsers
from steersman.kube.serving.connections import ConnectionLimits, ConnectionTable
from steersman.kube.serving.endpoints import Endpoints, SchedulingLoopBusy
from steersman.kube.serving.handlers import routes
from steersman.kube.serving.http import (
    Answer,
    BodyLimit,
    Handler,
    Request,
    Router,
    json_answer,
    text_answer,
)
from steersman.kube.serving.http_connection import HttpConnection
from steersman.kube.serving.listener import Listen, Listener

logger = logging.getLogger(__name__)

SHUTDOWN_SECONDS: Final = 5.0
UNAUTHORIZED: Final = "Unauthorized"
TOO_MANY_REVIEWS: Final = "too many requests need a review by the API server, please try again later"
_HEADERS: Final = {"Cache-Control": "no-cache, private", "X-Content-Type-Options": "nosniff"}
_ESCAPES: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


class HttpServer:
    """An HTTP server that runs between `__aenter__`, which sets `port`, and `__aexit__`."""

    def __init__(
        self,
        listen: Listen,
        handler: Handler,
        limits: ConnectionLimits | None = None,
        sockets: Sequence[socket.socket] = (),
        body_limit: BodyLimit | None = None,
    ) -> None:
        """Configure the server. `sockets` are bound already. `body_limit` None refuses bodies."""
        self._listen = listen
        self._sockets = sockets
        self._handler = handler
        self._body_limit = body_limit
        self.connections = ConnectionTable(limits or ConnectionLimits(), self._connection)
        self.port = 0

    def _connection(self) -> HttpConnection:
        table = self.connections
        return HttpConnection(self._handler, table.answered, self._body_limit, table.lift_time_limit)

    async def __aenter__(self) -> Self:
        self._listener = Listener(self._listen, self.connections, self._sockets)
        self.port = self._listener.port
        self._accepting = asyncio.ensure_future(self._listener.run())
        return self

    async def stop_listening(self) -> None:
        """Close the listening sockets. Open connections are still served."""
        self._accepting.cancel()
        await asyncio.wait((self._accepting,))
        self._listener.close()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait a few seconds for requests under way, then close all connections."""
        await self.stop_listening()
        await self.connections.finish(SHUTDOWN_SECONDS)
        self.connections.cut_all()
        await asyncio.sleep(0)  # lets the loop call `connection_lost`


class Server(HttpServer):
    """Server of a scheduler's `Endpoints`, with access control by the API server."""

    def __init__(
        self,
        listen: Listen,
        endpoints: Endpoints,
        access: AccessControl,
        users: CertificateUsers | None = None,
        limits: ConnectionLimits | None = None,
        sockets: Sequence[socket.socket] = (),
    ) -> None:
        """`users` identifies clients by their certificates."""
        router = Router(routes(endpoints), endpoints.others)
        guard = Guard(access, users or CertificateUsers(), router.answer)
        longest = endpoints.body_bytes
        super().__init__(listen, guard.answer, limits, sockets, (lambda _: longest) if longest else None)


class Guard:
    """Checks access before every handler, and answers its exceptions."""

    def __init__(self, access: AccessControl, users: CertificateUsers, handler: Handler) -> None:
        self._access = access
        self._users = users
        self._handler = handler

    async def answer(self, request: Request) -> Answer:
        answer = await self._refusal(request) or await self._answer(request)
        return msgspec.structs.replace(answer, headers={**_HEADERS, **answer.headers})

    async def _answer(self, request: Request) -> Answer:
        try:
            return await self._handler(request)
        except SchedulingLoopBusy as busy:
            return text_answer(str(busy), 503, {"Retry-After": "10"})
        except Exception:
            logger.exception("%s cannot be shown", request.path)
            return text_answer("Internal Server Error\n", 500)

    async def _refusal(self, request: Request) -> Answer | None:
        """Return the refusal of a request; None if it is allowed."""
        shown = () if request.channel is None else request.channel.get_unverified_chain()
        known = self._users.identify(shown, request.headers) if shown else None
        verdict = await self._access.decide(
            request.method,
            request.path,
            request.headers.get("Authorization"),
            known,
            request.remote,
            is_stranger=bool(shown) and known is None,
        )
        if isinstance(verdict, Granted):
            return None
        if isinstance(verdict, Unauthenticated):
            return json_answer(_unauthorized(), 401)
        if isinstance(verdict, AccessForbidden):
            return json_answer(_forbidden(verdict), 403)
        if isinstance(verdict, TooManyReviews):
            headers = {"Retry-After": str(verdict.retry_after)}
            return json_answer(_too_many_requests(verdict.retry_after), 429, headers)
        return text_answer(_internal_error(request.path, verdict.cause), 500)


# -- refusals, as Kubernetes words them --------------------------------------------------------------------------------


def _unauthorized() -> dict[str, Any]:
    return _status(401, UNAUTHORIZED, UNAUTHORIZED)


def _forbidden(refusal: AccessForbidden) -> dict[str, Any]:
    return _status(403, "Forbidden", f"forbidden: {_forbidden_message(refusal)}", details={})


def _too_many_requests(retry_after: int) -> dict[str, Any]:
    details = {"retryAfterSeconds": retry_after}
    return _status(429, "TooManyRequests", TOO_MANY_REVIEWS, details=details)


def _internal_error(path: str, cause: str) -> str:
    """Return plain text, like upstream's answer when a review fails."""
    return f"Internal Server Error: {json.dumps(path)}: {cause}\n".translate(_ESCAPES)


def _forbidden_message(refusal: AccessForbidden) -> str:
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
