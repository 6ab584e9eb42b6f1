# SPDX-License-Identifier: Apache-2.0
"""Metrics and health of a shadow over unauthenticated HTTP; they contain counts, no object names.

The server of `steersman run` authorizes requests with reviews, which a shadow may not create.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from steersman.kube.observe import CONTENT_TYPE
from steersman.kube.serving import Answer, HttpServer, Listen, Request, Route, Router, text_answer


@asynccontextmanager
async def pages_served(
    address: str, port: int, metrics: Callable[[], bytes], is_ready: Callable[[], bool]
) -> AsyncIterator[int]:
    """Serve metrics and health within the block; yield the port. Raise `OSError` on failure."""

    async def show_metrics(request: Request) -> Answer:
        return Answer(body=metrics(), content_type=CONTENT_TYPE)

    async def healthy(request: Request) -> Answer:
        return text_answer("ok")

    async def ready(request: Request) -> Answer:
        return text_answer("ok") if is_ready() else text_answer("the cluster has not been read yet\n", 503)

    router = Router([Route("/metrics", show_metrics), Route("/healthz", healthy), Route("/readyz", ready)])
    async with HttpServer(Listen(address, port), router.answer) as server:
        yield server.port
