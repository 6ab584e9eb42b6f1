# SPDX-License-Identifier: Apache-2.0
"""TLS by pyOpenSSL under both event loops: what goes through, what ends, and what a client may do wrong."""

from __future__ import annotations

import asyncio
import datetime
import socket
import ssl
from collections.abc import Callable
from typing import TypeVar

import pytest
import uvloop
from tests.kube.serving.reviews import Reviews
from tests.kube.serving.running import endpoints

from steersman.base.clock import ManualClock
from steersman.kube.serving import AccessControl, Listen, Server, ServerTls, TlsOptions, self_signed

T = TypeVar("T")
LIVE = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
LAST = b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
LOOPS = pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
Loop = Callable[[], asyncio.AbstractEventLoop]


def talk(loop: Loop, client: Callable[[int], T]) -> T:
    """What a client, in a thread of its own, makes of a server on that port."""

    async def serve() -> T:
        own = self_signed(("127.0.0.1",), datetime.datetime.now(datetime.UTC))
        tls = ServerTls(TlsOptions(), lambda: own)
        tls.ask_for_certificates()
        access = AccessControl(Reviews(), ManualClock())
        async with Server(Listen("127.0.0.1", 0, tls.context), endpoints(), access) as server:
            return await asyncio.to_thread(client, server.port)

    with asyncio.Runner(loop_factory=loop) as runner:
        return runner.run(serve())


def unchecked() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def until_the_end(channel: ssl.SSLSocket) -> bytes:
    received = b""
    while part := channel.recv(1 << 16):
        received += part
    return received


@LOOPS
def test_a_request_may_come_with_the_last_message_of_the_handshake(loop: Loop) -> None:
    """It is then among what the handshake was given."""

    def client(port: int) -> bytes:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        channel = unchecked().wrap_bio(incoming, outgoing)
        with socket.create_connection(("127.0.0.1", port), timeout=10) as plain:
            while True:
                try:
                    channel.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    plain.sendall(outgoing.read())
                    incoming.write(plain.recv(1 << 16))
            channel.write(LAST)
            plain.sendall(outgoing.read())
            while True:
                try:
                    return channel.read(1 << 16)
                except ssl.SSLWantReadError:
                    incoming.write(plain.recv(1 << 16))

    assert talk(loop, client).startswith(b"HTTP/1.1 200 OK\r\n")


@LOOPS
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_many_requests_are_answered_until_both_sides_have_said_goodbye(loop: Loop, version: ssl.TLSVersion) -> None:
    def client(port: int) -> tuple[int, str | None]:
        context = unchecked()
        context.minimum_version = context.maximum_version = version
        plain = socket.create_connection(("127.0.0.1", port), timeout=10)
        with context.wrap_socket(plain, suppress_ragged_eofs=False) as channel:
            channel.sendall(LIVE * 200 + LAST)
            return until_the_end(channel).count(b"\r\n\r\nok"), channel.version()

    assert talk(loop, client) == (201, str(version.name).replace("_", "."))


@LOOPS
def test_a_client_that_speaks_no_tls_or_disconnects_early_does_not_affect_others(loop: Loop) -> None:
    def client(port: int) -> bytes:
        for nonsense in (b"", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x00\x05hello", bytes(2000)):
            with socket.create_connection(("127.0.0.1", port), timeout=10) as plain:
                plain.sendall(nonsense)
        with unchecked().wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=10)) as channel:
            channel.sendall(LIVE)
            received = b""
            while not received.endswith(b"\r\n\r\nok"):
                received += channel.recv(100)
            plain = channel.unwrap()
            plain.sendall(b"no TLS any more")
            plain.close()
        with unchecked().wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=10)) as channel:
            channel.sendall(LAST)
            return until_the_end(channel)

    assert talk(loop, client).endswith(b"\r\n\r\nok")
