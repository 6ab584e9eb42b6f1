# SPDX-License-Identifier: Apache-2.0
"""Answers are read together where many are under way, and at once where few are; whoever shares the loop keeps the pause."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic

import pytest
from tests.client.serving import run
from tests.kube.http.http2_peer import answer, connected, settings
from tests.kube.http.test_streams import HEAD, FakeTransport, chunk

from steersman.kube.http.http2 import Http2Answer, Http2Connection
from steersman.kube.http.read_pacing import MANY, MAX_PAUSE_SECONDS, ReadPacing
from steersman.kube.http.streams import BUFFER_BYTES, StreamedAnswer


def begin(connection: Http2Connection, requests: int, ended: list[Http2Answer | OSError]) -> list[int]:
    return [connection.begin(b"", b"{}", monotonic() + 60, ended.append) for _ in range(requests)]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0)


async def pausing() -> ReadPacing:
    """A pacing in whose pause nothing is read."""
    pacing = ReadPacing()
    pacing.answers_read(1, MANY)
    return pacing


def test_many_answers_under_way_are_read_after_a_pause() -> None:
    async def scenario() -> None:
        connection, wire = await connected(settings(streams=100), read_pacing=ReadPacing())
        ended: list[Http2Answer | OSError] = []
        streams = begin(connection, MANY + 1, ended)
        connection.data_received(answer(streams[0]))
        assert len(ended) == 1, "what has come is told at once"
        assert not wire.is_read
        await until(lambda: wire.is_read)

    run(scenario())


def test_few_are_read_as_they_come() -> None:
    async def scenario() -> None:
        connection, wire = await connected(settings(streams=100), read_pacing=ReadPacing())
        streams = begin(connection, MANY, [])
        connection.data_received(answer(streams[0]))
        assert wire.is_read

    run(scenario())


def test_what_comes_in_spite_of_the_pause_is_taken() -> None:
    async def scenario() -> None:
        connection, wire = await connected(settings(streams=100), read_pacing=ReadPacing())
        ended: list[Http2Answer | OSError] = []
        streams = begin(connection, MANY + 2, ended)
        connection.data_received(answer(streams[0]))
        connection.data_received(answer(streams[1]))
        assert len(ended) == 2
        await until(lambda: wire.is_read)
        connection.data_received(answer(streams[2]))
        assert wire.is_read, "fewer are under way by now"

    run(scenario())


def test_a_connection_that_was_lost_in_the_pause_stays_so() -> None:
    async def scenario() -> None:
        pacing = ReadPacing()
        connection, wire = await connected(settings(streams=100), read_pacing=pacing)
        streams = begin(connection, MANY + 1, [])
        connection.data_received(answer(streams[0]))
        connection.connection_lost(None)
        over: list[bool] = []
        assert pacing.pause(lambda: over.append(True))
        await until(lambda: bool(over))
        assert not wire.is_read

    run(scenario())


def test_the_faster_answers_come_the_shorter_the_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        now, pauses = [100.0], list[float]()
        monkeypatch.setattr("steersman.kube.http.read_pacing.monotonic", lambda: now[0])
        pacing, loop = ReadPacing(), asyncio.get_running_loop()
        later = loop.call_later

        def call_later(delay: float, act: Callable[[], None]) -> asyncio.TimerHandle:
            pauses.append(delay)
            return later(0, act)

        monkeypatch.setattr(loop, "call_later", call_later)
        for seconds, answers in ((5.0, 1), (0.008, 32), (0.002, 32), (0.03, 1)):
            now[0] += seconds
            pacing.answers_read(answers, 32)
            over: list[bool] = []
            assert pacing.pause(lambda over=over: over.append(True))  # type: ignore[misc]
            await until(lambda over=over: bool(over))  # type: ignore[misc]
        assert pauses[0] == pauses[3] == MAX_PAUSE_SECONDS
        assert 0 < pauses[2] < pauses[1] < MAX_PAUSE_SECONDS

    asyncio.run(scenario())


def streaming(scenario: Callable[[StreamedAnswer, FakeTransport, ReadPacing], Awaitable[None]]) -> None:
    async def timed() -> None:
        transport, pacing = FakeTransport(), await pausing()
        stream = StreamedAnswer(transport, pacing)
        await scenario(stream, transport, pacing)

    run(timed())


def test_a_stream_keeps_the_pause_of_others() -> None:
    async def scenario(stream: StreamedAnswer, transport: FakeTransport, pacing: ReadPacing) -> None:
        stream.data_received(HEAD + chunk(b"one\n"))
        assert await stream.read(1) == b"one\n"
        assert transport.calls == ["pause"]
        await until(lambda: transport.calls == ["pause", "resume"])
        stream.data_received(chunk(b"two\n"))
        assert transport.calls == ["pause", "resume"], "there is no pause any more"

    streaming(scenario)


def test_a_stream_that_is_full_is_not_read_when_the_pause_is_over() -> None:
    async def scenario(stream: StreamedAnswer, transport: FakeTransport, pacing: ReadPacing) -> None:
        stream.data_received(HEAD + chunk(b"x" * (BUFFER_BYTES + 1)))
        over: list[bool] = []
        assert pacing.pause(lambda: over.append(True))
        await until(lambda: bool(over))
        assert "resume" not in transport.calls
        await stream.read(1)
        assert transport.calls[-1] == "resume"

    streaming(scenario)


def test_a_stream_that_was_emptied_in_the_pause_is_read_when_that_is_over() -> None:
    async def scenario(stream: StreamedAnswer, transport: FakeTransport, pacing: ReadPacing) -> None:
        stream.data_received(HEAD + chunk(b"x" * (BUFFER_BYTES + 1)))
        await stream.read(1)
        assert "resume" not in transport.calls
        await until(lambda: "resume" in transport.calls)

    streaming(scenario)
