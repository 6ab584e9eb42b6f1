# SPDX-License-Identifier: Apache-2.0
"""A transport with metrics. `app` puts it next to the network, below the limit that requests have to wait for."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from time import perf_counter
from typing import Final
from urllib.parse import urlsplit

from steersman.client import ApiError, Response, Transport
from steersman.client.transport import JSON, NO_QUERY, REQUEST_SECONDS, Query
from steersman.errors import SteersmanError
from steersman.observe.client_metrics import ClientMetrics

#: The label `code` of a request that got no answer.
NO_ANSWER: Final = "<error>"
_OK: Final = "200"


class MeasuredTransport:
    """A `client.Transport`."""

    def __init__(self, transport: Transport, metrics: ClientMetrics, server: str) -> None:
        self._transport = transport
        self._metrics = metrics.series()
        self._host = urlsplit(server).netloc

    def waited(self, method: str, seconds: float) -> None:
        """A request had to wait for the client's own limit before it came here (`client.RateLimited`)."""
        self._metrics.limiter_seconds[method, self._host].observe(seconds)

    async def request(
        self,
        method: str,
        path: str,
        query: Query = NO_QUERY,
        body: bytes | None = None,
        content_type: str = JSON,
        timeout: float = REQUEST_SECONDS,
    ) -> Response:
        metrics, key, began = self._metrics, (method, self._host), perf_counter()
        code = NO_ANSWER
        try:
            answer = await self._transport.request(method, path, query, body, content_type, timeout)
            code = str(answer.status)
        except ApiError as refusal:
            code = str(refusal.code)
            raise
        finally:
            metrics.requests[code, method, self._host].inc()
            metrics.request_seconds[key].observe(perf_counter() - began)
        metrics.request_bytes[key].observe(len(body or b""))
        metrics.response_bytes[key].observe(len(answer.body))
        return answer

    async def stream(self, path: str, query: Query = NO_QUERY) -> AsyncGenerator[bytes, None]:
        """Counts when it ends: it is not known earlier whether the server had granted it."""
        code = _OK
        try:
            async with aclosing(self._transport.stream(path, query)) as lines:
                async for line in lines:
                    yield line
        except ApiError as refusal:
            code = str(refusal.code)
            raise
        except SteersmanError:
            code = NO_ANSWER
            raise
        finally:
            self._metrics.requests[code, "GET", self._host].inc()
