# SPDX-License-Identifier: Apache-2.0
"""A server on a free loopback port, and what it answers."""

from __future__ import annotations

import asyncio
import datetime
import json
import socket
import ssl
from dataclasses import dataclass
from typing import Any

from aiohttp import ClientSession, ClientTimeout
from tests.kube.serving.reviews import Reviews

from steersman.base.clock import ManualClock
from steersman.kube.observe import DecisionRecord
from steersman.kube.serving import (
    AccessControl,
    CertificateUsers,
    Decisions,
    Endpoints,
    Health,
    HealthCheck,
    Listen,
    Server,
    ServerTls,
    TlsOptions,
    self_signed,
)
from steersman.scheduler.diagnosis import Explanation, Outcome, without_cycle

RECORD = DecisionRecord("default/web", "u1", "default-scheduler", Outcome.SCHEDULED, 5.0, node="n1")


@dataclass(frozen=True, slots=True)
class Received:
    status: int
    text: str
    headers: dict[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.text)


def endpoints() -> Endpoints:
    async def metrics() -> bytes:
        return b"scheduler_pending_pods 1\n"

    async def resources() -> bytes:
        return b"kube_pod_resource_request 1\n"

    async def cache() -> str:
        return "Node name: n1\n"

    async def queue() -> str:
        return "activeQ:0\n"

    return Endpoints(
        metrics=metrics,
        resources=resources,
        health=lambda: b"kubernetes_healthcheck 1\n",
        configuration=lambda: {"kind": "KubeSchedulerConfiguration"},
        cache=cache,
        queue=queue,
        decisions=Decisions(_recent, _of, _explain),
        readyz=Health("readyz", [HealthCheck("sync", lambda: "not yet")]),
    )


def get(path: str, token: str = "", *, method: str = "GET", reviews: Reviews | None = None) -> Received:
    """Over plain HTTP."""
    return asyncio.run(_get(path, token, method, reviews or Reviews(), None, None))


def get_over_tls(path: str, server: ssl.SSLContext, client: ssl.SSLContext) -> Received:
    return asyncio.run(_get(path, "", "GET", Reviews(), server, client))


def get_with_certificate(
    path: str, client: ssl.SSLContext, users: CertificateUsers, reviews: Reviews, headers: dict[str, str]
) -> Received:
    """By a client with a certificate, to a server that asks for one."""

    async def ask() -> Received:
        async with (
            _asking_server(users, reviews) as server,
            ClientSession(timeout=ClientTimeout(10), headers=headers) as session,
            session.get(f"https://127.0.0.1:{server.port}{path}", ssl=client) as response,
        ):
            return Received(response.status, await response.text(), dict(response.headers))

    return asyncio.run(ask())


def statuses_of_two_connections(
    path: str, client: ssl.SSLContext, users: CertificateUsers, reviews: Reviews
) -> list[tuple[int, bool]]:
    """The answers to a client that offers the session of its first connection at the second; and whether it was resumed."""

    async def ask() -> list[tuple[int, bool]]:
        async with _asking_server(users, reviews) as server:
            return await asyncio.to_thread(_two_connections, server.port, path, client)

    return asyncio.run(ask())


def _two_connections(port: int, path: str, client: ssl.SSLContext) -> list[tuple[int, bool]]:
    answers: list[tuple[int, bool]] = []
    session: ssl.SSLSession | None = None
    for _ in range(2):
        plain = socket.create_connection(("127.0.0.1", port), timeout=10)
        with client.wrap_socket(plain, session=session) as channel:
            channel.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            head = channel.recv(4096)
            answers.append((int(head.split()[1]), bool(channel.session_reused)))
            session = channel.session
    return answers


def _asking_server(users: CertificateUsers, reviews: Reviews) -> Server:
    own = self_signed(("127.0.0.1",), datetime.datetime.now(datetime.UTC))
    tls = ServerTls(TlsOptions(), lambda: own)
    tls.ask_for_certificates()
    return Server(Listen("127.0.0.1", 0, tls.context), endpoints(), AccessControl(reviews, ManualClock()), users)


async def _get(
    path: str, token: str, method: str, reviews: Reviews, tls: ssl.SSLContext | None, trust: ssl.SSLContext | None
) -> Received:
    access = AccessControl(reviews, ManualClock())
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        Server(Listen("127.0.0.1", 0, tls), endpoints(), access) as server,
        ClientSession(timeout=ClientTimeout(10)) as session,
    ):
        scheme = "http" if tls is None else "https"
        url = f"{scheme}://127.0.0.1:{server.port}{path}"
        async with session.request(method, url, headers=headers, ssl=trust or True) as response:
            return Received(response.status, await response.text(), dict(response.headers))


async def _recent(count: int) -> list[DecisionRecord]:
    return [RECORD][:count]


async def _of(pod: str) -> list[DecisionRecord]:
    return [RECORD] if pod == RECORD.pod else []


async def _explain(pod: str) -> Explanation | None:
    return without_cycle(pod, "default-scheduler", "held back") if pod == RECORD.pod else None
