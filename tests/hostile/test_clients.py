# SPDX-License-Identifier: Apache-2.0
"""Anybody with a route to the port: connections that say nothing, half a request, made-up tokens, answers that nobody reads."""

from __future__ import annotations

import concurrent.futures
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from tests.hostile.process import SteersmanProcess, schedules_pods, unchecked_tls, with_nodes
from tests.hostile.stub_api_server import TOKEN_REVIEWS, StubApiServer

from steersman.testing.control_plane.plane import LOOPBACK

SILENT = 400
DESCRIPTORS = 200
HALF_HEAD = b"GET /livez HTTP/1.1\r\nHost: x\r\nX-Half: "
#: More than the server's share for one address, and than a burst of reviews.
TOKENS = 300


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[StubApiServer, SteersmanProcess]]:
    """With few descriptors: on a large machine even the careless have enough of them."""
    folder = tmp_path_factory.mktemp("steersman")
    with StubApiServer() as server:
        process = SteersmanProcess(with_nodes(server), folder)
        process.command[:0] = ["/bin/sh", "-c", f'ulimit -n {DESCRIPTORS}; exec "$0" "$@"']
        with process:
            yield server, process


@pytest.fixture
def steersman(
    running: tuple[StubApiServer, SteersmanProcess],
) -> Iterator[tuple[StubApiServer, SteersmanProcess]]:
    """One process for all attacks; it works after each of them."""
    server, process = running
    yield server, process
    assert process.is_alive()
    assert schedules_pods(server, f"after-{len(server.bindings())}")


@contextmanager
def silent_connections(port: int, count: int) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        yield [stack.enter_context(socket.create_connection((LOOPBACK, port), timeout=10)) for _ in range(count)]


def shaken(port: int) -> ssl.SSLSocket:
    plain = socket.create_connection((LOOPBACK, port), timeout=10)
    return unchecked_tls().wrap_socket(plain)


def test_probes_are_answered_while_hundreds_of_connections_say_nothing(
    steersman: tuple[StubApiServer, SteersmanProcess],
) -> None:
    server, process = steersman
    with silent_connections(process.port, SILENT):
        assert all(process.is_alive() for _ in range(5))
        assert schedules_pods(server, "meanwhile")


def test_probes_are_answered_while_connections_keep_coming(
    steersman: tuple[StubApiServer, SteersmanProcess],
) -> None:
    _, process = steersman
    ended = threading.Event()

    def knock() -> None:
        while not ended.is_set():
            with silent_connections(process.port, 50):
                ended.wait(0.1)

    knocking = [threading.Thread(target=knock) for _ in range(2)]
    for thread in knocking:
        thread.start()
    try:
        assert all(process.is_alive() for _ in range(5))
    finally:
        ended.set()
        for thread in knocking:
            thread.join()


def test_probes_are_answered_while_half_a_head_is_all_that_comes(
    steersman: tuple[StubApiServer, SteersmanProcess],
) -> None:
    _, process = steersman
    with ExitStack() as stack:
        for _ in range(150):
            stack.enter_context(shaken(process.port)).send(HALF_HEAD)
        assert all(process.is_alive() for _ in range(5))


def test_half_a_head_is_not_waited_for(steersman: tuple[StubApiServer, SteersmanProcess]) -> None:
    _, process = steersman
    with shaken(process.port) as slow:
        slow.settimeout(30)
        slow.send(HALF_HEAD)
        began = time.monotonic()
        assert _rest(slow) == b""
        assert time.monotonic() - began < 20


def test_a_head_without_end_is_refused(steersman: tuple[StubApiServer, SteersmanProcess]) -> None:
    _, process = steersman
    with shaken(process.port) as talkative:
        talkative.settimeout(30)
        talkative.sendall(HALF_HEAD + b"x" * 40_000)
        assert _rest(talkative).startswith(b"HTTP/1.1 431 ")


def test_a_body_is_refused(steersman: tuple[StubApiServer, SteersmanProcess]) -> None:
    _, process = steersman
    with shaken(process.port) as talkative:
        talkative.settimeout(30)
        talkative.sendall(b"POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\nand on and on")
        assert _rest(talkative).startswith(b"HTTP/1.1 413 ")


def test_made_up_tokens_cost_few_reviews_and_no_probe(steersman: tuple[StubApiServer, SteersmanProcess]) -> None:
    server, process = steersman
    before, began = len(server.received("POST", TOKEN_REVIEWS)), time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(lambda number: _code(process, f"made-up-{number}"), range(TOKENS)))
    took = time.monotonic() - began
    assert set(codes) == {401, 429}
    # For one address: 20 at once and 10 a second.
    assert len(server.received("POST", TOKEN_REVIEWS)) - before <= 21 + 10 * took
    assert process.is_alive()


def test_who_sends_too_many_made_up_tokens_is_told_when_to_come_again(
    steersman: tuple[StubApiServer, SteersmanProcess],
) -> None:
    _, process = steersman
    connection = http.client.HTTPSConnection(LOOPBACK, process.port, context=unchecked_tls(), timeout=10)
    for number in range(TOKENS):
        connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {number}"})
        answer = connection.getresponse()
        answer.read()
        if answer.status == 429:
            assert answer.headers["Retry-After"] == "1"
            break
    else:
        pytest.fail("nobody objects")
    connection.close()


def test_an_answer_that_is_not_read_does_not_block_others(steersman: tuple[StubApiServer, SteersmanProcess]) -> None:
    _, process = steersman
    with ExitStack() as stack:
        for _ in range(80):
            deaf = stack.enter_context(shaken(process.port))
            deaf.sendall(b"GET /livez?verbose HTTP/1.1\r\nHost: x\r\n\r\n" * 100)
        assert all(process.is_alive() for _ in range(3))


def _rest(channel: ssl.SSLSocket) -> bytes:
    """Everything until the other end closes."""
    received = b""
    try:
        while part := channel.recv(65536):
            received += part
    except (ConnectionError, ssl.SSLError):
        return received
    return received


def _code(process: SteersmanProcess, token: str) -> int:
    return process.get("/metrics", token=token, timeout=20)[0]
