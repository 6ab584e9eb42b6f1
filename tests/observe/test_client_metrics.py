# SPDX-License-Identifier: Apache-2.0
"""Requests to the API server in metrics, under client-go's names."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from prometheus_client import CollectorRegistry
from tests.client.api_server import ApiServer
from tests.client.following import IMPATIENT
from tests.client.serving import run

from steersman.api import codec
from steersman.client import ApiError, Connection, ConnectionFailed, RateLimited, TokenBucket, Transport, http_transport
from steersman.observe import ClientMetrics, MeasuredTransport
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
        below = MeasuredTransport(http, ClientMetrics(registry), address)
        limited = RateLimited(below, TokenBucket(50.0, 1, IMPATIENT), below.waited)
        yield Measured(limited, registry, address.removeprefix("http://"))


def test_requests_count_by_code_and_method_with_their_sizes() -> None:
    async def scenario() -> None:
        server = ApiServer()
        server.store.create(make_node("n1").obj())
        async with measured(server) as client:
            answer = await client.transport.request("GET", "/api/v1/nodes/n1")
            assert client.value("requests_total", code="200", method="GET") == 1
            assert client.value("request_duration_seconds_count", verb="GET") == 1
            assert client.value("response_size_bytes_sum", verb="GET") == len(answer.body)
            assert client.value("request_size_bytes_sum", verb="GET") == 0

    run(scenario())


def test_refusals_count_with_their_code() -> None:
    async def scenario() -> None:
        async with measured(ApiServer()) as client:
            with pytest.raises(ApiError):
                await client.transport.request("GET", "/api/v1/nodes/missing")
            assert client.value("requests_total", code="404", method="GET") == 1
            assert client.value("request_duration_seconds_count", verb="GET") == 1

    run(scenario())


def test_requests_without_an_answer_count_as_errors() -> None:
    async def scenario() -> None:
        server = ApiServer()
        server.faults.lose_answers = 1
        async with measured(server) as client:
            with pytest.raises(ConnectionFailed):
                await client.transport.request("POST", "/api/v1/nodes", body=codec.encode(make_node("n1").obj()))
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
                await client.transport.request("GET", "/api/v1/nodes/n1")
            assert client.value("rate_limiter_duration_seconds_count", verb="GET") == 3
            waited = client.value("rate_limiter_duration_seconds_sum", verb="GET")
            assert waited is not None
            assert waited > 0

    run(scenario())
