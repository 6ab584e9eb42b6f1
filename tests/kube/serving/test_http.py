# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1, byte for byte: what is no request, what has a body, and when a connection stays open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.kube.serving.reviews import Reviews
from tests.kube.serving.running import endpoints

from steersman.base.clock import ManualClock
from steersman.kube.serving import AccessControl, Listen, Server
from steersman.kube.serving.http import Answer, Request, Route, Router, StreamAnswer, text_answer
from steersman.kube.serving.server import HttpServer


def exchanged(*sent: bytes) -> list[bytes]:
    """What comes back for each of them on one connection, until it is closed."""

    async def talk() -> list[bytes]:
        access = AccessControl(Reviews(), ManualClock())
        received = []
        async with Server(Listen("127.0.0.1", 0, None), endpoints(), access) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            for data in sent:
                writer.write(data)
                received.append(await _one_answer(reader))
            writer.close()
        return received

    return asyncio.run(asyncio.wait_for(talk(), 10))


async def _one_answer(reader: asyncio.StreamReader) -> bytes:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as closed:
        return closed.partial
    length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    return head + await reader.read(length)


GET = b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"


def test_a_connection_serves_one_request_after_the_other() -> None:
    first, second = exchanged(GET, GET)
    assert first.startswith(b"HTTP/1.1 200 OK\r\n")
    assert first.endswith(b"\r\n\r\nok")
    assert second.endswith(b"\r\n\r\nok")


def test_who_asks_for_the_end_gets_it() -> None:
    last, nothing = exchanged(b"GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n", GET)
    assert b"Connection: close" in last
    assert nothing == b""


def test_old_clients_are_not_kept_waiting_for_the_end() -> None:
    last, nothing = exchanged(b"GET /livez HTTP/1.0\r\n\r\n", GET)
    assert last.endswith(b"ok")
    assert nothing == b""


@pytest.mark.parametrize(
    "head",
    [
        b"GARBAGE\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nhost: example.com\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\n\r\n",
        b"GET http://[x HTTP/1.1\r\n\r\n",
    ],
)
def test_what_is_no_request_is_answered_once(head: bytes) -> None:
    refusal, nothing = exchanged(head, GET)
    assert refusal.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert nothing == b""


@pytest.mark.parametrize("body", [b"Content-Length: 5", b"Transfer-Encoding: chunked"])
def test_a_body_is_refused_and_not_read_as_a_request(body: bytes) -> None:
    refusal, nothing = exchanged(b"GET /livez HTTP/1.1\r\n" + body + b"\r\n\r\n", GET)
    assert refusal.startswith(b"HTTP/1.1 413 ")
    assert nothing == b""


def test_another_protocol_is_not_spoken() -> None:
    answer, nothing = exchanged(b"GET /livez HTTP/1.1\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n", GET)
    assert answer.endswith(b"ok")
    assert nothing == b""


def test_a_head_has_the_length_of_the_body_that_it_leaves_out() -> None:
    async def talk() -> bytes:
        access = AccessControl(Reviews(), ManualClock())
        async with Server(Listen("127.0.0.1", 0, None), endpoints(), access) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(b"HEAD /livez HTTP/1.1\r\nConnection: close\r\n\r\n")
            received = await reader.read()
            writer.close()
        return received

    answer = asyncio.run(asyncio.wait_for(talk(), 10))
    assert b"\r\nContent-Length: 2\r\n" in answer
    assert answer.endswith(b"\r\n\r\n")


async def _parts(request: Request) -> Answer:
    return text_answer(",".join(f"{name}={value}" for name, value in request.parts.items()))


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("/a/x/y", 200, b"one=x,two=y"),
        ("/a/x", 404, b"404 page not found\n"),
        ("/a//y", 404, b"404 page not found\n"),
        ("/b", 200, b""),
        ("/b/", 404, b"404 page not found\n"),
    ],
)
def test_parts_of_a_path_stand_for_one_word_each(path: str, status: int, text: bytes) -> None:
    router = Router([Route("/a/{one}/{two}", _parts), Route("/b", _parts)])
    answer = asyncio.run(router.answer(Request("GET", path)))
    assert (answer.status, answer.body) == (status, text)


def test_pages_are_read_only() -> None:
    answer = asyncio.run(Router([Route("/b", _parts)]).answer(Request("DELETE", "/b")))
    assert (answer.status, answer.headers) == (405, {"Allow": "GET,HEAD"})


# -- bodies and streams, in servers that have them ----------------------------------------------------------------------


