# SPDX-License-Identifier: Apache-2.0
"""A connection to the API server between its gate and aiohttp, which reads requests with bodies and writes watches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from steersman.serving.http import HttpConnection

if TYPE_CHECKING:
    from aiohttp.web_protocol import RequestHandler


class AiohttpConnection(HttpConnection):
    """Hands everything to aiohttp's protocol. `on_lost` is called when the connection has ended."""

    def __init__(self, protocol: RequestHandler, on_lost: Callable[[RequestHandler], object]) -> None:
        self.protocol = protocol
        self._on_lost = on_lost
        self._channel: asyncio.Transport | None = None

    @property
    def is_answering(self) -> bool:
        """Ends of answers are waited for by aiohttp."""
        return False

    async def finished(self) -> None:
        return

    def close(self) -> None:
        if self._channel is not None:
            self._channel.close()

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._channel = transport
        self.protocol.connection_made(transport)

    def head_received(self, head: bytes, remote: str) -> None:
        self.protocol.data_received(head)

    def body_received(self, data: bytes) -> None:
        self.protocol.data_received(data)

    def connection_lost(self) -> None:
        self._on_lost(self.protocol)
        self.protocol.connection_lost(None)

    def pause_writing(self) -> None:
        self.protocol.pause_writing()

    def resume_writing(self) -> None:
        self.protocol.resume_writing()
