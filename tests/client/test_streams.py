# SPDX-License-Identifier: Apache-2.0
"""Answers that go on: lines of any length, cut connections, silence."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest
from aiohttp import web
from tests.client.serving import Handler, run, serve

from steersman.kube.client.connection import Connection
from steersman.kube.client.errors import ApiError, ConnectionFailed
from steersman.kube.client.foreign_input import LineAssembler
from steersman.kube.client.transport import HttpTransport, http_transport


def test_lines_are_put_together_from_pieces() -> None:
    assembler = LineAssembler()
    assert assembler.feed(b"one\ntw") == [b"one"]
    assert assembler.has_partial_line
    assert assembler.feed(b"o") == []
    assert assembler.feed(b"\n\nthree\n") == [b"two", b"three"]
    assert not assembler.has_partial_line


def test_lines_may_have_several_megabytes() -> None:
    sent = [b"a" * 5_000_000, b"short", b"b" * 3_000_000]
    assert run(_lines(_sending(b"\n".join(sent) + b"\n"))) == sent


def test_a_stream_that_is_refused_raises_the_refusal() -> None:
    async def refuse(_: web.Request) -> web.Response:
        return web.json_response({"code": 410, "reason": "Expired"}, status=410)

    with pytest.raises(ApiError) as caught:
        run(_lines(refuse))
    assert caught.value.is_expired


def test_a_connection_that_is_cut_in_a_line_is_told_from_an_end() -> None:
    async def cut(request: web.Request) -> web.StreamResponse:
        response = await _begun(request, b"whole\nhal")
        assert request.transport is not None
        request.transport.close()
        return response

    received: list[bytes] = []
    with pytest.raises(ConnectionFailed):
        run(_collect(cut, received))
    assert received == [b"whole"]


def test_an_end_in_a_line_is_a_cut_as_well() -> None:
    received: list[bytes] = []
    with pytest.raises(ConnectionFailed, match="in the middle of a line"):
        run(_collect(_sending(b"whole\nhal"), received))
    assert received == [b"whole"]


def test_a_silent_stream_is_given_up() -> None:
    async def silent(request: web.Request) -> web.StreamResponse:
        response = await _begun(request, b"one\n")
        await asyncio.Event().wait()
        return response

    async def scenario() -> None:
        async with serve(silent) as address:
            transport = HttpTransport(Connection(address), idle=0.05)
            try:
                async with aclosing(transport.stream("/")) as lines:
                    async for _ in lines:
                        pass
            finally:
                await transport.close()

    with pytest.raises(ConnectionFailed, match="no answer in time"):
        run(scenario())


async def _begun(request: web.Request, data: bytes) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    await response.write(data)
    return response


def _sending(data: bytes) -> Handler:
    async def send(request: web.Request) -> web.StreamResponse:
        return await _begun(request, data)

    return send


async def _lines(handler: Handler) -> list[bytes]:
    received: list[bytes] = []
    await _collect(handler, received)
    return received


async def _collect(handler: Handler, received: list[bytes]) -> None:
    async with (
        serve(handler) as address,
        http_transport(Connection(address)) as transport,
        aclosing(transport.stream("/watch")) as lines,
    ):
        async for line in lines:
            received.append(line)