def taken(*sent: bytes, limit: int = 10) -> list[bytes]:
    """What a server answers that takes bodies up to a limit, and says how long they were."""

    async def handler(request: Request) -> Answer:
        return text_answer("too long" if request.body is None else request.body.decode())

    async def talk() -> list[bytes]:
        received = []
        async with HttpServer(Listen("127.0.0.1", 0, None), handler, body_limit=lambda _: limit) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            for data in sent:
                writer.write(data)
                received.append(await _one_answer(reader))
            writer.close()
        return received

    return asyncio.run(asyncio.wait_for(talk(), 10))


def test_a_handler_that_breaks_is_answered_for_and_the_connection_ends(caplog: pytest.LogCaptureFixture) -> None:
    async def handler(request: Request) -> Answer:
        raise RuntimeError("nobody thought of this")

    async def talk() -> bytes:
        async with HttpServer(Listen("127.0.0.1", 0, None), handler) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(GET)
            received = await reader.read()
            writer.close()
        return received

    assert asyncio.run(asyncio.wait_for(talk(), 10)).startswith(b"HTTP/1.1 500 ")
    assert "cannot be answered" in caplog.text


def post(body: bytes) -> bytes:
    return b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


def test_a_body_reaches_the_handler_and_the_next_request_its_own() -> None:
    first, second, third = taken(post(b"hello"), GET, post(b"again"))
    assert first.endswith(b"\r\n\r\nhello")
    assert second.endswith(b"\r\n\r\n")
    assert third.endswith(b"\r\n\r\nagain")


def test_a_body_that_is_too_long_is_not_read_and_ends_the_connection() -> None:
    refusal, nothing = taken(post(b"12345678901"), GET)
    assert refusal.endswith(b"too long")
    assert b"Connection: close" in refusal
    assert nothing == b""


def test_a_chunked_body_reaches_the_handler() -> None:
    head = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    first, second = taken(head + b"3;a=b\r\nhel\r\n2\r\nlo\r\n0\r\nX-Late: yes\r\n\r\n", post(b"again"))
    assert first.endswith(b"\r\n\r\nhello")
    assert second.endswith(b"\r\n\r\nagain")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"zz\r\n", 400),
        (b"2\r\nabc", 400),
        (b"b\r\n12345678901\r\n0\r\n\r\n", 200),
        (b"0\r\n" + b"X: y\r\n" * 20_000, 400),
        (b"1;" + b"x" * 70_000, 400),
        (b"1\r\na\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n", 400),
    ],
)
def test_a_chunked_body_is_bounded_and_errors_end_the_connection(body: bytes, status: int) -> None:
    head = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer, nothing = taken(head + body, GET)
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert status == 400 or answer.endswith(b"too long")
    assert nothing == b""


def test_requests_that_are_sent_before_an_answer_are_answered_in_turn() -> None:
    first, second, third = taken(post(b"one") + post(b"two") + GET, b"", b"")
    assert first.endswith(b"\r\n\r\none")
    assert second.endswith(b"\r\n\r\ntwo")
    assert third.startswith(b"HTTP/1.1 200 ")


def test_data_behind_a_body_that_are_no_request_are_refused() -> None:
    first, second = taken(post(b"hello") + b"more", GET)
    assert first.endswith(b"\r\n\r\nhello")
    assert second.startswith(b"HTTP/1.1 400 ")


def test_a_stream_is_written_piece_by_piece_and_ends_with_its_pieces() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for piece in (b"one", b"two"):
            yield piece

    async def handler(request: Request) -> Answer:
        return StreamAnswer(content_type="text/event-stream", pieces=pieces())

    async def talk() -> bytes:
        async with HttpServer(Listen("127.0.0.1", 0, None), handler) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(GET)
            received = await reader.read()
            writer.close()
            return received

    received = asyncio.run(asyncio.wait_for(talk(), 10))
    head, _, body = received.partition(b"\r\n\r\n")
    assert b"Transfer-Encoding: chunked" in head
    assert b"Content-Length" not in head
    assert body == b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"


def test_a_stream_ends_with_its_client() -> None:
    ended = asyncio.Event()

    async def pieces() -> AsyncIterator[bytes]:
        try:
            yield b"first"
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def handler(request: Request) -> Answer:
        return StreamAnswer(pieces=pieces())

    async def talk() -> None:
        async with HttpServer(Listen("127.0.0.1", 0, None), handler) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(GET)
            await reader.readuntil(b"first\r\n")
            writer.close()
            await ended.wait()

    asyncio.run(asyncio.wait_for(talk(), 10))
