"""The connections of a running scheduler. What is urgent must not queue behind what is plentiful.

Objects and bindings share the configured limits; events have limits of their own; the lease and access reviews have none.
All requests count in the metrics.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from steersman.client import Connection, RateLimited, Timing, TokenBucket, Transport, http_transport
from steersman.config import ClientConnection
from steersman.observe import ClientMetrics, MeasuredTransport


@dataclass(frozen=True, slots=True)
class Transports:
    cluster: Transport
    events: Transport
    lease: Transport
    reviews: Transport


@asynccontextmanager
async def transports(
    connection: Connection, limits: ClientConnection, timing: Timing, metrics: ClientMetrics
) -> AsyncIterator[Transports]:
    """Closed at the end."""

    def measured(transport: Transport) -> MeasuredTransport:
        return MeasuredTransport(transport, metrics, connection.server)

    def limited(transport: Transport) -> Transport:
        below = measured(transport)
        return RateLimited(below, TokenBucket(limits.qps, limits.burst, timing), below.waited)

    async with (
        http_transport(connection) as cluster,
        http_transport(connection) as events,
        http_transport(connection) as lease,
        http_transport(connection) as reviews,
    ):
        yield Transports(limited(cluster), limited(events), measured(lease), measured(reviews))
