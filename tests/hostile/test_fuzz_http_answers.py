# SPDX-License-Identifier: Apache-2.0
"""Whatever a server sends in the name of HTTP, a request ends with an answer, a refusal or a failed connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
from hypothesis import example, given, strategies as st
from tests.client.serving import run
from tests.equivalence.examples import examples

from steersman.kube.client import ApiError, Connection, ConnectionFailed, Request, http_transport
from steersman.kube.client.foreign_input import LineAssembler, LineTooLong
from steersman.kube.http.answers import AnswerParser

HEADERS = st.sampled_from(
    [
        b"Content-Length: 5",
        b"Content-Length: -5",
        b"Content-Length: 5, 5",
        b"Content-Length: " + b"9" * 5000,
        b"Content-Length: \xb2",
        b"Content-Length: 99999999999",
        b"Transfer-Encoding: chunked",
        b"Transfer-Encoding: gzip, chunked",
        b"Transfer-Encoding : chunked",
        b"Content-Encoding: gzip",
        b"Connection: close",
        b"Retry-After: " + b"9" * 400,
        b" folded",
        b"no colon",
        b"Location: http://127.0.0.1:9/",
        b"Upgrade: h2c",
        b"\x00: \x00",
        b"",
    ]
)
STATUSES = st.sampled_from(
    b"200 OK|201|204 No|304|100 Continue|101 Switching|199|401 No|410 Gone|429 Slow|500 Oh|000|099|999 X|20|2000 OK|"
    b"\xb2\xb20 OK|-20|".split(b"|")
)
VERSIONS = st.sampled_from([b"HTTP/1.1", b"HTTP/1.0", b"HTTP/2", b"HTTP/1.1 ", b"HTTP/1.", b"http/1.1", b"SSH-2.0"])
BODIES = st.one_of(
    st.sampled_from(
        [
            b"hello",
            b"5\r\nhello\r\n0\r\n\r\n",
            b"5\r\nhello",
            b"-5\r\nhello\r\n",
            b"+5\r\nhello\r\n0\r\n\r\n",
            b"0x5\r\nhello\r\n0\r\n\r\n",
            b"5_0\r\n",
            b"f" * 17 + b"\r\n",
            b"5\r\nhelloXX0\r\n\r\n",
            b"5;" + b"x" * 5000 + b"\r\nhello\r\n",
            b"0\r\n" + b"X: y\r\n" * 20_000,
            b"0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
            b'{"kind": "Status", "code": 99999999999999999999999}',
            b'{"kind": "Status", "code": 200, "details": {"retryAfterSeconds": -1}}',
            b"[" * 5000,
            b'{"message": "\xff\x1b[31m"}',
            b"<html>",
            b"\x1f\x8b\x08\x00",
        ]
    ),
    st.binary(max_size=60),
)


@st.composite
def http_answers(draw: st.DrawFn) -> bytes:
    heads = []
    for _ in range(draw(st.integers(1, 3))):
        lines = [draw(VERSIONS) + b" " + draw(STATUSES), *draw(st.lists(HEADERS, max_size=3))]
        heads.append(b"\r\n".join(lines) + draw(st.sampled_from([b"\r\n\r\n", b"\r\n\r\n", b"\n\n", b""])))
    return b"".join(heads) + draw(BODIES)


INTERIM_WITHOUT_END = b"HTTP/1.1 100 Continue\r\n\r\n" * 5000
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@examples(300)
@given(http_answers(), st.integers(1, 400))
@example(CHUNKED + b"-5\r\nhello\r\n", 400)
@example(CHUNKED + b"-2\r\n" + b"x" * 50, 400)
@example(INTERIM_WITHOUT_END, 100_000)
@example(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 50_000, 1000)
def test_the_parser_answers_waits_or_refuses(data: bytes, size: int) -> None:
    parser = AnswerParser()
    with suppress(ValueError):
        for position in range(0, len(data), size):
            parser.feed(data[position : position + size])
        parser.end()


@pytest.mark.parametrize(
    "data",
    [
        INTERIM_WITHOUT_END,
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 50_000,
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        CHUNKED + b"-2\r\n" + b"x" * 50,
        CHUNKED + b"f" * 17 + b"\r\n",
        CHUNKED + b"2\r\nxxyy0\r\n\r\n",
        CHUNKED + b"0\r\n" + b"X: y\r\n" * 50_000,
        CHUNKED + b"x" * 5000,
    ],
)
def test_what_has_no_end_or_two_meanings_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        AnswerParser().feed(data)


def test_a_body_without_a_length_is_cut_off_where_it_gets_too_long() -> None:
    parser = AnswerParser()
    parser.longest_body = 1000
    parser.feed(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 999)
    with pytest.raises(ValueError, match="more than 1000 bytes"):
        parser.feed(b"xx")


def test_a_line_of_a_watch_is_cut_off_where_it_gets_too_long() -> None:
    assembler = LineAssembler(1000)
    assert assembler.feed(b"a" * 1000 + b"\n" + b"b" * 600) == [b"a" * 1000]
    with pytest.raises(LineTooLong):
        assembler.feed(b"b" * 401)


@asynccontextmanager
async def sending(data: bytes) -> AsyncIterator[str]:
    """The address of a server that says this to everybody and hangs up."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(data)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@examples(60)
@given(http_answers())
@example(INTERIM_WITHOUT_END)
@example(CHUNKED + b"-2\r\n" + b"x" * 50)
@example(b"HTTP/1.1 401 No\r\nContent-Length: 7\r\n\r\n\xff\x1b[31m\n")
@example(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\x00")
def test_requests_and_streams_have_three_outcomes(data: bytes) -> None:
    async def scenario() -> None:
        async with sending(data) as address, http_transport(Connection(address)) as transport:
            for path in ("/api/v1/pods", "/api/v1/nodes/n1"):
                with suppress(ApiError, ConnectionFailed):
                    assert (await transport.request(Request("GET", path, timeout=5.0))).status >= 200
            with suppress(ApiError, ConnectionFailed):
                async for line in transport.stream("/api/v1/pods", {"watch": "true"}):
                    assert line.strip()

    run(scenario())
