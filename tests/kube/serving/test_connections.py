# SPDX-License-Identifier: Apache-2.0
"""What one client may hold of the server: connections, time, memory. On asyncio's own event loop and on uvloop."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec
import pytest
import uvloop
from tests.kube.serving.reviews import Reviews
from tests.kube.serving.running import endpoints

from steersman.base.clock import ManualClock
from steersman.kube.serving import (
    AccessControl,
    ConnectionLimits,
    Endpoints,
    Listen,
    SchedulingLoopBusy,
    Server,
    http_connection as http_module,
)
from steersman.kube.serving.listener import Listener

SECONDS = 20.0
METRICS = b"GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer monitor\r\n\r\n"
GET = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
Run = Callable[[Awaitable[None]], None]
Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    def until_done(work: Awaitable[None]) -> None:
        async def timed() -> None:
            async with asyncio.timeout(SECONDS):
                await work

        with asyncio.Runner(loop_factory=request.param) as runner:
            runner.run(timed())

    return until_done


@asynccontextmanager
async def serving(shown: Endpoints | None = None, **limits: float) -> AsyncIterator[Server]:
    access = AccessControl(Reviews(), ManualClock())
    chosen = ConnectionLimits(**limits)  # type: ignore[arg-type]
    async with Server(Listen("127.0.0.1", 0), shown or endpoints(), access, limits=chosen) as server:
        yield server


class Clients:
    """Connections that are closed at the end."""

    def __init__(self, server: Server, stack: AsyncExitStack) -> None:
        self._server = server
        self._stack = stack

    async def connect(self) -> Stream:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._server.port)
        self._stack.callback(writer.close)
        return reader, writer

    async def is_answered(self) -> bool:
        reader, writer = await self.connect()
        writer.write(GET)
        return (await reader.readline()).startswith(b"HTTP/1.1 200")


@asynccontextmanager
async def clients(shown: Endpoints | None = None, **limits: float) -> AsyncIterator[tuple[Server, Clients]]:
    async with serving(shown, **limits) as server, AsyncExitStack() as stack:
        yield server, Clients(server, stack)


class LongPage:
    """More than fits between two that do not read."""

    def __init__(self) -> None:
        self.shown = asyncio.Event()

    async def show(self) -> bytes:
        self.shown.set()
        return b"x" * (64 << 20)


async def is_cut(stream: Stream) -> bool:
    """Waits for the end of the connection."""
    try:
        return await stream[0].read() == b""
    except ConnectionError:
        return True


def test_a_silent_connection_is_cut_after_the_time_for_a_head(run: Run) -> None:
    async def scenario() -> None:
        async with clients(head=0.05) as (_, some):
            assert await is_cut(await some.connect())

    run(scenario())


def test_dripping_bytes_does_not_prolong_the_time_for_a_head(run: Run) -> None:
    async def scenario() -> None:
        async with clients(head=0.1) as (_, some):
            reader, writer = await some.connect()
            cut = asyncio.ensure_future(is_cut((reader, writer)))
            while not cut.done():
                writer.write(b"G")
                await asyncio.sleep(0.01)
            assert await cut

    run(scenario())


def test_a_connection_is_kept_between_requests_for_the_time_that_is_for_that(run: Run) -> None:
    async def scenario() -> None:
        async with clients(head=0.05, idle=SECONDS) as (server, some):
            reader, writer = await some.connect()
            for _ in range(2):
                writer.write(GET)
                head = await reader.readuntil(b"\r\n\r\n")
                assert head.startswith(b"HTTP/1.1 200")
                assert await reader.readexactly(2) == b"ok"
                await asyncio.sleep(0.1)
            assert len(server.connections) == 1
        async with clients(head=SECONDS, idle=0.05) as (_, some):
            reader, writer = await some.connect()
            writer.write(GET)
            await reader.readuntil(b"ok")
            assert await is_cut((reader, writer))

    run(scenario())


def test_requests_that_come_together_are_answered_one_after_the_other(run: Run) -> None:
    async def scenario() -> None:
        async with clients() as (_, some):
            reader, writer = await some.connect()
            writer.write(GET * 50)
            for _ in range(50):
                assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
                assert await reader.readexactly(2) == b"ok"

    run(scenario())


def test_a_head_may_come_in_any_pieces(run: Run) -> None:
    async def scenario() -> None:
        async with clients() as (_, some):
            reader, writer = await some.connect()
            for byte in GET:
                writer.write(bytes([byte]))
                await asyncio.sleep(0)
            assert (await reader.readline()).startswith(b"HTTP/1.1 200")

    run(scenario())


def test_a_head_that_is_too_long_is_refused(run: Run) -> None:
    async def scenario() -> None:
        async with clients(head_bytes=1000) as (_, some):
            reader, writer = await some.connect()
            writer.write(b"GET / HTTP/1.1\r\nX: " + b"x" * 2000)
            assert (await reader.read()).startswith(b"HTTP/1.1 431 ")

    run(scenario())


def test_a_body_is_refused_and_ends_the_connection(run: Run) -> None:
    async def scenario() -> None:
        async with clients() as (_, some):
            reader, writer = await some.connect()
            writer.write(b"GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\n\r\n" + GET)
            answer = await reader.read()
            assert answer.startswith(b"HTTP/1.1 413 ")
            assert answer.count(b"HTTP/1.1") == 1, "a body is no second request"

    run(scenario())


def test_who_has_waited_longest_makes_room_for_a_newcomer(run: Run) -> None:
    async def scenario() -> None:
        async with clients(connections=3, connections_of_one_address=100) as (server, some):
            silent = [await some.connect() for _ in range(3)]
            while len(server.connections) < 3:
                await asyncio.sleep(0.001)
            assert await some.is_answered()
            assert await is_cut(silent[0])
            assert len(server.connections) == 3

    run(scenario())


def test_one_address_has_only_a_share_of_the_connections(run: Run) -> None:
    async def scenario() -> None:
        async with clients(connections_of_one_address=5) as (server, some):
            for _ in range(50):
                await some.connect()
            assert await some.is_answered()
            assert len(server.connections) <= 5

    run(scenario())


def test_a_request_under_way_does_not_make_room(run: Run) -> None:
    async def scenario() -> None:
        going_on = asyncio.Event()

        async def metrics() -> bytes:
            await going_on.wait()
            return b"done\n"

        async with clients(msgspec.structs.replace(endpoints(), metrics=metrics), connections=1) as (server, some):
            reader, writer = await some.connect()
            writer.write(METRICS)
            while not server.connections.busy:
                await asyncio.sleep(0.001)
            assert await is_cut(await some.connect())
            going_on.set()
            assert (await reader.readline()).startswith(b"HTTP/1.1 200")

    run(scenario())


def test_who_does_not_read_makes_room_for_a_newcomer(run: Run) -> None:
    async def scenario() -> None:
        page = LongPage()
        async with clients(msgspec.structs.replace(endpoints(), metrics=page.show), connections=1) as (server, some):
            _, writer = await some.connect()
            writer.write(METRICS)
            await page.shown.wait()
            while server.connections.busy:
                await asyncio.sleep(0.001)
            assert len(server.connections) == 1
            assert await some.is_answered()

    run(scenario())


def test_an_answer_that_is_not_read_is_given_up(
    run: Run, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(http_module, "WRITE_SECONDS", 0.1)

    async def scenario() -> None:
        page = LongPage()
        async with clients(msgspec.structs.replace(endpoints(), metrics=page.show)) as (server, some):
            _, writer = await some.connect()
            writer.write(METRICS)
            await page.shown.wait()
            while len(server.connections):
                await asyncio.sleep(0.001)

    run(scenario())
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_a_long_answer_arrives_whole(run: Run) -> None:
    text = bytes(range(65, 91)) * 50_000

    async def metrics() -> bytes:
        return text

    async def scenario() -> None:
        async with clients(msgspec.structs.replace(endpoints(), metrics=metrics)) as (_, some):
            reader, writer = await some.connect()
            for _ in range(2):
                writer.write(METRICS)
                head = await reader.readuntil(b"\r\n\r\n")
                assert f"Content-Length: {len(text)}".encode() in head
                assert await reader.readexactly(len(text)) == text

    run(scenario())


def test_a_server_without_descriptors_goes_on_when_there_are_some(
    run: Run, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    accept, failures = Listener._accept_one, [OSError(errno.EMFILE, "Too many open files") for _ in range(3)]

    async def accept_or_fail(self: Listener, listening: socket.socket, group: asyncio.TaskGroup) -> None:
        if failures:
            raise failures.pop()
        await accept(self, listening, group)

    monkeypatch.setattr(Listener, "_accept_one", accept_or_fail)

    async def scenario() -> None:
        async with clients() as (_, some):
            assert await some.is_answered()

    run(scenario())
    assert len([text for text in caplog.messages if "Too many open files" in text]) == 1, "it is said once"


def test_a_page_that_breaks_is_an_answer_too(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    async def metrics() -> bytes:
        raise ZeroDivisionError("nobody expects this")

    async def scenario() -> None:
        async with clients(msgspec.structs.replace(endpoints(), metrics=metrics)) as (_, some):
            reader, writer = await some.connect()
            for _ in range(2):
                writer.write(METRICS)
                assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 500")
                assert await reader.readline() == b"Internal Server Error\n"

    run(scenario())
    assert "/metrics cannot be shown" in caplog.messages


def test_a_busy_scheduling_loop_is_an_answer_of_its_own(run: Run) -> None:
    async def metrics() -> bytes:
        raise SchedulingLoopBusy("the scheduling loop has not answered\n")

    async def scenario() -> None:
        async with clients(msgspec.structs.replace(endpoints(), metrics=metrics)) as (_, some):
            reader, writer = await some.connect()
            writer.write(METRICS)
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 503")
            assert await reader.readline() == b"the scheduling loop has not answered\n"

    run(scenario())
