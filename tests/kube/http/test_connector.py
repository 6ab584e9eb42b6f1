# SPDX-License-Identifier: Apache-2.0
"""Connections are opened directly or through a proxy, on asyncio's own event loop and on uvloop."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import uvloop
from aiohttp import web
from tests.client.serving import self_signed, serve, server_tls

from steersman.kube.client import Connection, ConnectionFailed, http_transport
from steersman.kube.client.connection import TlsSettings
from steersman.kube.client.requests import Request
from steersman.kube.http import HttpClient, NotSent, Url

SECONDS = 20.0
Run = Callable[[Coroutine[Any, Any, None]], None]


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    def until_done(work: Coroutine[Any, Any, None]) -> None:
        async def timed() -> None:
            async with asyncio.timeout(SECONDS):
                await work

        with asyncio.Runner(loop_factory=request.param) as runner:
            runner.run(timed())

    return until_done


class Proxy:
    """An HTTP proxy that only knows CONNECT, and remembers the heads of requests."""

    def __init__(self, answer: bytes = b"HTTP/1.1 200 Connection established\r\n\r\n") -> None:
        self.heads: list[str] = []
        self._answer = answer
        self._writers: list[asyncio.StreamWriter] = []

    def close(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.heads.append(head)
        writer.write(self._answer)
        if b" 200 " not in self._answer:
            writer.close()
            return
        host, port = head.split()[1].rsplit(":", 1)
        upstream, onward = await asyncio.open_connection(host, int(port))
        self._writers.append(onward)
        await asyncio.gather(_pass_on(reader, onward), _pass_on(upstream, writer))


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
    writer.close()


@asynccontextmanager
async def proxying(proxy: Proxy, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """The address of the proxy."""
    listening = await asyncio.start_server(proxy.handle, "127.0.0.1", 0, ssl=tls)
    try:
        port = listening.sockets[0].getsockname()[1]
        yield f"{'http' if tls is None else 'https'}://me:secret@127.0.0.1:{port}"
    finally:
        listening.close()
        proxy.close()
        await asyncio.sleep(0)


async def _echo(request: web.Request) -> web.Response:
    return web.Response(text=f"{request.method} {request.path_qs} {await request.text()}")


async def _two_lines(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    await response.write(b"one\ntwo\n")
    return response


@pytest.mark.parametrize("is_proxy_tls", [False, True])
def test_requests_to_a_tls_server_go_through_a_tunnel(run: Run, tmp_path: Path, is_proxy_tls: bool) -> None:
    async def work() -> None:
        pair, proxy = self_signed(tmp_path, "server"), Proxy()
        proxy_tls = server_tls(pair) if is_proxy_tls else None
        async with serve(_echo, server_tls(pair)) as address, proxying(proxy, proxy_tls) as proxy_address:
            connection = Connection(address, TlsSettings(pair.certificate), proxy=proxy_address)
            async with http_transport(connection, multiplexes=True) as transport:
                for body in (b"a", b"b"):
                    answer = await transport.request(Request("POST", "/api?x=1", body=body))
                    assert answer.body == b"POST /api?x=1 " + body
        host = address.removeprefix("https://")
        assert [head.splitlines()[0] for head in proxy.heads] == [f"CONNECT {host} HTTP/1.1"] * len(proxy.heads)
        assert "Proxy-Authorization: Basic bWU6c2VjcmV0" in proxy.heads[0]

    run(work())


def test_a_watch_goes_through_a_tunnel(run: Run, tmp_path: Path) -> None:
    async def work() -> None:
        pair, proxy = self_signed(tmp_path, "server"), Proxy()
        async with serve(_two_lines, server_tls(pair)) as address, proxying(proxy) as proxy_address:
            connection = Connection(address, TlsSettings(pair.certificate), proxy=proxy_address)
            async with http_transport(connection) as transport:
                assert [line async for line in transport.stream("/")] == [b"one", b"two"]

    run(work())


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n", "with status 407"),
        (b"SSH-2.0\r\n\r\n", "the proxy: not an answer in HTTP/1.1"),
        (b"", "the proxy closed the connection"),
    ],
)
def test_a_proxy_that_refuses_a_tunnel_is_named_and_nothing_was_sent(run: Run, answer: bytes, message: str) -> None:
    async def work() -> None:
        async with proxying(Proxy(answer)) as proxy_address:
            connection = Connection("https://cluster.invalid", proxy=proxy_address)
            async with http_transport(connection) as transport:
                with pytest.raises(ConnectionFailed, match=message) as caught:
                    await transport.request(Request("POST", "/api", body=b"{}"))
            assert not caught.value.may_have_arrived

    run(work())


def test_a_certificate_is_checked_through_a_tunnel(run: Run, tmp_path: Path) -> None:
    async def work() -> None:
        pair = self_signed(tmp_path, "server")
        async with serve(_echo, server_tls(pair)) as address, proxying(Proxy()) as proxy_address:
            tls, proxy = ssl.create_default_context(), Url.parse(proxy_address)
            client = HttpClient(Url.parse(address), tls, proxy=proxy)
            with pytest.raises(NotSent, match="CERTIFICATE_VERIFY_FAILED"):
                await client.request("GET", "/", SECONDS)
            client.close()

    run(work())
