# SPDX-License-Identifier: Apache-2.0
"""Connections for writes over HTTP/2 are opened, shared and replaced; other servers are spoken to in HTTP/1.1."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
import uvloop
from aiohttp import web
from tests.client.serving import KeyPair, run, self_signed, serve, server_tls
from tests.kube.http.http2_peer import (
    DATA,
    END_STREAM,
    GO_AWAY,
    HEAD,
    HEADERS,
    PREFACE,
    answer,
    frame,
    number,
    settings,
)

from steersman.kube.client import ApiError, Connection, ConnectionFailed, http_transport
from steersman.kube.client.connection import TlsSettings
from steersman.kube.client.requests import Request
from steersman.kube.http.connector import Connector, NotSent
from steersman.kube.http.http2 import ALPN
from steersman.kube.http.http2_requests import Http2Requests
from steersman.kube.http.url import Url

BLOCK = b"\x83\x87\x84"
SECONDS = 5.0


def connector(port: int) -> Connector:
    return Connector(Url("http", "127.0.0.1", port))


Answering = Callable[[int, int, bytes], bytes]
"""The connection's number, the stream and the body of a request; what is sent back."""


class Http2Server:
    """Answers each request when it is complete."""

    def __init__(self, answering: Answering = lambda connection, stream, body: answer(stream, body)) -> None:
        self._answering = answering
        self.connections = 0
        self.blocks: list[bytes] = []
        self._open: dict[asyncio.StreamWriter, asyncio.Event] = {}

    async def hang_up(self) -> None:
        for writer, ended in list(self._open.items()):
            writer.transport.abort()
            await ended.wait()
        await asyncio.sleep(0.01)  # aborted TLS connections end a turn later

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        ended = self._open[writer] = asyncio.Event()
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            assert await reader.readexactly(len(PREFACE)) == PREFACE
            writer.write(settings(streams=2))
            await self._answer(reader, writer, self.connections)
        writer.transport.abort()
        ended.set()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        while True:
            high, low, kind, flags, stream = HEAD.unpack(await reader.readexactly(HEAD.size))
            payload = await reader.readexactly(high << 8 | low)
            if kind == HEADERS:
                self.blocks.append(payload)
            if kind in (HEADERS, DATA) and flags & END_STREAM:
                writer.write(self._answering(number, stream, payload if kind == DATA else b""))


