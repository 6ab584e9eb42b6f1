"""The connections of a running scheduler. What is urgent must not queue behind what is plentiful.

Objects and bindings share the configured limits; events have limits of their own; the lease and access reviews have none.
All requests count in the metrics.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from steersman.client import Connection, HttpTransport, RateLimited, Timing, TokenBucket, Transport, http_transport
from steersman.config import ClientConnection
from steersman.observe import ClientMetrics, MeasuredTransport


@dataclass(frozen=True, slots=True)
class Connections:
    """Of the scheduler, and of those who ask on its behalf who a client is and what it may see."""

    cluster: Connection
    authentication: Connection
    authorization: Connection


@dataclass(frozen=True, slots=True)
class Transports:
    cluster: Transport
    events: Transport
    lease: Transport
    authentication: Transport
    authorization: Transport


@asynccontextmanager
async def transports(
    connections: Connections, limits: ClientConnection, timing: Timing, metrics: ClientMetrics
) -> AsyncIterator[Transports]:
    """Closed at the end."""

    def measured(transport: HttpTransport) -> MeasuredTransport:
        return MeasuredTransport(transport, metrics, transport.server)

    def limited(transport: HttpTransport) -> Transport:
        below = measured(transport)
        return RateLimited(below, TokenBucket(limits.qps, limits.burst, timing), below.waited)

    async with (
        http_transport(connections.cluster) as cluster,
        http_transport(connections.cluster) as events,
        http_transport(connections.cluster) as lease,
        http_transport(connections.authentication) as authentication,
        http_transport(connections.authorization) as authorization,
    ):
        yield Transports(
            limited(cluster), limited(events), measured(lease), measured(authentication), measured(authorization)
        )
