"""The connections of a running scheduler. What is urgent must not queue behind what is plentiful.

Objects and bindings share the configured limits; events have limits of their own; the lease and access reviews have none.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from steersman.client import Connection, RateLimited, Timing, TokenBucket, Transport, http_transport
from steersman.config import ClientConnection


@dataclass(frozen=True, slots=True)
class Transports:
    cluster: Transport
    events: Transport
    lease: Transport
    reviews: Transport


@asynccontextmanager
async def transports(connection: Connection, limits: ClientConnection, timing: Timing) -> AsyncIterator[Transports]:
    """Closed at the end."""

    def limited(transport: Transport) -> Transport:
        return RateLimited(transport, TokenBucket(limits.qps, limits.burst, timing))

    async with (
        http_transport(connection) as cluster,
        http_transport(connection) as events,
        http_transport(connection) as lease,
        http_transport(connection) as reviews,
    ):
        yield Transports(limited(cluster), limited(events), lease, reviews)
