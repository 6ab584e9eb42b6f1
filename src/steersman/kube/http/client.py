# SPDX-License-Identifier: Apache-2.0
"""An HTTP/1.1 client of one server: method, target, headers and body become a request of `http1`.

Used by `kube.client`: its transport to the API server, and extenders.
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from typing import Final

from steersman.kube.http.answers import MAX_BODY_BYTES, HttpAnswer
from steersman.kube.http.connector import Connector
from steersman.kube.http.http1 import ChannelPool
from steersman.kube.http.read_pacing import ReadPacing
from steersman.kube.http.streams import StreamedAnswer
from steersman.kube.http.url import Url

Headers = Sequence[tuple[str, str]]

CONNECT_SECONDS: Final = 30.0
"""Time for opening a connection, or waiting for a free one."""


class HttpClient:
    """Connects on demand. `headers` are sent with every request."""

    def __init__(
        self,
        url: Url,
        tls: ssl.SSLContext | None = None,
        *,
        server_name: str = "",
        proxy: Url | None = None,
        headers: Headers = (),
        read_pacing: ReadPacing | None = None,
    ) -> None:
        common: list[tuple[str, str]] = [("Host", url.authority), *headers]
        is_absolute = proxy is not None and not url.is_tls
        if is_absolute and proxy is not None and proxy.user:
            common.append(("Proxy-Authorization", proxy.basic_credentials))
        self._prefix = url.origin if is_absolute else ""
        self._common = _lines(common)
        self._pool = ChannelPool(Connector(url, tls, server_name, proxy), read_pacing=read_pacing)

    async def request(
        self,
        method: str,
        target: str,
        timeout: float,
        headers: Headers = (),
        body: bytes | None = None,
        longest_body: int = MAX_BODY_BYTES,
    ) -> HttpAnswer:
        """Send a request and return its response.

        Raise `NotSent` if there is no connection in time. After other OSErrors and TimeoutError the
        request may have arrived.
        """
        head = self._head(method, target, headers, body)
        return await self._pool.exchange(head + (body or b""), timeout, CONNECT_SECONDS, longest_body)

    async def begin_stream(self, target: str, headers: Headers = ()) -> StreamedAnswer:
        """Send a GET for a stream, to be ended by `end_stream`. Raise `NotSent` on timeout."""
        return await self._pool.begin_stream(self._head("GET", target, headers, None), CONNECT_SECONDS)

    def end_stream(self, stream: StreamedAnswer) -> None:
        self._pool.end_stream(stream)

    def close(self) -> None:
        """Close idle connections and streams now, and connections in use after their response."""
        self._pool.close()

    def _head(self, method: str, target: str, headers: Headers, body: bytes | None) -> bytes:
        length = "" if body is None else f"Content-Length: {len(body)}\r\n"
        text = f"{method} {self._prefix}{target} HTTP/1.1\r\n{self._common}{_lines(headers)}{length}\r\n"
        # Text that is not ASCII is sent as UTF-8, as Go's client does.
        return text.encode()


def _lines(headers: Headers) -> str:
    return "".join(f"{name}: {value}\r\n" for name, value in headers)
