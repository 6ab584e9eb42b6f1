"""The HTTPS server of a running scheduler, made from the options. Health checks as upstream has them."""

from __future__ import annotations

import datetime
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Final, TypeVar

from steersman import api
from steersman.app.settings import ServingOptions
from steersman.client import Informers, LeaderElection, Transport
from steersman.clock import Clock
from steersman.serving import (
    HANDLERS_NOT_SYNCED,
    SHUTTING_DOWN,
    AccessControl,
    ApiReviews,
    Check,
    Endpoints,
    Listen,
    Listers,
    Server,
    context_for,
    from_files,
    self_signed,
)

logger = logging.getLogger(__name__)

T = TypeVar("T", bound=api.Object)

NOT_RENEWED: Final = "failed election to renew leadership on lease {}"
NOT_SYNCED: Final = "{} informers not started yet: {}"


@asynccontextmanager
async def served(
    options: ServingOptions, endpoints: Endpoints, reviews: Transport, clock: Clock
) -> AsyncIterator[Server | None]:
    """None when nothing is to be served."""
    if options.port == 0:
        yield None
        return
    access = AccessControl(ApiReviews(reviews), clock, options.access)
    listen = Listen(options.address, options.port, tls_of(options, clock))
    async with Server(listen, endpoints, access) as server:
        logger.info("serving on %s:%d", options.address, server.port)
        yield server


def tls_of(options: ServingOptions, clock: Clock) -> ssl.SSLContext:
    if options.certificate_file:
        return from_files(options.certificate_file, options.key_file)
    now = datetime.datetime.fromtimestamp(clock.now(), datetime.UTC)
    return context_for(self_signed(("localhost", socket.gethostname(), "127.0.0.1"), now))


def listers_of(informers: Informers) -> Listers:
    """What the API server last showed."""
    return Listers(lambda: _objects(informers, api.Node), lambda: _objects(informers, api.Pod))


def leading_check(election: LeaderElection, identity: str, lease: str) -> Check:
    """Fails for one who believes to lead and could not say so in time."""

    def probe() -> str:
        return NOT_RENEWED.format(lease) if election.leader == identity and not election.is_leading else ""

    return Check("leaderElection", probe)


def synced_checks(informers: Informers) -> tuple[Check, ...]:
    def informer_sync() -> str:
        missing = [reflector.kind.PLURAL for reflector in informers.not_synced()]
        return NOT_SYNCED.format(len(missing), missing) if missing else ""

    def handler_sync() -> str:
        return "" if informers.has_synced else HANDLERS_NOT_SYNCED

    return Check("sched-handler-sync", handler_sync), Check("informer-sync", informer_sync)


def shutdown_check(is_stopping: Callable[[], bool]) -> Check:
    return Check("shutdown", lambda: SHUTTING_DOWN if is_stopping() else "")


def _objects(informers: Informers, kind: type[T]) -> Iterator[T]:
    for reflector in informers.reflectors:
        if reflector.kind is kind:
            yield from reflector.objects.values()
