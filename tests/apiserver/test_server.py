# SPDX-License-Identifier: Apache-2.0
"""The HTTP side of the API: tokens, bodies, long answers, watches that end with their clients."""

from __future__ import annotations

import asyncio
import io
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from tests.apiserver.embedded_api import CONFIG_MAPS, TOKEN, EmbeddedApi, config_map

from steersman.base.errors import InputError
from steersman.cluster.apiserver.rules import Rules
from steersman.cluster.apiserver.server import BODY_BYTES, ApiServer, Durable, in_memory
from steersman.cluster.apiserver.service import LARGE_BODY_BYTES
from steersman.cluster.store import Document
from steersman.kube.serving import server as http_server
from steersman.kube.serving.connections import ConnectionLimits
from steersman.kube.serving.listener import Listen

DEADLINE_SECONDS = 20.0
HEADERS = {"Authorization": f"Bearer {TOKEN}"}

Scenario = Callable[[EmbeddedApi, ApiServer, aiohttp.ClientSession], Awaitable[None]]


@asynccontextmanager
async def serving(
    cluster: EmbeddedApi, limits: ConnectionLimits | None, durable: Durable
) -> AsyncIterator[tuple[ApiServer, aiohttp.ClientSession]]:
    listen = Listen("127.0.0.1", 0)
    server = ApiServer(listen, cluster.service, cluster.tokens, durable, limits=limits or ConnectionLimits())
    async with server:
        base = f"http://127.0.0.1:{server.port}"
        async with aiohttp.ClientSession(base, headers=HEADERS) as client:
            yield server, client


def run(scenario: Scenario, limits: ConnectionLimits | None = None, durable: Durable = in_memory) -> None:
    async def body() -> None:
        cluster = EmbeddedApi()
        async with asyncio.timeout(DEADLINE_SECONDS), serving(cluster, limits, durable) as (server, client):
            await scenario(cluster, server, client)

    asyncio.run(body())


def test_only_those_with_a_token_get_in() -> None:
    async def scenario(_: EmbeddedApi, __: ApiServer, client: aiohttp.ClientSession) -> None:
        assert (await client.get("/api/v1/pods")).status == 200
        for wrong in ("", "Bearer wrong", "Basic abc"):
            answer = await client.get("/api/v1/pods", headers={"Authorization": wrong})
            assert answer.status == 401
            assert (await answer.json())["reason"] == "Unauthorized"
        assert (await client.get("/healthz", headers={"Authorization": ""})).status == 200

    run(scenario)


def test_a_token_that_is_not_utf_8_is_refused() -> None:
    async def scenario(_: EmbeddedApi, server: ApiServer, __: aiohttp.ClientSession) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET /api/v1/pods HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \xff\xfe\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 401 ")
        writer.close()

    run(scenario)


def test_a_large_body_does_not_keep_other_clients_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, answered = threading.Event(), threading.Event()
    prepare = Rules.prepare

    def slow(*arguments: Any) -> Any:
        begun.set()
        assert answered.wait(DEADLINE_SECONDS / 2), "nobody else was answered meanwhile"
        return prepare(*arguments)

    async def scenario(cluster: EmbeddedApi, _: ApiServer, client: aiohttp.ClientSession) -> None:
        await client.post(CONFIG_MAPS, json=config_map("other"))
        monkeypatch.setattr(Rules, "prepare", slow)
        large = config_map("large", data={"key": "x" * (LARGE_BODY_BYTES + 1)})
        writing = asyncio.create_task(client.post(CONFIG_MAPS, json=large))
        await asyncio.to_thread(begun.wait)
        assert (await client.get("/livez")).status == 200
        assert (await client.get(f"{CONFIG_MAPS}/other")).status == 200
        answered.set()
        assert (await writing).status == 201
        assert "large" in [item["metadata"]["name"] for item in cluster.get(CONFIG_MAPS)["items"]]

    run(scenario)