@asynccontextmanager
async def listening(server: Http2Server, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    accepting = await asyncio.start_server(server.handle, "127.0.0.1", 0, ssl=tls)
    try:
        yield accepting.sockets[0].getsockname()[1]
    finally:
        accepting.close()
        await server.hang_up()


def test_many_requests_share_one_connection_and_wait_for_room() -> None:
    async def script() -> None:
        server = Http2Server()
        async with listening(server) as port:
            requests = Http2Requests(connector(port))
            bodies = [b"%d" % index for index in range(50)]
            answers = await asyncio.gather(*(requests.exchange(BLOCK, body, SECONDS, SECONDS) for body in bodies))
            assert [each.body for each in answers] == bodies
            assert server.connections == 1
            requests.close()

    run(script())


def test_a_server_that_goes_away_is_connected_to_again() -> None:
    def leaving(connection: int, stream: int, body: bytes) -> bytes:
        return answer(stream, body) + (frame(GO_AWAY, 0, 0, number(stream) + number(0)) if connection == 1 else b"")

    async def script() -> None:
        server = Http2Server(leaving)
        async with listening(server) as port:
            requests = Http2Requests(connector(port))
            for body in (b"a", b"b", b"c"):
                assert (await requests.exchange(BLOCK, body, SECONDS, SECONDS)).body == body
            assert server.connections == 2
            requests.close()

    run(script())


def test_without_a_server_nothing_was_sent() -> None:
    async def script() -> None:
        requests = Http2Requests(connector(1))
        with pytest.raises(NotSent):
            await requests.exchange(BLOCK, b"", SECONDS, SECONDS)

    run(script())


def test_who_finds_no_room_in_time_has_sent_nothing_and_the_next_one_gets_the_room() -> None:
    async def script() -> None:
        held: list[int] = []

        def hold(connection: int, stream: int, body: bytes) -> bytes:
            if body == b"held":
                held.append(stream)
            return b"" if body == b"held" else answer(stream, body)

        async with listening(Http2Server(hold)) as port:
            requests = Http2Requests(connector(port))
            await requests.exchange(BLOCK, b"until the settings have come", SECONDS, SECONDS)
            first = [asyncio.ensure_future(requests.exchange(BLOCK, b"held", SECONDS, SECONDS)) for _ in range(2)]
            while len(held) < 2:
                await asyncio.sleep(0)
            with pytest.raises(NotSent):
                await requests.exchange(BLOCK, b"2", 0.03, 0.03)
            waiting = asyncio.ensure_future(requests.exchange(BLOCK, b"3", SECONDS, SECONDS))
            await asyncio.sleep(0)
            first[0].cancel()
            assert (await waiting).body == b"3"
            first[1].cancel()
            requests.close()

    run(script())


# -- over TLS ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> KeyPair:
    return self_signed(Path(tmp_path_factory.mktemp("keys")), "server")


def tls_with_http2(pair: KeyPair) -> ssl.SSLContext:
    tls = server_tls(pair)
    tls.set_alpn_protocols(ALPN)
    return tls


def connection_to(port: int, pair: KeyPair, *, http2: bool = True) -> Connection:
    return Connection(f"https://127.0.0.1:{port}", TlsSettings(pair.certificate), http2=http2)


@pytest.mark.parametrize("loop_factory", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_writes_go_over_http2_and_refusals_come_back(
    pair: KeyPair, loop_factory: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    def busy(connection: int, stream: int, body: bytes) -> bytes:
        return answer(stream, b"{}", 429, ("retry-after", "7")) if body == b"busy" else answer(stream, body, 201)

    async def script() -> None:
        server = Http2Server(busy)
        async with (
            listening(server, tls_with_http2(pair)) as port,
            http_transport(connection_to(port, pair), multiplexes=True) as transport,
        ):
            granted = await transport.request(Request("POST", "/api/v1/pods", body=b"{}", timeout=SECONDS))
            assert (granted.status, granted.body) == (201, b"{}")
            with pytest.raises(ApiError) as refusal:
                await transport.request(Request("POST", "/api/v1/pods", body=b"busy", timeout=SECONDS))
            assert (refusal.value.code, refusal.value.retry_after) == (429, 7.0)
            assert b"/api/v1/pods" in server.blocks[0]
            assert server.connections == 1

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(asyncio.wait_for(script(), 20))


@pytest.mark.parametrize("http2", [True, False], ids=["is not offered", "is turned off"])
def test_a_server_is_written_to_in_http1_where_http2(pair: KeyPair, http2: bool) -> None:
    seen: list[tuple[str, tuple[int, int]]] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append((request.path, (request.version.major, request.version.minor)))
        return web.json_response({}, status=201)

    async def script() -> None:
        tls = server_tls(pair) if http2 else tls_with_http2(pair)
        async with serve(handler, tls) as address:
            port = int(address.rpartition(":")[2])
            async with http_transport(connection_to(port, pair, http2=http2), multiplexes=True) as transport:
                for name in "ab":
                    await transport.request(Request("POST", f"/{name}", body=b"{}", timeout=SECONDS))
        assert seen == [("/a", (1, 1)), ("/b", (1, 1))]

    run(script())


def test_reads_stay_on_http1(pair: KeyPair) -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.json_response({})

    async def script() -> None:
        async with serve(handler, server_tls(pair)) as address:
            port = int(address.rpartition(":")[2])
            async with http_transport(connection_to(port, pair), multiplexes=True) as transport:
                assert (await transport.request(Request("GET", "/api/v1/nodes", timeout=SECONDS))).date

    run(script())


def test_a_server_that_breaks_off_may_have_done_what_it_was_asked(pair: KeyPair) -> None:
    async def script() -> None:
        server = Http2Server(lambda connection, stream, body: b"\xff" * 9)
        async with (
            listening(server, tls_with_http2(pair)) as port,
            http_transport(connection_to(port, pair), multiplexes=True) as transport,
        ):
            with pytest.raises(ConnectionFailed) as failure:
                await transport.request(Request("POST", "/api/v1/pods", body=b"{}", timeout=SECONDS))
            assert failure.value.may_have_arrived

    run(script())


def test_an_untrusted_certificate_is_refused(pair: KeyPair, tmp_path: Path) -> None:
    stranger = self_signed(tmp_path, "stranger")

    async def script() -> None:
        async with (
            listening(Http2Server(), tls_with_http2(stranger)) as port,
            http_transport(connection_to(port, pair), multiplexes=True) as transport,
        ):
            with pytest.raises(ConnectionFailed) as failure:
                await transport.request(Request("POST", "/api/v1/pods", body=b"{}", timeout=SECONDS))
            assert not failure.value.may_have_arrived

    run(script())
