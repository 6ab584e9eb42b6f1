# SPDX-License-Identifier: Apache-2.0
"""The body of an answer that goes on, piece by piece: where it ends, breaks, is silent, or comes faster than it is read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from steersman.kube.http.answers import MAX_BODY_BYTES, InvalidAnswer
from steersman.kube.http.streams import BUFFER_BYTES, StreamedAnswer

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
SECONDS = 20.0


class FakeTransport(asyncio.Transport):
    """Remembers what was asked of it."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []
        self.is_closed = False

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol

    def is_closing(self) -> bool:
        return self.is_closed

    def abort(self) -> None:
        self.is_closed = True

    def pause_reading(self) -> None:
        self.calls.append("pause")

    def resume_reading(self) -> None:
        self.calls.append("resume")


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def streaming(scenario: Callable[[StreamedAnswer, FakeTransport], Awaitable[None]]) -> None:
    async def timed() -> None:
        transport = FakeTransport()
        async with asyncio.timeout(SECONDS):
            await scenario(StreamedAnswer(transport), transport)

    asyncio.run(timed())


def test_pieces_come_as_they_arrive_until_the_answer_ends() -> None:
    async def scenario(stream: StreamedAnswer, transport: FakeTransport) -> None:
        stream.data_received(HEAD + chunk(b"one\n")[:5])
        assert await stream.read(SECONDS) == b"on"
        stream.data_received(chunk(b"one\n")[5:] + chunk(b"two\n"))
        assert await stream.read(SECONDS) == b"e\ntwo\n"
        stream.data_received(b"0\r\n\r\n")
        assert await stream.read(SECONDS) == b""
        assert transport.is_closed

    streaming(scenario)


def test_who_waits_is_woken_by_the_next_piece() -> None:
    async def scenario(stream: StreamedAnswer, transport: FakeTransport) -> None:
        stream.data_received(HEAD)
        reading = asyncio.ensure_future(stream.read(SECONDS))
        await asyncio.sleep(0)
        assert not reading.done()
        stream.data_received(chunk(b"late\n"))
        assert await reading == b"late\n"

    streaming(scenario)


def test_status_and_headers_are_known_with_the_head() -> None:
    async def scenario(stream: StreamedAnswer, transport: FakeTransport) -> None:
        assert stream.status == 0
        stream.data_received(b"HTTP/1.1 429 Slow\r\nRetry-After: 3\r\nContent-Length: 4\r\n\r\nwa")
        assert (stream.status, stream.headers["retry-after"]) == (429, "3")
        stream.data_received(b"it")
        assert await stream.read(SECONDS) == b"wait"
        assert await stream.read(SECONDS) == b""
        assert stream.status == 429

    streaming(scenario)


def test_an_answer_without_a_length_ends_with_its_connection() -> None:
    async def scenario(stream: StreamedAnswer, transport: FakeTransport) -> None:
        stream.data_received(b"HTTP/1.1 200 OK\r\n\r\nline\n")
        stream.eof_received()
        assert [await stream.read(SECONDS), await stream.read(SECONDS)] == [b"line\n", b""]

    streaming(scenario)


def test_what_came_before_a_break_is_read_first() -> None:
    async def scenario(stream: StreamedAnswer, transport: FakeTransport) -> None:
        stream.data_received(HEAD + chunk(b"last\n"))
        stream.connection_lost(None)
        assert await stream.read(SECONDS) == b"last\n"
        with pytest.raises(ConnectionResetError):
            await stream.read(SECONDS)

    streaming(scenario)


def test_silence_is_an_end_after_a_while() -> None:
    async def scenario(stream: StreamedAnswer, transport: FakeTransport) -> None:
        stream.data_received(HEAD)
        with pytest.raises(TimeoutError):
            await stream.read(0.001)
        assert transport.is_closed

    streaming(scenario)


def test_one_timer_serves_every_wait_whether_the_next_is_shorter_or_longer() -> None:
    async def scenario(stream: StreamedAnswer, transport: FakeTransport) -> None:
        stream.data_received(HEAD)
        for piece, seconds in ((b"a", SECONDS), (b"b", SECONDS / 2), (b"c", SECONDS)):
            reading = asyncio.ensure_future(stream.read(seconds))
            await asyncio.sleep(0)
            stream.data_received(chunk(piece))
            assert await reading == piece
        with pytest.raises(TimeoutError):
            await stream.read(0.001)
        assert transport.is_closed

    streaming(scenario)


def test_a_timeout_without_a_waiter_ends_nothing() -> None:
    async def scenario(stream: StreamedAnswer, transport: FakeTransport) -> None:
        stream.data_received(HEAD)
        reading = asyncio.ensure_future(stream.read(SECONDS))
        await asyncio.sleep(0)
        stream.data_received(chunk(b"a"))
        assert await reading == b"a"
        stream._time_out()
        assert not transport.is_closed
        stream.data_received(chunk(b"b"))
        assert await stream.read(SECONDS) == b"b"

    streaming(scenario)


@pytest.mark.parametrize("wrong", [b"SSH-2.0\r\n\r\n", HEAD + b"zz\r\n"])
def test_what_is_no_answer_is_refused(wrong: bytes) -> None:
    async def scenario(stream: StreamedAnswer, transport: FakeTransport) -> None:
        stream.data_received(wrong)
        with pytest.raises(InvalidAnswer):
            await stream.read(SECONDS)
        assert transport.is_closed

    streaming(scenario)


def test_a_server_that_is_faster_than_the_reader_has_to_wait() -> None:
    async def scenario(stream: StreamedAnswer, transport: FakeTransport) -> None:
        stream.data_received(HEAD + chunk(b"x" * BUFFER_BYTES))
        assert transport.calls == []
        stream.data_received(chunk(b"y"))
        stream.data_received(chunk(b"z"))
        assert transport.calls == ["pause"]
        assert len(await stream.read(SECONDS)) == BUFFER_BYTES + 2
        assert transport.calls == ["pause", "resume"]

    streaming(scenario)


def test_a_stream_may_be_longer_than_a_body() -> None:
    async def scenario(stream: StreamedAnswer, transport: FakeTransport) -> None:
        stream.data_received(HEAD)
        piece = chunk(b"x" * (1 << 20))
        for _ in range(2 * MAX_BODY_BYTES >> 20):
            stream.data_received(piece)
            assert len(await stream.read(SECONDS)) == 1 << 20

    streaming(scenario)
