# SPDX-License-Identifier: Apache-2.0
"""Requests to the API server in metrics, under client-go's names."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from prometheus_client import CollectorRegistry
from tests.client.api_server import ApiServer
from tests.client.following import IMPATIENT
from tests.client.serving import run, self_signed, serve, server_tls

from steersman.api import codec
from steersman.kube.client import (
    ApiError,
    Connection,
    ConnectionFailed,
    Request,
    RequestChain,
    TokenBucket,
    Transport,
    http_transport,
)
from steersman.kube.client.auth.credentials import CertificateFiles
from steersman.kube.client.connection import TlsSettings
from steersman.kube.observe import ClientMetrics, ServerMetrics
from steersman.testing import make_node


class Measured:
    """A transport to a server, and what it counted."""

    def __init__(self, transport: Transport, registry: CollectorRegistry, host: str) -> None:
        self.transport = transport
        self._registry = registry
        self._host = host

    def value(self, name: str, **labels: str) -> float | None:
        return self._registry.get_sample_value(f"rest_client_{name}", {**labels, "host": self._host})


@asynccontextmanager
async def measured(server: ApiServer) -> AsyncIterator[Measured]:
    registry = CollectorRegistry()
    async with server.serving() as address, http_transport(Connection(address)) as http:
        metrics = ServerMetrics(ClientMetrics(registry), address)
        limited = RequestChain(http, bucket=TokenBucket(50.0, 1, IMPATIENT), metrics=metrics)
        yield Measured(limited, registry, address.removeprefix("http://"))


def test_requests_count_by_code_and_method_with_their_sizes() -> None:
    async def scenario() -> None:
        server = ApiServer()
        server.store.create(make_node("n1").obj())
        async with measured(server) as client:
            answer = await client.transport.request(Request("GET", "/api/v1/nodes/n1"))
            assert client.value("requests_total", code="200", method="GET") == 1
            assert client.value("request_duration_seconds_count", verb="GET") == 1
            assert client.value("response_size_bytes_sum", verb="GET") == len(answer.body)
            assert client.value("request_size_bytes_sum", verb="GET") == 0

    run(scenario())


def test_refusals_count_with_their_code() -> None:
    async def scenario() -> None:
        async with measured(ApiServer()) as client:
            with pytest.raises(ApiError):
                await client.transport.request(Request("GET", "/api/v1/nodes/missing"))
            assert client.value("requests_total", code="404", method="GET") == 1
            assert client.value("request_duration_seconds_count", verb="GET") == 1

    run(scenario())


def test_requests_without_an_answer_count_as_errors() -> None:
    async def scenario() -> None:
        server = ApiServer()
        server.faults.lose_answers = 1
        async with measured(server) as client:
            with pytest.raises(ConnectionFailed):
                await client.transport.request(
                    Request("POST", "/api/v1/nodes", body=codec.encode(make_node("n1").obj()))
                )
            assert client.value("requests_total", code="<error>", method="POST") == 1

    run(scenario())


def test_a_watch_counts_when_it_ends() -> None:
    async def scenario() -> None:
        server = ApiServer()
        server.store.create(make_node("n1").obj())
        query = {"watch": "true", "resourceVersion": "0", "timeoutSeconds": "0.05"}
        async with measured(server) as client:
            async for _ in client.transport.stream("/api/v1/nodes", query):
                assert client.value("requests_total", code="200", method="GET") is None
            assert client.value("requests_total", code="200", method="GET") == 1

    run(scenario())


def test_waiting_for_the_limit_is_measured() -> None:
    async def scenario() -> None:
        server = ApiServer()
        server.store.create(make_node("n1").obj())
        async with measured(server) as client:
            for _ in range(3):
                await client.transport.request(Request("GET", "/api/v1/nodes/n1"))
            assert client.value("rate_limiter_duration_seconds_count", verb="GET") == 3
            waited = client.value("rate_limiter_duration_seconds_sum", verb="GET")
            assert waited is not None
            assert waited > 0

    run(scenario())


def test_the_expiry_of_the_own_client_certificate_is_shown(tmp_path: Path) -> None:
    server, client, registry = self_signed(tmp_path, "server"), self_signed(tmp_path, "client"), CollectorRegistry()

    async def hello(_: web.Request) -> web.Response:
        return web.Response(text="hello")

    async def scenario() -> float | None:
        async with serve(hello, server_tls(server, client)) as address:
            connection = Connection(
                address,
                TlsSettings(server.certificate),
                CertificateFiles(client.certificate, client.key),
                on_certificate=ClientMetrics(registry).show_certificate,
            )
            async with http_transport(connection) as transport:
                await transport.request(Request("GET", "/"))
        name = "steersman_client_certificate_expiration_timestamp_seconds"
        return registry.get_sample_value(name, {"host": address.removeprefix("https://")})

    assert run(scenario()) == pytest.approx(time.time() + 86_400, abs=600)