def test_an_object_that_changes_while_a_large_update_is_prepared_is_a_conflict(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, changed = threading.Event(), threading.Event()
    prepare = Rules.prepare

    def slow(self: Rules, resource: Any, document: Document, *arguments: Any) -> Any:
        if len(str(document)) > LARGE_BODY_BYTES:
            begun.set()
            assert changed.wait(DEADLINE_SECONDS / 2), "the other update was not carried out"
        return prepare(self, resource, document, *arguments)

    async def scenario(_: EmbeddedApi, __: ApiServer, client: aiohttp.ClientSession) -> None:
        await client.post(CONFIG_MAPS, json=config_map("m"))
        monkeypatch.setattr(Rules, "prepare", slow)
        large = config_map("m", data={"key": "x" * (LARGE_BODY_BYTES + 1)})
        writing = asyncio.create_task(client.put(f"{CONFIG_MAPS}/m", json=large))
        await asyncio.to_thread(begun.wait)
        assert (await client.put(f"{CONFIG_MAPS}/m", json=config_map("m", data={"a": "b"}))).status == 200
        changed.set()
        assert (await writing).status == 409

    run(scenario)


def test_objects_come_in_several_requests_over_one_connection() -> None:
    async def scenario(cluster: EmbeddedApi, server: ApiServer, client: aiohttp.ClientSession) -> None:
        for number in range(5):
            answer = await client.post(CONFIG_MAPS, json=config_map(f"m-{number}"))
            assert answer.status == 201
            await answer.read()
        listed = await (await client.get(CONFIG_MAPS)).json()
        assert len(listed["items"]) == 5
        assert len(server.connections) == 1

    run(scenario)


def test_a_chunked_body_and_one_in_yaml_are_read() -> None:
    async def scenario(cluster: EmbeddedApi, _: ApiServer, client: aiohttp.ClientSession) -> None:
        async def pieces() -> AsyncIterator[bytes]:
            for piece in (b'{"metadata":', b'{"name":"slow"}}'):
                yield piece
                await asyncio.sleep(0)

        answer = await client.post(CONFIG_MAPS, data=pieces(), headers={"Content-Type": "application/json"})
        assert answer.status == 201
        text = b"metadata:\n  name: written\ndata:\n  a: b\n"
        answer = await client.post(CONFIG_MAPS, data=text, headers={"Content-Type": "application/yaml"})
        assert (await answer.json())["data"] == {"a": "b"}

    run(scenario)


def test_a_body_that_is_too_large_is_refused() -> None:
    async def scenario(_: EmbeddedApi, __: ApiServer, client: aiohttp.ClientSession) -> None:
        huge = json.dumps(config_map("a", data={"x": "y" * BODY_BYTES})).encode()
        answer = await client.post(CONFIG_MAPS, data=io.BytesIO(huge), headers={"Content-Type": "application/json"})
        assert answer.status == 413
        assert (await answer.json())["reason"] == "RequestEntityTooLarge"

    run(scenario)


def test_a_long_answer_arrives_whole() -> None:
    async def scenario(cluster: EmbeddedApi, _: ApiServer, client: aiohttp.ClientSession) -> None:
        for number in range(40):
            cluster.create(CONFIG_MAPS, config_map(f"m-{number:02}", data={"x": "y" * 50_000}))
        listed = await (await client.get(CONFIG_MAPS)).json()
        assert [len(item["data"]["x"]) for item in listed["items"]] == [50_000] * 40

    run(scenario)


def test_a_watch_outlives_the_limit_on_answers_and_ends_with_its_client() -> None:
    async def scenario(cluster: EmbeddedApi, server: ApiServer, client: aiohttp.ClientSession) -> None:
        answer = await client.get(f"{CONFIG_MAPS}?watch=1&resourceVersion={cluster.store.resource_version}")
        await asyncio.sleep(0.3)
        cluster.create(CONFIG_MAPS, config_map("late"))
        event = json.loads(await answer.content.readline())
        assert event["object"]["metadata"]["name"] == "late"
        answer.close()
        while len(server.connections):
            await asyncio.sleep(0.01)

    run(scenario, ConnectionLimits(answer=0.2))


def test_a_client_that_does_not_read_its_watch_does_not_block_others() -> None:
    async def scenario(cluster: EmbeddedApi, server: ApiServer, client: aiohttp.ClientSession) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1024)
        head = f"GET {CONFIG_MAPS}?watch=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
        writer.write(head.encode())
        await reader.readline()
        for number in range(200):
            cluster.create(CONFIG_MAPS, config_map(f"m-{number}", data={"x": "y" * 100_000}))
            if not number % 20:
                assert (await client.get(f"{CONFIG_MAPS}/m-{number}")).status == 200
        writer.close()

    run(scenario)


