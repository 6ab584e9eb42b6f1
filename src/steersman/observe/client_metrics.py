# SPDX-License-Identifier: Apache-2.0
"""Requests to the API server as metrics, under client-go's names, and the transport that writes them.

`app` puts a `MeasuredTransport` next to the network, below the limit that requests have to wait for; each thread has its own
series.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from time import perf_counter
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry

from steersman.client import ApiError, Response, Transport
from steersman.client.transport import JSON, NO_QUERY, REQUEST_SECONDS, Query
from steersman.errors import SteersmanError
from steersman.observe.series import Children, Histogram, MetricSet, Tally

_SECONDS: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
_BYTES: Final = (64.0, 256.0, 512.0, 1024.0, *(4.0**power for power in range(6, 13)))


class ClientSeries(NamedTuple):
    """The series of one transport, which one thread uses."""

    requests: Children[Tally]
    request_seconds: Children[Histogram]
    limiter_seconds: Children[Histogram]
    request_bytes: Children[Histogram]
    response_bytes: Children[Histogram]


class AnswerSeries(NamedTuple):
    """The series of requests with one method whose answers have one status."""

    requests: Tally
    seconds: Histogram
    request_bytes: Histogram
    response_bytes: Histogram


class ClientMetrics(MetricSet):
    """Metrics of requests to the API server, on the registry of the scheduler's own metrics."""

    def __init__(self, registry: CollectorRegistry) -> None:
        super().__init__(registry)
        by_host = ("verb", "host")
        self._requests = self.tally_family(
            "rest_client_requests_total", "Requests by status code, method and host.", "code", "method", "host"
        )
        self._request_seconds = self.histogram_family(
            "rest_client_request_duration_seconds", "From sending a request to its answer.", _SECONDS, *by_host
        )
        self._limiter_seconds = self.histogram_family(
            "rest_client_rate_limiter_duration_seconds", "Waiting for the client's own limit.", _SECONDS, *by_host
        )
        self._request_bytes = self.histogram_family(
            "rest_client_request_size_bytes", "Sizes of what is sent.", _BYTES, *by_host
        )
        self._response_bytes = self.histogram_family(
            "rest_client_response_size_bytes", "Sizes of answers.", _BYTES, *by_host
        )

    def series(self) -> ClientSeries:
        """The series of one more transport."""
        return ClientSeries(
            self._requests.children(),
            self._request_seconds.children(),
            self._limiter_seconds.children(),
            self._request_bytes.children(),
            self._response_bytes.children(),
        )


#: The label `code` of a request that got no answer.
NO_ANSWER: Final = "<error>"
_OK: Final = "200"


class MeasuredTransport:
    """A `client.Transport`."""

    def __init__(self, transport: Transport, metrics: ClientMetrics, server: str) -> None:
        self._transport = transport
        self._metrics = metrics.series()
        self._host = urlsplit(server).netloc
        #: By method and status: found once, because every pod is two requests.
        self._answers: dict[tuple[str, int], AnswerSeries] = {}

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
        began, size = perf_counter(), len(body or b"")
        outcome: Response | BaseException | None = None
        try:
            outcome = await self._transport.request(method, path, query, body, content_type, timeout)
            return outcome
        except ApiError as refusal:
            outcome = refusal
            raise
        finally:
            self.ended(method, outcome, size, perf_counter() - began)

    def ended(self, method: str, outcome: Response | BaseException | None, sent: int, seconds: float) -> None:
        """Counts a request: its method, its answer or failure, the bytes that were sent and how long it took."""
        if isinstance(outcome, Response):
            series = self._answers.get((method, outcome.status)) or self._answer_series(method, outcome.status)
            series.requests.inc()
            series.seconds.observe(seconds)
            series.request_bytes.observe(sent)
            series.response_bytes.observe(len(outcome.body))
            return
        code = str(outcome.code) if isinstance(outcome, ApiError) else NO_ANSWER
        self._metrics.requests[code, method, self._host].inc()
        self._metrics.request_seconds[method, self._host].observe(seconds)

    def _answer_series(self, method: str, status: int) -> AnswerSeries:
        metrics, key = self._metrics, (method, self._host)
        series = self._answers[method, status] = AnswerSeries(
            metrics.requests[str(status), method, self._host],
            metrics.request_seconds[key],
            metrics.request_bytes[key],
            metrics.response_bytes[key],
        )
        return series

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
