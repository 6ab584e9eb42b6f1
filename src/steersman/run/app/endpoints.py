# SPDX-License-Identifier: Apache-2.0
"""HTTPS server of a running scheduler: its certificate, client authorities and health checks.

    flags ─► files ──────────────────────────────────────────┐
    cluster ─► ConfigMap extension-apiserver-authentication ─┴─► ClientAuthorities ─► `serving.CertificateUsers`, TLS ─► Server

The server runs in the control loop. Health checks are upstream's and do not wait for the scheduling
loop.

`Authorities` reads the authorities of client certificates from files and from a ConfigMap of the
API server, periodically, because they are rotated. Flags override the ConfigMap.
"""

from __future__ import annotations

import asyncio
import datetime
import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from steersman import api
from steersman.base import Clock, InputError, SteersmanError, Timing
from steersman.kube.client import (
    ApiError,
    Informers,
    LeaderElection,
    Request,
    Transport,
    UnreadableAnswer,
    decode_foreign,
)
from steersman.kube.observe import Metrics
from steersman.kube.serving import (
    HANDLERS_NOT_SYNCED,
    SHUTTING_DOWN,
    AccessControl,
    AccessOptions,
    ApiReviews,
    Certificate,
    CertificateUsers,
    ClientAuthorities,
    Endpoints,
    HealthCheck,
    Listen,
    Listers,
    ProxyHeaders,
    Server,
    ServerTls,
    TlsOptions,
    bound_sockets,
    self_signed,
)
from steersman.run.app.control_thread import ControlTransports
from steersman.run.app.process import run_with_restarts
from steersman.run.app.settings import AuthenticationOptions, ServingOptions

logger = logging.getLogger(__name__)

T = TypeVar("T", bound=api.Object)

NOT_RENEWED: Final = "failed election to renew leadership on lease {}"
NOT_SYNCED: Final = "{} informers not started yet: [{}]"
AUTHORITIES_PATH: Final = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
AUTHORITIES_MAP: Final = "ConfigMap kube-system/extension-apiserver-authentication"
RELOAD_SECONDS: Final = 60.0
"""Interval at which authorities are reloaded."""
NOT_LOOKED_UP: Final = "cannot read trusted client certificate authorities from the cluster: %s"


# -- the server --------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def served(
    options: ServingOptions,
    endpoints: Endpoints,
    channels: ControlTransports,
    timing: Timing,
    metrics: Metrics,
    prepared: Callable[[], object] = lambda: None,
) -> AsyncIterator[Server | None]:
    """Yield the server, None if disabled, and keep its certificates up to date.

    `prepared` is called once flags, files and the port have been validated.
    """
    if options.port == 0:
        prepared()
        yield None
        return
    tls, users = tls_of(options, timing.clock), CertificateUsers(on_lifetime=metrics.certificate_seconds.observe)
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
                group.create_task(run_with_restarts(name, work, timing, metrics), name=name)
                for name, work in background.items()
            ]
            try:
                yield server
            finally:
                for task in keeping:
                    task.cancel()


def access_options(options: ServingOptions) -> AccessOptions:
    """Return the access options. The files of the web page are open: they contain no data."""
    if not options.web:
        return options.access
    from steersman.sandbox.web import OPEN_PATHS

    return msgspec.structs.replace(options.access, open_paths=(*options.access.open_paths, *OPEN_PATHS))


def tls_of(options: ServingOptions, clock: Clock) -> ServerTls:
    def own() -> Certificate:
        now = datetime.datetime.fromtimestamp(clock.now(), datetime.UTC)
        return self_signed(("localhost", socket.gethostname(), "127.0.0.1"), now)

    chosen = TlsOptions(options.certificate_file, options.key_file, options.min_version, options.cipher_suites)
    return ServerTls(chosen, own)


def listers_of(informers: Informers) -> Listers:
    """Return the objects of the informers, as the API server last showed them."""
    return Listers(
        lambda: _objects(informers, api.Node), lambda: _objects(informers, api.Pod), informers.invalid_objects.objects
    )


def _objects(informers: Informers, kind: type[T]) -> Iterator[T]:
    for reflector in informers.reflectors:
        if reflector.kind is kind:
            yield from reflector.objects.values()


