# SPDX-License-Identifier: Apache-2.0
"""Answers are put together however the network cuts them up."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from steersman.kube.http.answers import AnswerParser, HttpAnswer

CUTS = st.lists(st.integers(1, 40), max_size=30)


def pieces(data: bytes, sizes: list[int]) -> list[bytes]:
    parts = []
    for size in sizes:
        parts.append(data[:size])
        data = data[size:]
    return [part for part in (*parts, data) if part]


def answers(data: bytes, sizes: list[int] | None = None) -> list[HttpAnswer]:
    parser = AnswerParser()
    found = [parser.feed(piece) for piece in pieces(data, sizes or [])]
    return [answer for answer in found if answer is not None]


@given(CUTS)
def test_a_body_with_a_length(sizes: list[int]) -> None:
    data = b'HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{"kind":"x"}'[:-1]
    assert answers(data, sizes) == [
        HttpAnswer(201, {"content-type": "application/json", "content-length": "11"}, b'{"kind":"x"')
    ]


@given(CUTS, st.lists(st.binary(min_size=1, max_size=50), max_size=6))
def test_a_body_in_chunks(sizes: list[int], chunks: list[bytes]) -> None:
    body = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"
    data = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body
    assert [answer.body for answer in answers(data, sizes)] == [b"".join(chunks)]


def test_trailers_and_extensions_of_chunks_are_read_over() -> None:
    data = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;name=value\r\nabc\r\n0\r\nX-Late: yes\r\n\r\n"
    assert [answer.body for answer in answers(data)] == [b"abc"]


@pytest.mark.parametrize("status", [204, 304])
def test_some_answers_have_no_body(status: int) -> None:
    assert answers(b"HTTP/1.1 %d Nothing\r\n\r\n" % status) == [HttpAnswer(status, {}, b"")]


def test_an_interim_answer_is_not_the_answer() -> None:
    data = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    assert [(answer.status, answer.body) for answer in answers(data)] == [(200, b"ok")]


def test_a_body_without_a_length_ends_with_the_connection() -> None:
    parser = AnswerParser()
    assert parser.feed(b"HTTP/1.1 200 OK\r\n\r\nhalf") is None
    assert parser.feed(b" and half") is None
    answer = parser.end()
    assert answer is not None
    assert answer.body == b"half and half"
    assert not parser.keeps_alive


def test_the_end_of_the_connection_does_not_complete_a_body_with_a_length() -> None:
    parser = AnswerParser()
    parser.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
    assert parser.end() is None


@pytest.mark.parametrize(
    ("head", "keeps"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", False),
    ],
)
def test_whether_the_connection_can_be_used_again(head: bytes, keeps: bool) -> None:
    parser = AnswerParser()
    assert parser.feed(head) is not None
    assert parser.keeps_alive is keeps


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"x" * (1 << 18),
    ],
)
def test_what_is_no_answer_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        answers(data)
