# SPDX-License-Identifier: Apache-2.0
"""Connections are kept, shared and given up; on asyncio's own event loop and on uvloop."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import pytest
import uvloop

from steersman.kube.http.answers import InvalidAnswer
from steersman.kube.http.connector import Connector, NotSent
from steersman.kube.http.http1 import MAX_HANDSHAKES, Channel, ChannelPool
from steersman.kube.http.url import Url

T = TypeVar("T")
Run = Callable[[Awaitable[T]], T]
REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
SECONDS = 20.0


def connector(port: int) -> Connector:
    return Connector(Url("http", "127.0.0.1", port))


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Callable[[Awaitable[None]], None]:
    def until_done(work: Awaitable[None]) -> None:
        async def timed() -> None:
            async with asyncio.timeout(SECONDS):
                await work

        with asyncio.Runner(loop_factory=request.param) as runner:
            runner.run(timed())

    return until_done


class Server:
    """Answers every request with what `answer` says; None: not at all."""

    def __init__(self, answer: Callable[[int], bytes | None] = lambda number: OK) -> None:
        self._answer = answer
        self.port = 0
        self.connections = 0
        self.requests = 0
        #: Requests are answered while it is set.
        self.awake = asyncio.Event()
        self.awake.set()
        self.writers: list[asyncio.StreamWriter] = []

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writers.append(writer)
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                self.requests += 1
                answer = self._answer(self.requests)
                await self.awake.wait()
                if answer is not None:
                    writer.write(answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


@asynccontextmanager
async def serving(server: Server) -> AsyncIterator[ChannelPool]:
    listening = await asyncio.start_server(server.handle, "127.0.0.1", 0)
    server.port = listening.sockets[0].getsockname()[1]
    pool = ChannelPool(connector(server.port), most=3)
    try:
        yield pool
    finally:
        pool.close()
        listening.close()
        for writer in server.writers:
            writer.close()


Runs = Callable[[Awaitable[None]], None]


def test_a_connection_is_used_again(run: Runs) -> None:
    async def work() -> None:
        server = Server()
        async with serving(server) as pool:
            for _ in range(5):
                assert (await pool.exchange(REQUEST, 5, 5)).body == b"ok"
            assert (server.connections, server.requests) == (1, 5)

    run(work())


def test_there_are_no_more_connections_than_allowed(run: Runs) -> None:
    async def work() -> None:
        server = Server()
        server.awake.clear()
        async with serving(server) as pool, asyncio.TaskGroup() as group:
            tasks = [group.create_task(pool.exchange(REQUEST, 10, 10)) for _ in range(20)]
            while server.requests < 3:
                await asyncio.sleep(0)
            server.awake.set()
            await asyncio.wait(tasks)
            assert server.connections == 3
            assert server.requests == 20

    run(work())


class Unfriendly:
    """A server that hears the beginning of a TLS handshake, and hangs up as soon as it may."""

    def __init__(self) -> None:
        self.knocking = 0
        self.may_hang_up = asyncio.Event()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.knocking += 1
        await reader.read(1)
        await self.may_hang_up.wait()
        writer.close()


def test_few_handshakes_are_under_way_at_once(run: Runs) -> None:
    async def scenario() -> None:
        server = Unfriendly()
        listening = await asyncio.start_server(server.handle, "127.0.0.1", 0)
        async with listening:
            port = listening.sockets[0].getsockname()[1]
            pool = ChannelPool(Connector(Url.parse(f"https://127.0.0.1:{port}"), ssl.create_default_context()), most=20)
            requests = [asyncio.ensure_future(pool.exchange(REQUEST, SECONDS, SECONDS)) for _ in range(15)]
            while server.knocking < MAX_HANDSHAKES:
                await asyncio.sleep(0)
            for _ in range(100):
                await asyncio.sleep(0)
            assert server.knocking == MAX_HANDSHAKES
            server.may_hang_up.set()
            outcomes = await asyncio.gather(*requests, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [NotSent] * 15, "everybody had a turn"

    run(scenario())


def test_a_stream_goes_over_a_connection_that_is_there_and_leaves_room_for_another(run: Runs) -> None:
    async def scenario() -> None:
        server = Server()
        async with serving(server) as pool:
            await pool.exchange(REQUEST, SECONDS, SECONDS)
            stream = await pool.begin_stream(REQUEST, SECONDS)
            assert await stream.read(SECONDS) == b"ok"
            assert server.connections == 1
            pool.end_stream(stream)
            server.awake.clear()
            waiting = [asyncio.ensure_future(pool.exchange(REQUEST, SECONDS, SECONDS)) for _ in range(3)]
            while server.requests < 5:
                await asyncio.sleep(0)
            server.awake.set()
            await asyncio.gather(*waiting)
            assert server.connections == 4

    run(scenario())


def test_a_pool_that_is_closed_cuts_its_streams(run: Runs) -> None:
    async def scenario() -> None:
        server = Server(lambda number: None)
        async with serving(server) as pool:
            stream = await pool.begin_stream(REQUEST, SECONDS)
            pool.close()
            with pytest.raises(ConnectionResetError):
                await stream.read(SECONDS)

    run(scenario())


def test_a_connection_that_the_server_closed_is_replaced(run: Runs) -> None:
    async def work() -> None:
        server = Server(lambda number: OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        async with serving(server) as pool:
            for _ in range(3):
                await pool.exchange(REQUEST, 5, 5)
            assert server.connections == 3

    run(work())


def test_a_connection_that_breaks_while_it_is_handed_over_is_not_waited_for(run: Runs) -> None:
    async def scenario() -> None:
        server = Server()
        async with serving(server):
            loop = asyncio.get_running_loop()
            _, channel = await loop.create_connection(Channel, "127.0.0.1", server.port)
            assert channel.is_open
            channel.close()
            with pytest.raises(NotSent):
                await channel.exchange(REQUEST, 0.1)

    run(scenario())


def test_a_request_without_an_answer_gives_its_connection_up(run: Runs) -> None:
    async def work() -> None:
        server = Server(lambda number: None if number == 1 else OK)
        async with serving(server) as pool:
            with pytest.raises(TimeoutError):
                await pool.exchange(REQUEST, 0.05, 5)
            assert (await pool.exchange(REQUEST, 5, 5)).status == 200
            assert server.connections == 2

    run(work())


def test_a_cancelled_request_leaves_no_answer_for_the_next_one(run: Runs) -> None:
    async def work() -> None:
        server = Server(lambda number: OK.replace(b"ok", b"%02d" % number))
        server.awake.clear()
        async with serving(server) as pool:
            task = asyncio.create_task(pool.exchange(REQUEST, 10, 10))
            while server.requests < 1:
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            server.awake.set()
            assert (await pool.exchange(REQUEST, 5, 5)).body == b"02"

    run(work())


def test_who_stops_waiting_for_a_connection_takes_none_along(run: Runs) -> None:
    async def work() -> None:
        server = Server()
        server.awake.clear()
        async with serving(server) as pool:
            busy = [asyncio.create_task(pool.exchange(REQUEST, 10, 10)) for _ in range(3)]
            while server.requests < 3:
                await asyncio.sleep(0)
            with pytest.raises(NotSent, match="became free in time"):
                await pool.exchange(REQUEST, 0.02, 0.02)
            server.awake.set()
            await asyncio.gather(*busy)
            await asyncio.gather(*(pool.exchange(REQUEST, 10, 10) for _ in range(9)))
            assert server.connections == 3

    run(work())


def test_without_a_server_nothing_is_sent(run: Runs) -> None:
    async def work() -> None:
        server = Server()
        async with serving(server):
            pass
        with pytest.raises(NotSent):
            await ChannelPool(connector(server.port)).exchange(REQUEST, 5, 5)

    run(work())


def test_what_is_not_http_is_refused(run: Runs) -> None:
    async def work() -> None:
        server = Server(lambda number: b"hello\r\n\r\n")
        async with serving(server) as pool:
            with pytest.raises(InvalidAnswer, match="not an answer in HTTP"):
                await pool.exchange(REQUEST, 5, 5)

    run(work())


def test_a_connection_lost_in_the_middle_of_an_answer(run: Runs) -> None:
    async def work() -> None:
        server = Server(lambda number: OK[:-1])
        async with serving(server) as pool:
            task = asyncio.create_task(pool.exchange(REQUEST, 10, 10))
            while server.requests < 1:
                await asyncio.sleep(0)
            server.writers[0].close()
            with pytest.raises(ConnectionResetError):
                await task

    run(work())