# -- client authorities ------------------------------------------------------------------------------------------------


class Authorities:
    """Keeps `users` and `tls` up to date."""

    def __init__(
        self, options: AuthenticationOptions, cluster: Transport, users: CertificateUsers, tls: ServerTls
    ) -> None:
        self._options = options
        self._cluster = cluster
        self._users = users
        self._tls = tls

    async def prepare(self) -> None:
        """Load authorities before serving. Raise `InputError` for invalid files, and other errors
        if the cluster must answer and does not."""
        self._apply(self._from_files())
        if not self._options.tolerate_lookup_failure:
            self._apply(await self._current())

    async def keep_fresh(self, timing: Timing) -> None:
        """Reload authorities periodically until cancelled. Repeated failures are logged once."""
        last_problem = ""
        while True:
            try:
                self._apply(await self._current())
                last_problem = ""
            except SteersmanError as failure:
                if str(failure) != last_problem:
                    last_problem = str(failure)
                    logger.warning(NOT_LOOKED_UP, last_problem)
            await timing.sleep(RELOAD_SECONDS)

    def _apply(self, authorities: ClientAuthorities) -> None:
        if authorities == self._users.authorities:
            return
        self._users.replace(authorities)
        if authorities.is_any:
            self._tls.ask_for_certificates()

    async def _current(self) -> ClientAuthorities:
        given, options = self._from_files(), self._options
        if options.skip_lookup or (options.client_ca_file and options.proxy_ca_file):
            return given
        found = await look_up(self._cluster)
        return ClientAuthorities(
            given.users if options.client_ca_file else found.users,
            given.proxy if options.proxy_ca_file else found.proxy,
        )

    def _from_files(self) -> ClientAuthorities:
        options = self._options
        proxy = msgspec.structs.replace(
            options.proxy, authorities=_content(options.proxy_ca_file, "--requestheader-client-ca-file")
        )
        return ClientAuthorities(_content(options.client_ca_file, "--client-ca-file"), proxy)


async def look_up(cluster: Transport) -> ClientAuthorities:
    """Return the authorities that the API server publishes, if any."""
    try:
        answer = await cluster.request(Request("GET", AUTHORITIES_PATH))
    except ApiError as refusal:
        if refusal.is_not_found:
            return ClientAuthorities()
        raise
    return published(decode_foreign(answer.body, _ConfigMap, AUTHORITIES_MAP).data or {})


class _ConfigMap(msgspec.Struct):
    data: dict[str, str] | None = None


def published(data: dict[str, str]) -> ClientAuthorities:
    proxy = ProxyHeaders(
        authorities=data.get("requestheader-client-ca-file", "").encode(),
        allowed_names=_names(data, "requestheader-allowed-names"),
        username=_names(data, "requestheader-username-headers"),
        uid=_names(data, "requestheader-uid-headers"),
        groups=_names(data, "requestheader-group-headers"),
        extra_prefixes=_names(data, "requestheader-extra-headers-prefix"),
    )
    return ClientAuthorities(data.get("client-ca-file", "").encode(), proxy)


def _names(data: dict[str, str], key: str) -> tuple[str, ...]:
    """Parse a list in JSON."""
    try:
        return decode_foreign((data.get(key) or "[]").encode(), tuple[str, ...], key)
    except UnreadableAnswer as cause:
        raise InputError(
            f"is not a list: {cause}", object=AUTHORITIES_MAP, field=f"data.{key}", value=data[key]
        ) from cause


def _content(file: str, flag: str) -> bytes:
    if not file:
        return b""
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=file, field=flag) from error


# -- health checks -----------------------------------------------------------------------------------------------------


def leading_check(election: LeaderElection, identity: str, lease: str) -> HealthCheck:
    """Return the check that fails if this process is leader but has not renewed in time."""

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
    """Return the name of kube-scheduler's informer, such as `*v1.Pod`."""
    return f"*{kind.API_VERSION.rpartition('/')[2]}.{kind.KIND}"


def shutdown_check(is_stopping: Callable[[], bool]) -> HealthCheck:
    return HealthCheck("shutdown", lambda: SHUTTING_DOWN if is_stopping() else "")
