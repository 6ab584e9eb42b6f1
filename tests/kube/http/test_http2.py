# SPDX-License-Identifier: Apache-2.0
"""Requests that share an HTTP/2 connection, and what a server may do to it; the other end is in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from time import monotonic
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.client.serving import run
from tests.equivalence.examples import examples
from tests.kube.http.http2_peer import (
    ACK,
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    GO_AWAY,
    HEADERS,
    PADDED,
    PING,
    PRIORITY,
    PUSH,
    RESET,
    SETTINGS,
    WINDOW_UPDATE,
    Wire,
    answer,
    connected,
    frame,
    head,
    number,
    settings,
    turn,
)

from steersman.kube.http import http2
from steersman.kube.http.answers import InvalidAnswer
from steersman.kube.http.connector import NotSent
from steersman.kube.http.http2 import MAX_STREAMS, Http2Answer, Http2Connection

SECONDS = 5.0
Script = Callable[[Http2Connection, Wire], Awaitable[None]]


def ask(connection: Http2Connection, body: bytes | None = b"{}", seconds: float = SECONDS) -> asyncio.Task[Http2Answer]:
    return asyncio.ensure_future(_ask(connection, body, seconds))


async def _ask(connection: Http2Connection, body: bytes | None, seconds: float) -> Http2Answer:
    return await connection.exchange(b"head", body, monotonic() + seconds)


def play(script: Callable[[Http2Connection, Wire], Coroutine[Any, Any, None]], *greeting: bytes) -> None:
    async def played() -> None:
        await script(*await connected(*greeting))

    run(played())


def test_the_client_says_that_it_remembers_no_headers_and_wants_nothing_pushed() -> None:
    async def script() -> None:
        connection, wire = Http2Connection(), Wire()
        connection.connection_made(wire)
        await turn()
        first, second = wire.taken()
        assert (first.kind, first.payload[:6], first.payload[6:12]) == (SETTINGS, b"\0\1\0\0\0\0", b"\0\2\0\0\0\0")
        assert second.kind == WINDOW_UPDATE

    run(script())


def test_requests_of_one_turn_leave_in_one_packet_and_answers_find_them_in_any_order() -> None:
    async def script(connection: Http2Connection, wire: Wire) -> None:
        asked = [ask(connection, b"%d" % number) for number in range(3)]
        await turn()
        assert len(wire.packets) == 1
        sent = wire.taken()
        assert [(each.kind, each.stream) for each in sent] == [
            (kind, stream) for stream in (1, 3, 5) for kind in (HEADERS, DATA)
        ]
        assert [each.payload for each in sent[1::2]] == [b"0", b"1", b"2"]
        assert all(each.flags & END_STREAM for each in sent[1::2])
        connection.data_received(answer(5, b"c", 201) + answer(1, b"a") + answer(3, b"b", 404))
        assert [((await each).status, (await each).body) for each in asked] == [(200, b"a"), (404, b"b"), (201, b"c")]

    play(script)


def test_a_request_without_a_body_ends_with_its_head() -> None:
    async def script(connection: Http2Connection, wire: Wire) -> None:
        asked = ask(connection, None)
        await turn()
        (sent,) = wire.taken()
        assert sent.flags == END_HEADERS | END_STREAM
        connection.data_received(frame(HEADERS, END_HEADERS | END_STREAM, 1, head(204)))
        assert await asked == Http2Answer(204, head(204), b"")

    play(script)


def test_headers_are_read_when_they_are_requested() -> None:
    async def script(connection: Http2Connection, wire: Wire) -> None:
        asked = ask(connection)
        await turn()
        connection.data_received(answer(1, b"", 429, ("retry-after", "7")))
        assert (await asked).header("retry-after") == "7"
        broken = Http2Answer(200, b"\x88\x0f", b"")
        with pytest.raises(InvalidAnswer):
            broken.header("retry-after")

    play(script)


def test_padding_priorities_continuations_interim_answers_and_trailers_are_understood() -> None:
    async def script(connection: Http2Connection, wire: Wire) -> None:
        asked = ask(connection)
        await turn()
        block = head(200, ("retry-after", "3"))
        connection.data_received(frame(HEADERS, END_HEADERS, 1, head(103)))
        connection.data_received(frame(HEADERS, PADDED | PRIORITY, 1, b"\2" + b"\0" * 5 + block[:2] + b"\0\0"))
        connection.data_received(frame(CONTINUATION, END_HEADERS, 1, block[2:]))
        connection.data_received(frame(DATA, PADDED, 1, b"\3body\0\0\0"))
        connection.data_received(frame(0xEE, 0xFF, 1, b"of a kind that nobody knows"))
        connection.data_received(frame(HEADERS, END_HEADERS | END_STREAM, 1, b""))
        assert await asked == Http2Answer(200, block, b"body")

    play(script)


ANSWERS = answer(1, b"first", 201) + frame(PING, 0, 0, b"12345678") + answer(3, b"second" * 50)


@given(st.lists(st.integers(min_value=0, max_value=len(ANSWERS)), max_size=8))
@examples(60)
def test_answers_are_the_same_wherever_they_are_cut(cuts: list[int]) -> None:
    async def script(connection: Http2Connection, wire: Wire) -> None:
        asked = [ask(connection), ask(connection)]
        await turn()
        for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(ANSWERS)], strict=True):
            connection.data_received(ANSWERS[start:end])
        assert [(await each).body for each in asked] == [b"first", b"second" * 50]

    play(script)


@given(st.binary(max_size=300), st.booleans())
@examples(200)
def test_whatever_comes_a_request_gets_an_answer_or_a_failure(data: bytes, begins_well: bool) -> None:
    async def script(connection: Http2Connection, wire: Wire) -> None:
        asked = ask(connection)
        await turn()
        connection.data_received((frame(HEADERS, END_HEADERS, 1, head(200)) if begins_well else b"") + data)
        connection.connection_lost(None)
        outcome = (await asyncio.gather(asked, return_exceptions=True))[0]
        assert isinstance(outcome, OSError | Http2Answer)
        assert not connection.is_open

    play(script)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"\xff\xff\xff\x00\x00\x00\x00\x00\x00", "longer than allowed"),
        (frame(PUSH, END_HEADERS, 1), "pushes"),
        (frame(HEADERS, 0, 1, head(200)) + frame(DATA, 0, 1), "interrupted"),
        (frame(CONTINUATION, END_HEADERS, 1, head(200)), "not begun"),
        (frame(HEADERS, 0, 1, head(200)) + frame(CONTINUATION, END_HEADERS, 3), "not begun"),
        ((frame(HEADERS, 0, 1, b"\0" * 16384) + frame(CONTINUATION, 0, 1, b"\0" * 16384) * 4), "does not end"),
        (answer(7), "without a request"),
        (answer(2), "without a request"),
        (frame(DATA, END_STREAM, 0), "without a request"),
        (frame(DATA, END_STREAM, 1, b"body"), "before its head"),
        (frame(HEADERS, END_HEADERS, 1, head(200)) * 2, "two heads"),
        (frame(HEADERS, END_HEADERS, 1, b"\x82"), "begin with its status"),
        (frame(HEADERS, END_HEADERS, 1, head(100)) * 17, "interim answers without end"),
        (frame(HEADERS, END_HEADERS | END_STREAM, 1, head(100)), "interim answers without end"),
        (frame(HEADERS, END_HEADERS | PADDED, 1, b"\x09" + head(200)), "padding"),
        (frame(SETTINGS, 0, 0, b"12345"), "settings"),
        (frame(SETTINGS, ACK, 0, b"123456"), "settings"),
        (settings(window=1 << 31), "window"),
        (frame(PING, 0, 0, b"short"), "ping"),
        (frame(WINDOW_UPDATE, 0, 0, number(0)), "window"),
        (frame(WINDOW_UPDATE, 0, 0, number((1 << 31) - 1)), "window"),
        (frame(WINDOW_UPDATE, 0, 0, b"123"), "cannot be read"),
        (frame(RESET, 0, 1, b"123"), "cannot be read"),
    ],
)
def test_what_is_not_http2_ends_the_connection(data: bytes, complaint: str) -> None:
    async def script(connection: Http2Connection, wire: Wire) -> None:
        asked = ask(connection)
        await turn()
        connection.data_received(data)
        with pytest.raises(InvalidAnswer, match=complaint):
            await asked
        assert wire.is_aborted
        assert not connection.is_open

    play(script)


def test_a_request_that_the_server_refuses_to_look_at_was_not_sent() -> None:
    async def script(connection: Http2Connection, wire: Wire) -> None:
        refused, broken = ask(connection), ask(connection)
        await turn()
        connection.data_received(frame(RESET, 0, 1, number(7)) + frame(RESET, 0, 3, number(2)))
        with pytest.raises(NotSent, match="refused"):
            await refused
        with pytest.raises(ConnectionResetError, match=r"reset by the server \(2\)"):
            await broken
        assert connection.is_open

    play(script)


def test_a_server_that_goes_away_answers_what_it_has_taken() -> None:
    async def script(connection: Http2Connection, wire: Wire) -> None:
        taken, left = ask(connection), ask(connection)
        await turn()
        connection.data_received(frame(GO_AWAY, 0, 0, number(1) + number(0) + b"for a reason"))
        with pytest.raises(NotSent, match="closes the connection"):
            await left
        assert not connection.is_open
        assert not wire.is_aborted
        with pytest.raises(NotSent):
            await ask(connection)
        connection.data_received(answer(1, b"ok"))
        assert (await taken).body == b"ok"
        assert wire.is_aborted

    play(script)


def test_a_connection_that_breaks_fails_what_is_under_way() -> None:
    async def script(connection: Http2Connection, wire: Wire) -> None:
        asked = ask(connection)
        await turn()
        connection.connection_lost(BrokenPipeError("gone"))
        with pytest.raises(BrokenPipeError, match="gone"):
            await asked

    play(script)


def test_a_late_answer_is_given_up_and_the_others_go_on() -> None:
    async def script(connection: Http2Connection, wire: Wire) -> None:
        late, other = ask(connection, seconds=0.03), ask(connection)
        await turn()
        connection.data_received(frame(HEADERS, END_HEADERS, 3, head(200)))
        with pytest.raises(TimeoutError):
            await late
        await turn()
        assert (wire.taken()[-1].kind, connection.is_open) == (RESET, True)
        connection.data_received(answer(1) + frame(DATA, END_STREAM, 3, b"ok"))
        assert (await other).body == b"ok"

    play(script)


def test_a_request_whose_time_is_over_at_the_end_of_the_turn_is_not_sent() -> None:
    """The lease that it began with may be lost by then: the process was stopped, or a plugin took long."""

    async def script(connection: Http2Connection, wire: Wire) -> None:
        late, other = ask(connection, seconds=-0.001), ask(connection)
        await turn()
        assert {sent.stream for sent in wire.taken()} == {3}
        with pytest.raises(NotSent, match="time was over"):
            await late
        connection.data_received(answer(3, b"ok"))
        assert (await other).body == b"ok"

    play(script)


def test_a_server_that_says_nothing_at_all_gets_no_further_requests() -> None:
    async def script(connection: Http2Connection, wire: Wire) -> None:
        late = ask(connection, seconds=0.03)
        with pytest.raises(TimeoutError):
            await late
        assert not connection.is_open

    play(script)


def test_a_request_that_is_cancelled_is_withdrawn() -> None:
    async def script(connection: Http2Connection, wire: Wire) -> None:
        asked = ask(connection)
        await turn()
        asked.cancel()
        await turn()
        last = wire.taken()[-1]
        assert (last.kind, last.stream, last.payload) == (RESET, 1, number(8))
        connection.data_received(answer(1, b"too late"))
        assert connection.is_open

    play(script)


def test_there_is_room_for_as_many_requests_as_the_server_allows() -> None:
    async def script(connection: Http2Connection, wire: Wire) -> None:
        ask(connection)
        await turn()
        assert connection.has_room(2)
        ask(connection)
        await turn()
        assert not connection.has_room(2)
        connection.data_received(answer(1))
        assert connection.has_room(2)
        connection.data_received(settings(streams=1 << 30))
        for _ in range(MAX_STREAMS - 1):
            ask(connection)
        await turn()
        assert not connection.has_room(2)
        connection.abandon()
        await turn()

    play(script, settings(streams=2))


def test_there_is_room_for_as_many_bytes_as_the_server_allows() -> None:
    async def script(connection: Http2Connection, wire: Wire) -> None:
        assert connection.has_room(300)
        assert not connection.has_room(301)
        for _ in range(218):
            asked = ask(connection, b"x" * 300)
            await turn()
            connection.data_received(answer(connection._next_stream - 2))
            await asked
        assert not connection.has_room(300)
        connection.data_received(frame(WINDOW_UPDATE, 0, 1, number(300)))
        assert not connection.has_room(300)
        connection.data_received(frame(WINDOW_UPDATE, 0, 0, number(300)))
        assert connection.has_room(300)

    play(script, settings(window=300))


def test_pings_and_settings_are_answered_unless_the_server_does_not_read() -> None:
    async def script(connection: Http2Connection, wire: Wire) -> None:
        connection.data_received(frame(PING, 0, 0, b"12345678") + settings())
        await turn()
        pong, acknowledged = wire.taken()
        assert (pong.kind, pong.flags, pong.payload) == (PING, ACK, b"12345678")
        assert (acknowledged.kind, acknowledged.flags) == (SETTINGS, ACK)
        connection.pause_writing()
        assert not connection.has_room(0)
        connection.data_received(frame(PING, ACK, 0, b"12345678"))
        assert connection.is_open
        connection.data_received(frame(PING, 0, 0, b"12345678"))
        assert not connection.is_open

    play(script)


def test_a_server_may_send_again_as_much_as_complete_answers_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http2, "_CREDIT_BYTES", 100)

    async def script(connection: Http2Connection, wire: Wire) -> None:
        first, second = ask(connection), ask(connection)
        await turn()
        wire.taken()
        connection.data_received(frame(HEADERS, END_HEADERS, 1, head(200)) + frame(DATA, 0, 1, b"x" * 150))
        await turn()
        assert wire.taken() == []
        connection.data_received(frame(DATA, END_STREAM, 1, b"y") + answer(3, b"z"))
        await asyncio.gather(first, second)
        await turn()
        (room,) = wire.taken()
        assert (room.kind, room.stream, room.payload) == (WINDOW_UPDATE, 0, number(151))

    play(script)


def test_a_server_that_sends_more_than_there_is_room_for_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http2, "RECEIVE_WINDOW", 65535)

    async def script(connection: Http2Connection, wire: Wire) -> None:
        asked = ask(connection)
        await turn()
        connection.data_received(frame(HEADERS, END_HEADERS, 1, head(200)) + frame(DATA, 0, 1, b"x" * 16384) * 4)
        with pytest.raises(InvalidAnswer, match="more than there is room for"):
            await asked

    play(script)


def test_an_answer_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http2, "MAX_ANSWER_BYTES", 100)

    async def script(connection: Http2Connection, wire: Wire) -> None:
        asked = ask(connection)
        await turn()
        connection.data_received(frame(HEADERS, END_HEADERS, 1, head(200)) + frame(DATA, 0, 1, b"x" * 100))
        with pytest.raises(InvalidAnswer, match="more than 100 bytes"):
            await asked
        assert connection.is_open

    play(script)
