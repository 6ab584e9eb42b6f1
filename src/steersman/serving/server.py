"""The HTTPS server of a scheduler, usually on port 10259.

    request ─► access control ─► handler ─► answer          401, 403 and 500 as Kubernetes words them

Hosts use it as an async context manager.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from steersman.serving import refusals
from steersman.serving.access import AccessControl, Forbidden, Granted, Unauthenticated, User
from steersman.serving.client_certificates import CertificateUsers
from steersman.serving.endpoints import Endpoints, routes

DEFAULT_PORT: Final = 10259
SHUTDOWN_SECONDS: Final = 5.0
_HEADERS: Final = {"Cache-Control": "no-cache, private", "X-Content-Type-Options": "nosniff"}


@dataclass(frozen=True, slots=True)
class Listen:
    """Where, and with which certificate."""

    #: --bind-address
    address: str = "0.0.0.0"
    #: --secure-port; 0 takes any free one.
    port: int = DEFAULT_PORT
    #: None: plain HTTP, for a proxy in the same pod.
    tls: ssl.SSLContext | None = None
    #: --permit-port-sharing, --permit-address-sharing; None: as the operating system has it.
    share_port: bool | None = None
    share_address: bool | None = None


class Server:
    """Serves between `__aenter__` and `__aexit__`; `port` is then known."""

    def __init__(
        self, listen: Listen, endpoints: Endpoints, access: AccessControl, users: CertificateUsers | None = None
    ) -> None:
        """`users` are told by client certificates."""
        self._listen = listen
        app = application(endpoints, access, users or CertificateUsers())
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=SHUTDOWN_SECONDS)
        self.port = 0

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        try:
            await self._site().start()
        except BaseException:
            await self._runner.cleanup()
            raise
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Requests under way have a few seconds to end."""
        await self._runner.cleanup()

    def _site(self) -> web.TCPSite:
        listen = self._listen
        return web.TCPSite(
            self._runner,
            listen.address,
            listen.port,
            ssl_context=listen.tls,
            reuse_port=listen.share_port,
            reuse_address=listen.share_address,
        )


def application(endpoints: Endpoints, access: AccessControl, users: CertificateUsers) -> web.Application:
    app = web.Application(middlewares=[_guard(access, users)])
    app.add_routes(routes(endpoints))
    return app


def _guard(access: AccessControl, users: CertificateUsers) -> Middleware:
    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        refusal = await _refusal(access, request, _by_certificate(users, request))
        response = await _answer(request, handler) if refusal is None else refusal
        response.headers.update(_HEADERS)
        return response

    return guard


def _by_certificate(users: CertificateUsers, request: web.Request) -> User | None:
    channel = request.get_extra_info("ssl_object")
    certificate = None if channel is None else channel.getpeercert(binary_form=True)
    return None if certificate is None else users.identify(certificate, request.headers)


async def _refusal(access: AccessControl, request: web.Request, known: User | None) -> web.Response | None:
    """None: go on."""
    verdict = await access.decide(request.method, request.path, request.headers.get("Authorization", ""), known)
    if isinstance(verdict, Granted):
        return None
    if isinstance(verdict, Unauthenticated):
        return web.json_response(refusals.unauthorized(), status=401)
    if isinstance(verdict, Forbidden):
        return web.json_response(refusals.forbidden(verdict), status=403)
    return web.Response(status=500, text=refusals.internal_error(request.path, verdict.cause))


async def _answer(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except web.HTTPNotFound:
        return web.Response(status=404, text="404 page not found\n")
    except web.HTTPMethodNotAllowed:
        return web.Response(status=405, text="Method Not Allowed\n")
