# SPDX-License-Identifier: Apache-2.0
"""Metrics of requests to the API server, with client-go's names.

A `client.RequestChain` calls `ServerMetrics`; each transport, and so thread, has its own series.
"""

from __future__ import annotations

from typing import Final, NamedTuple
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry

from steersman.base import SteersmanError
from steersman.kube.client import ApiError, Response
from steersman.kube.client.auth.credentials import ClientCertificate
from steersman.kube.observe.series import Children, Histogram, MetricSet, Tally

_SECONDS: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
_BYTES: Final = (64.0, 256.0, 512.0, 1024.0, *(4.0**power for power in range(6, 13)))


class ClientSeries(NamedTuple):
    """Series of one transport, used by one thread."""

    requests: Children[Tally]
    request_seconds: Children[Histogram]
    limiter_seconds: Children[Histogram]
    request_bytes: Children[Histogram]
    response_bytes: Children[Histogram]


class AnswerSeries(NamedTuple):
    """Series of requests with one method and one response status."""

    requests: Tally
    seconds: Histogram
    request_bytes: Histogram
    response_bytes: Histogram


class ClientMetrics(MetricSet):
    """Metrics of requests to the API server, on the registry of the scheduler's metrics."""

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

        self._certificate_expiry = self.gauges(
            "steersman_client_certificate_expiration_timestamp_seconds",
            "When the client certificate that is shown to the API server expires.",
            "host",
        )

    def show_certificate(self, server: str, certificate: ClientCertificate) -> None:
        from cryptography import x509  # slow import, and many clients have tokens

        expiry = x509.load_pem_x509_certificate(certificate.certificate).not_valid_after_utc
        self._certificate_expiry[(urlsplit(server).netloc,)].set(expiry.timestamp())

    def series(self) -> ClientSeries:
        """Return the series of an additional transport."""
        return ClientSeries(
            self._requests.children(),
            self._request_seconds.children(),
            self._limiter_seconds.children(),
            self._request_bytes.children(),
            self._response_bytes.children(),
        )


#: Value of the label `code` for requests without a response.
NO_ANSWER: Final = "<error>"
_OK: Final = "200"


class ServerMetrics:
    """`client.RequestMetrics` of one transport to one server."""

    def __init__(self, metrics: ClientMetrics, server: str) -> None:
        self._metrics = metrics.series()
        self._host = urlsplit(server).netloc
        #: (Method, status) → series, cached because every pod needs two requests.
        self._answers: dict[tuple[str, int], AnswerSeries] = {}

    def waited(self, method: str, seconds: float) -> None:
        """Record the time that a request waited for the client's rate limit."""
        self._metrics.limiter_seconds[method, self._host].observe(seconds)

    def ended(self, method: str, outcome: Response | BaseException | None, sent: int, seconds: float) -> None:
        """Record a request: its response or failure, the bytes that were sent and its duration."""
        if isinstance(outcome, Response):
            series = self._answers.get((method, outcome.status)) or self._answer_series(method, outcome.status)
            series.requests.inc()
            series.seconds.observe(seconds)
            series.request_bytes.observe(sent)
            series.response_bytes.observe(len(outcome.body))
            return
        code = _code(outcome)
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

    def stream_ended(self, failure: SteersmanError | None) -> None:
        """Count a stream by its outcome."""
        code = _OK if failure is None else _code(failure)
        self._metrics.requests[code, "GET", self._host].inc()


def _code(failure: BaseException | None) -> str:
    return str(failure.code) if isinstance(failure, ApiError) else NO_ANSWER
