# SPDX-License-Identifier: Apache-2.0
"""The HTTPS server of a running scheduler, made from the options. Health checks as upstream has them.

The server lives in the control loop. Health checks read what others publish: none of them asks the scheduling loop.
"""

from __future__ import annotations

import asyncio
import datetime
import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from typing import Final, TypeVar

import msgspec

from steersman import api
from steersman.app.authorities import Authorities
from steersman.app.settings import ServingOptions
from steersman.app.supervision import kept_going
from steersman.app.transports import ControlTransports
from steersman.client import Informers, LeaderElection, Timing
from steersman.clock import Clock
from steersman.observe import Metrics
from steersman.serving import (
    HANDLERS_NOT_SYNCED,
    SHUTTING_DOWN,
    AccessControl,
    AccessOptions,
    ApiReviews,
    Certificate,
    CertificateUsers,
    Endpoints,
    HealthCheck,
    Listen,
    Listers,
    Server,
    ServerTls,
    TlsOptions,
    bound_sockets,
    self_signed,
)

logger = logging.getLogger(__name__)

T = TypeVar("T", bound=api.Object)

NOT_RENEWED: Final = "failed election to renew leadership on lease {}"
NOT_SYNCED: Final = "{} informers not started yet: [{}]"


@asynccontextmanager
async def served(
    options: ServingOptions,
    endpoints: Endpoints,
    channels: ControlTransports,
    timing: Timing,
    metrics: Metrics,
    prepared: Callable[[], object] = lambda: None,
) -> AsyncIterator[Server | None]:
    """The server; None when nothing is to be served. Certificates are kept fresh meanwhile.

    `prepared` is called as soon as nothing can be wrong any more with flags, files and the port.
    """
    if options.port == 0:
        prepared()
        yield None
        return
    tls, users = tls_of(options, timing.clock), CertificateUsers()
    authorities = Authorities(options.authentication, channels.authentication, users, tls)
    await authorities.prepare()
    reviews = ApiReviews(channels.authentication, channels.authorization)
    access = AccessControl(reviews, timing.clock, access_options(options))
    listen = Listen(
        options.address, options.port, tls.context, options.share_port or None, options.share_address or None
    )
    background = {
        "certificate": lambda: tls.keep_fresh(timing.sleep),
        "client authorities": lambda: authorities.keep_fresh(timing),
    }
    with ExitStack() as opened:
        sockets = [opened.enter_context(listening) for listening in bound_sockets(listen)]
        prepared()
        async with Server(listen, endpoints, access, users, sockets=sockets) as server, asyncio.TaskGroup() as group:
            logger.info("serving on %s:%d", options.address, server.port)
            keeping = [
                group.create_task(kept_going(name, work, timing, metrics), name=name)
                for name, work in background.items()
            ]
            try:
                yield server
            finally:
                for task in keeping:
                    task.cancel()


def access_options(options: ServingOptions) -> AccessOptions:
    """Files of the web page hold no data: whoever has no rights gets to see them, and nothing in them."""
    if not options.web:
        return options.access
    from steersman.web.page_files import OPEN_PATHS

    return msgspec.structs.replace(options.access, open_paths=(*options.access.open_paths, *OPEN_PATHS))


def tls_of(options: ServingOptions, clock: Clock) -> ServerTls:
    def own() -> Certificate:
        now = datetime.datetime.fromtimestamp(clock.now(), datetime.UTC)
        return self_signed(("localhost", socket.gethostname(), "127.0.0.1"), now)

    chosen = TlsOptions(options.certificate_file, options.key_file, options.min_version, options.cipher_suites)
    return ServerTls(chosen, own)


def listers_of(informers: Informers) -> Listers:
    """The objects that the informers have: what the API server last showed."""
    return Listers(
        lambda: _objects(informers, api.Node), lambda: _objects(informers, api.Pod), informers.set_aside.objects
    )


def leading_check(election: LeaderElection, identity: str, lease: str) -> HealthCheck:
    """Fails for one who believes to lead and could not say so in time."""

    def probe() -> str:
        return NOT_RENEWED.format(lease) if election.leader == identity and not election.is_leading else ""

    return HealthCheck("leaderElection", probe)


def synced_checks(informers: Informers) -> tuple[HealthCheck, ...]:
    def informer_sync() -> str:
        missing = [_go_type(reflector.kind) for reflector in informers.not_synced()]
        return NOT_SYNCED.format(len(missing), " ".join(missing)) if missing else ""

    def handler_sync() -> str:
        return "" if informers.has_synced else HANDLERS_NOT_SYNCED

    return HealthCheck("sched-handler-sync", handler_sync), HealthCheck("informer-sync", informer_sync)


def _go_type(kind: type[api.Object]) -> str:
    """`*v1.Pod`: as kube-scheduler names its informers."""
    return f"*{kind.API_VERSION.rpartition('/')[2]}.{kind.KIND}"


def shutdown_check(is_stopping: Callable[[], bool]) -> HealthCheck:
    return HealthCheck("shutdown", lambda: SHUTTING_DOWN if is_stopping() else "")


def _objects(informers: Informers, kind: type[T]) -> Iterator[T]:
    for reflector in informers.reflectors:
        if reflector.kind is kind:
            yield from reflector.objects.values()