def test_warnings_are_headers() -> None:
    async def scenario(_: EmbeddedApi, __: ApiServer, client: aiohttp.ClientSession) -> None:
        answer = await client.post(CONFIG_MAPS, json={"metadata": {"name": "a"}, "dta": {}})
        assert answer.status == 201
        assert answer.headers["Warning"] == '299 - "unknown field \\"dta\\""'
        refused = await client.post(
            f"{CONFIG_MAPS}?fieldValidation=Strict", json={"metadata": {"name": "b"}, "dta": {}}
        )
        assert refused.status == 400
        assert "strict decoding error" in (await refused.json())["message"]

    run(scenario)


def test_a_body_that_says_it_is_too_large_is_not_waited_for() -> None:
    async def scenario(_: EmbeddedApi, server: ApiServer, __: aiohttp.ClientSession) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        head = f"POST {CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 99999999999"
        writer.write(f"{head}\r\n\r\n{{".encode())
        assert await reader.readline() == b"HTTP/1.1 413 Request Entity Too Large\r\n"
        writer.close()

    run(scenario)


@pytest.mark.parametrize(("path", "code"), [(CONFIG_MAPS, b"401"), ("/healthz", b"413")])
def test_the_body_of_a_client_without_a_token_is_not_read(path: str, code: bytes) -> None:
    async def scenario(_: EmbeddedApi, server: ApiServer, __: aiohttp.ClientSession) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n{{".encode())
        assert (await reader.readline()).split()[1] == code
        writer.close()

    run(scenario)


def test_nonsense_and_clients_that_hang_up_are_nothing_to_log(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(_: EmbeddedApi, server: ApiServer, client: aiohttp.ClientSession) -> None:
        head = f"POST {CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length:"
        for request in (b"\x00\x01\r\n\r\n", f"{head} -5\r\n\r\n".encode(), f"{head} 10\r\n\r\n{{".encode()):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(request)
            if not request.endswith(b"{"):
                assert b" 400 " in await reader.readline()
            writer.close()
            while len(server.connections):
                await asyncio.sleep(0.01)
        assert (await client.get(CONFIG_MAPS)).status == 200

    run(scenario)
    assert caplog.records == []


def test_a_write_that_cannot_be_kept_is_answered_with_a_status() -> None:
    async def full_disk() -> None:
        raise InputError("cannot be written any more: database or disk is full")

    async def scenario(_: EmbeddedApi, __: ApiServer, client: aiohttp.ClientSession) -> None:
        answer = await client.post(CONFIG_MAPS, json=config_map("a"))
        assert answer.status == 500
        status = await answer.json()
        assert (status["kind"], status["reason"]) == ("Status", "InternalError")
        assert "disk is full" in status["message"]

    run(scenario, durable=full_disk)


def test_a_server_that_stops_does_not_wait_for_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "SHUTDOWN_SECONDS", 2 * DEADLINE_SECONDS)

    async def body() -> None:
        cluster = EmbeddedApi()
        async with asyncio.timeout(DEADLINE_SECONDS):
            async with ApiServer(Listen("127.0.0.1", 0), cluster.service, cluster.tokens) as server:
                reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
                head = f"GET {CONFIG_MAPS}?watch=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
                writer.write(head.encode())
                assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
            writer.close()

    asyncio.run(body())


def test_a_request_to_upgrade_the_connection_is_answered_and_ends_it() -> None:
    async def scenario(_: EmbeddedApi, server: ApiServer, __: aiohttp.ClientSession) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        head = "GET /livez HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
        writer.write(head.encode())
        answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert b"Connection: close" in answer
        writer.close()

    run(scenario)
