# SPDX-License-Identifier: Apache-2.0
"""Requests to the API server as metrics, under client-go's names. Written by `measured_transport`, in both threads."""

from __future__ import annotations

from typing import Final, NamedTuple

from prometheus_client import CollectorRegistry, Counter

from steersman.observe.series import Children, Histogram, MetricSet

_SECONDS: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
_BYTES: Final = (64.0, 256.0, 512.0, 1024.0, *(4.0**power for power in range(6, 13)))


class ClientSeries(NamedTuple):
    """The series of one transport, which one thread uses."""

    requests: Children[Counter]
    request_seconds: Children[Histogram]
    limiter_seconds: Children[Histogram]
    request_bytes: Children[Histogram]
    response_bytes: Children[Histogram]


class ClientMetrics(MetricSet):
    """On the registry of the scheduler's own metrics."""

    def __init__(self, registry: CollectorRegistry) -> None:
        super().__init__(registry)
        by_host = ("verb", "host")
        self._requests = self.counters(
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
        """For one more transport."""
        return ClientSeries(
            self._requests,
            self._request_seconds.children(),
            self._limiter_seconds.children(),
            self._request_bytes.children(),
            self._response_bytes.children(),
        )
