# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1, byte for byte: what is no request, what has a body, and when a connection stays open."""

from __future__ import annotations

import asyncio

import pytest
from tests.serving.reviews import Reviews
from tests.serving.running import endpoints

from steersman.clock import ManualClock
from steersman.serving import AccessControl, Listen, Server
from steersman.serving.http import Answer, Request, Route, Router, text_answer


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
