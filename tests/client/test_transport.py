# SPDX-License-Identifier: Apache-2.0
"""Requests, refusals and lost connections, against real servers."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web
from tests.client.serving import Handler, run, serve

from steersman.kube.client.auth import Anonymous, Credential, Fixed
from steersman.kube.client.connection import Connection
from steersman.kube.client.errors import ApiError, ConnectionFailed
from steersman.kube.client.requests import MERGE_PATCH, Request
from steersman.kube.client.transport import http_transport


def test_a_request_carries_path_query_body_and_type() -> None:
    async def echo(request: web.Request) -> web.Response:
        text = f"{request.method} {request.path_qs} {request.content_type} {await request.text()}"
        return web.Response(text=text)

    async def scenario() -> bytes:
        async with serve(echo) as address, http_transport(Connection(f"{address}/cluster/")) as transport:
            answer = await transport.request(
                Request("PATCH", "/api/v1/nodes/a%2Fb", {"limit": "1"}, b"{}", MERGE_PATCH)
            )
            return answer.body

    assert run(scenario()) == b"PATCH /cluster/api/v1/nodes/a%2Fb?limit=1 application/merge-patch+json {}"


def test_a_refusal_is_an_error_with_the_servers_words() -> None:
    async def refuse(_: web.Request) -> web.Response:
        body = {"kind": "Status", "code": 409, "reason": "Conflict", "message": "it has changed"}
        return web.json_response(body, status=409)

    refusal = run(_refusal(refuse))
    assert (refusal.code, refusal.reason, str(refusal)) == (409, "Conflict", "it has changed")
    assert refusal.is_conflict


def test_an_error_page_of_a_proxy_is_shown_as_it_is() -> None:
    async def refuse(_: web.Request) -> web.Response:
        return web.Response(text="<h1>bad gateway</h1>", status=502)

    refusal = run(_refusal(refuse))
    assert (refusal.code, refusal.reason, str(refusal)) == (502, "", "<h1>bad gateway</h1>")


def test_the_server_may_say_when_to_come_again() -> None:
    async def refuse(_: web.Request) -> web.Response:
        return web.json_response({"code": 429}, status=429, headers={"Retry-After": "7"})

    refusal = run(_refusal(refuse))
    assert refusal.retry_after == 7
    assert refusal.is_overload


def test_a_redirection_is_no_answer() -> None:
    async def refuse(_: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": "/elsewhere"})

    assert run(_refusal(refuse)).code == 302


def test_a_server_that_does_not_listen_cannot_have_seen_the_request() -> None:
    async def scenario() -> ConnectionFailed:
        async with serve(_silent) as address:
            pass
        async with http_transport(Connection(address)) as transport:
            with pytest.raises(ConnectionFailed) as caught:
                await transport.request(Request("POST", "/api", body=b"{}"))
        return caught.value

    assert not run(scenario()).may_have_arrived


def test_a_server_that_does_not_answer_in_time_may_have_seen_the_request() -> None:
    async def scenario() -> ConnectionFailed:
        async with serve(_silent) as address, http_transport(Connection(address)) as transport:
            with pytest.raises(ConnectionFailed) as caught:
                await transport.request(Request("POST", "/api", body=b"{}", timeout=0.05))
        return caught.value

    failure = run(scenario())
    assert failure.may_have_arrived
    assert str(failure) == "POST /api: no answer in time"


def test_a_proxy_gets_the_whole_address() -> None:
    async def proxy(request: web.Request) -> web.Response:
        return web.Response(text=str(request.raw_path))

    async def scenario() -> bytes:
        async with serve(proxy) as address:
            connection = Connection("http://cluster.invalid:8080", proxy=address)
            async with http_transport(connection) as transport:
                return (await transport.request(Request("GET", "/version"))).body

    assert run(scenario()) == b"http://cluster.invalid:8080/version"


def test_credentials_go_along() -> None:
    async def echo(request: web.Request) -> web.Response:
        return web.Response(text=request.headers.get("Authorization", "none"))

    async def scenario() -> bytes:
        async with serve(echo) as address:
            connection = Connection(address, credentials=Fixed.password("jane", "secret"))
            async with http_transport(connection) as transport:
                return (await transport.request(Request("GET", "/"))).body

    assert run(scenario()) == b"Basic amFuZTpzZWNyZXQ="


def test_refused_credentials_are_renewed_and_tried_once_more() -> None:
    async def guard(request: web.Request) -> web.Response:
        granted = request.headers.get("Authorization") == "new"
        return web.json_response({"code": 401}, status=200 if granted else 401)

    class Renewed(Anonymous):
        secret = "old"

        async def current(self) -> Credential:
            return Credential((("Authorization", self.secret),))

        async def refused(self, shown: Credential) -> bool:
            self.secret = "new"
            return True

    async def scenario() -> int:
        async with serve(guard) as address:
            connection = Connection(address, credentials=Renewed())
            async with http_transport(connection) as transport:
                return (await transport.request(Request("GET", "/"))).status

    assert run(scenario()) == 200


async def _silent(_: web.Request) -> web.Response:
    await asyncio.Event().wait()
    return web.Response()


async def _refusal(handler: Handler) -> ApiError:
    async with serve(handler) as address, http_transport(Connection(address)) as transport:
        with pytest.raises(ApiError) as caught:
            await transport.request(Request("GET", "/api/v1/pods"))
    return caught.value
