# SPDX-License-Identifier: Apache-2.0
"""Clients that anybody with a route to the scheduler's port can be: silent ones, slow ones, ones that make credentials up."""

from __future__ import annotations

import secrets
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

SILENT, HALF_HEADS, TOKENS, SLOW_READERS = 300, 60, 150, 15
_TIMEOUT_SECONDS: Final = 2.0
_SMALL_BUFFER: Final = 2048


class HostileClients:
    """Connections to one port, held from `begin` to `end`. Each method of harm is carried out in a thread of the caller's."""

    def __init__(self, url: str, token: str) -> None:
        """`token` is of somebody who may read the endpoints: slow readers have to be let in."""
        parts = urlsplit(url)
        self._address = (parts.hostname or "", parts.port or 0)
        self._token = token
        self._held: list[socket.socket] = []
        self._ended = threading.Event()
        self._harms: dict[str, Callable[[], None]] = {
            "silent-connections": self._stay_silent,
            "half-heads": self._send_half_heads,
            "random-tokens": self._make_tokens_up,
            "slow-readers": self._read_slowly,
        }

    def begin(self, fault: str) -> None:
        self._harms[fault]()

    def end(self) -> None:
        self._ended.set()
        for held in self._held:
            with suppress(OSError):
                held.close()

    def _stay_silent(self) -> None:
        for _ in range(SILENT):
            opened = socket.socket()
            opened.setblocking(False)  # a full backlog must not hold up the next one
            opened.connect_ex(self._address)
            self._held.append(opened)

    def _send_half_heads(self) -> None:
        for _ in range(HALF_HEADS):
            self._say(b"GET /livez HTTP/1.1\r\nHost: scheduler\r\nX-Half:")

    def _make_tokens_up(self) -> None:
        for _ in range(TOKENS):
            connection = self._say(_request("/metrics", secrets.token_hex(16)))
            if connection is not None:
                with suppress(OSError):
                    connection.recv(1 << 16)
                connection.close()

    def _read_slowly(self) -> None:
        for _ in range(SLOW_READERS):
            self._say(_request("/debug/cache", self._token))

    def _say(self, text: bytes) -> ssl.SSLSocket | None:
        """Over a new connection, which stays open. None when it cannot be opened, or the fault is over."""
        if self._ended.is_set():
            return None
        with suppress(OSError):
            plain = socket.socket()
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALL_BUFFER)
            plain.settimeout(_TIMEOUT_SECONDS)
            self._held.append(plain)
            plain.connect(self._address)
            connection = _TRUSTING.wrap_socket(plain)
            self._held.append(connection)
            connection.sendall(text)
            return connection
        return None


def _request(path: str, token: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: scheduler\r\nAuthorization: Bearer {token}\r\n\r\n".encode()


def _trusting() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


_TRUSTING: Final = _trusting()
