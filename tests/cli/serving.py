# SPDX-License-Identifier: Apache-2.0
"""The API server of the tests in a thread of its own, for commands that run their own event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.client.api_server import ApiServer


@contextmanager
def serving(server: ApiServer) -> Iterator[str]:
    """The address, as long as the block lasts."""
    loop, ready, end = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    addresses: list[str] = []

    async def serve() -> None:
        async with server.serving() as address:
            addresses.append(address)
            ready.set()
            await end.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    try:
        assert ready.wait(20)
        yield addresses[0]
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join(20)
        loop.close()
