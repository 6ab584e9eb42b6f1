# SPDX-License-Identifier: Apache-2.0
"""Pool of keep-alive connections to an API server, used by one thread at a time."""

from __future__ import annotations

import http.client
import queue
import select
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from steersman.testing.control_plane.credentials import Identity

TIMEOUT_SECONDS: Final = 60.0


class Connections:
    """Connection pool that grows on demand; failed connections are not reused."""

    def __init__(self, url: str, context: ssl.SSLContext) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port
        self._context = context
        self._idle: queue.LifoQueue[http.client.HTTPSConnection] = queue.LifoQueue()

    @contextmanager
    def borrow(self) -> Iterator[http.client.HTTPSConnection]:
        connection = self._take()
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        self._idle.put(connection)

    def close(self) -> None:
        while not self._idle.empty():
            self._idle.get().close()

    def new(self, timeout: float = TIMEOUT_SECONDS) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(self._host, self._port, context=self._context, timeout=timeout)

    def _take(self) -> http.client.HTTPSConnection:
        while not self._idle.empty():
            connection = self._idle.get()
            if not _stale(connection):
                return connection
            connection.close()
        return self.new()


def _stale(connection: http.client.HTTPSConnection) -> bool:
    """Return whether the server has closed the idle connection, which makes it readable."""
    if connection.sock is None:
        return True
    return bool(select.select([connection.sock], [], [], 0)[0])


def tls_context(ca: bytes, identity: Identity) -> ssl.SSLContext:
    """Return a context that trusts only this authority and uses this client certificate."""
    context = ssl.create_default_context(cadata=ca.decode())
    # Strict checks require key identifiers, which these certificates lack.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    with tempfile.TemporaryDirectory() as folder:
        context.load_cert_chain(*identity.write(Path(folder), "client"))
    return context
