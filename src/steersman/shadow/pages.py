# SPDX-License-Identifier: Apache-2.0
"""Metrics and health of a shadow over plain HTTP, for whoever reaches the address: they tell counts, and names of no object.

The server of `steersman run` asks the API server who may look, with a request that creates a review. A shadow sends none.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from steersman.observe import CONTENT_TYPE
from steersman.serving import ConnectionLimits, Listen
from steersman.serving.connections import ConnectionTable
from steersman.serving.http import Answer, HttpConnection, Request, Route, Router, text_answer
from steersman.serving.listener import Listener

_FINISH_SECONDS: Final = 1.0


@asynccontextmanager
async def pages_served(
    address: str, port: int, metrics: Callable[[], bytes], is_ready: Callable[[], bool]
) -> AsyncIterator[int]:
    """`/metrics`, `/healthz` and `/readyz` until the end of the block; gives the port. OSError when it cannot be had."""

    async def show_metrics(request: Request) -> Answer:
        return Answer(body=metrics(), content_type=CONTENT_TYPE)

    async def healthy(request: Request) -> Answer:
        return text_answer("ok")

    async def ready(request: Request) -> Answer:
        return text_answer("ok") if is_ready() else text_answer("the cluster has not been read yet\n", 503)

    router = Router([Route("/metrics", show_metrics), Route("/healthz", healthy), Route("/readyz", ready)])
    table = ConnectionTable(ConnectionLimits(), lambda: HttpConnection(router.answer, table.answered))
    listener = Listener(Listen(address, port), table)
    accepting = asyncio.ensure_future(listener.run())
    try:
        yield listener.port
    finally:
        accepting.cancel()
        await asyncio.wait((accepting,))
        listener.close()
        await table.finish(_FINISH_SECONDS)
        table.cut_all()
