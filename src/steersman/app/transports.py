# SPDX-License-Identifier: Apache-2.0
"""The connections of a running scheduler. What is urgent must not queue behind what is plentiful.

    scheduling loop   objects and bindings share the configured limits, events have limits of their own; both are fenced
    control loop      the lease and access reviews have none

All requests count in the metrics. Each loop has connections and credentials of its own: neither ever waits for the other.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from steersman.client import (
    Connection,
    DirectPosts,
    FencedTransport,
    HttpTransport,
    RateLimited,
    Timing,
    TokenBucket,
    Transport,
    WriteFence,
    http_transport,
)
from steersman.config import ClientConnection
from steersman.observe import ClientMetrics, MeasuredTransport


class ControlConnections(msgspec.Struct, frozen=True):
    """Connections of the lease, and of those who ask on the scheduler's behalf who a client is and what it may see."""

    lease: Connection
    authentication: Connection
    authorization: Connection


class Transports(msgspec.Struct, frozen=True):
    """Transports of the scheduling loop, and the short way that POSTs may take."""

    cluster: Transport
    events: Transport
    cluster_posts: DirectPosts
    event_posts: DirectPosts


class ControlTransports(msgspec.Struct, frozen=True):
    """Transports of the control loop."""

    lease: Transport
    authentication: Transport
    authorization: Transport


@asynccontextmanager
async def transports(
    connection: Connection, limits: ClientConnection, timing: Timing, metrics: ClientMetrics, fence: WriteFence
) -> AsyncIterator[Transports]:
    """Closed at the end."""

    def limited(transport: HttpTransport) -> tuple[Transport, DirectPosts]:
        below = MeasuredTransport(transport, metrics, transport.server)
        bucket = TokenBucket(limits.qps, limits.burst, timing)
        # The fence is asked behind the bucket: a write may wait there for longer than the lease holds.
        long_way = RateLimited(FencedTransport(below, fence), bucket, below.waited)
        return long_way, DirectPosts(transport, fence, bucket, below.waited, below.ended)

    async with (
        http_transport(connection, multiplexes=True) as cluster,
        http_transport(connection, multiplexes=True) as events,
    ):
        (cluster_way, cluster_posts), (event_way, event_posts) = limited(cluster), limited(events)
        yield Transports(cluster_way, event_way, cluster_posts, event_posts)


@asynccontextmanager
async def control_transports(
    connections: ControlConnections, metrics: ClientMetrics
) -> AsyncIterator[ControlTransports]:
    """Closed at the end. To be used in one loop, the control loop."""

    def measured(transport: HttpTransport) -> MeasuredTransport:
        return MeasuredTransport(transport, metrics, transport.server)

    async with (
        http_transport(connections.lease) as lease,
        http_transport(connections.authentication) as authentication,
        http_transport(connections.authorization) as authorization,
    ):
        yield ControlTransports(measured(lease), measured(authentication), measured(authorization))
