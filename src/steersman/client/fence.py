# SPDX-License-Identifier: Apache-2.0
"""Whether this process may still write: asked right before every request that changes something in the cluster.

`lease` publishes until when the lease holds, from a thread of its own; `FencedTransport` and the extenders ask, in the thread
that schedules. One number is all that they share. Without leader election everything is allowed at all times.
"""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator
from typing import Final

from steersman.client.errors import ClientError
from steersman.client.transport import JSON, NO_QUERY, REQUEST_SECONDS, Query, Response, Transport
from steersman.clock import Clock

NOT_HELD: Final = "{}: not sent, the lease is not held any more"


class LeaseNotHeld(ClientError):
    """A write that was not sent, because somebody else may lead by now. Not worth repeating."""


class WriteFence:
    """Opened and moved on by the election, closed once and for all by the loss or the end of the lease."""

    def __init__(self, clock: Clock, valid_until: float = -math.inf) -> None:
        self._clock = clock
        #: Monotonic seconds until which the holder of the lease may act. A float is replaced in one step, so that no
        #: lock is needed between the threads.
        self.valid_until = valid_until
        #: Writes that were not sent.
        self.refused = 0
        self._is_final = False

    @classmethod
    def open(cls, clock: Clock) -> WriteFence:
        """A fence that is never closed: there is no leader election."""
        return cls(clock, math.inf)

    @property
    def is_open(self) -> bool:
        return self._clock.monotonic() < self.valid_until

    def extend(self, valid_until: float) -> None:
        if not self._is_final:
            self.valid_until = valid_until

    def close(self) -> None:
        """Closes it for good: an answer to a renewal that comes late does not open it again."""
        self._is_final = True
        self.valid_until = -math.inf

    @property
    def seconds_left(self) -> float:
        """How long a write may take that begins now; not positive: it must not begin."""
        return self.valid_until - self._clock.monotonic()

    def seconds_for(self, write: str) -> float:
        """How long the write may take, from now. LeaseNotHeld when it must not begin; `write` names it."""
        left = self.seconds_left
        if left <= 0:
            self.refused += 1
            raise LeaseNotHeld(NOT_HELD.format(write))
        return left


class FencedTransport:
    """A `Transport` that reads at any time and writes while the lease holds. Next to the network, behind everything that a
    request may have to wait for; no attempt outlives the lease that it began with."""

    def __init__(self, transport: Transport, fence: WriteFence) -> None:
        self._transport = transport
        self._fence = fence

    async def request(
        self,
        method: str,
        path: str,
        query: Query = NO_QUERY,
        body: bytes | None = None,
        content_type: str = JSON,
        timeout: float = REQUEST_SECONDS,
    ) -> Response:
        if method != "GET":
            timeout = min(timeout, self._fence.seconds_for(f"{method} {path}"))
        return await self._transport.request(method, path, query, body, content_type, timeout)

    def stream(self, path: str, query: Query = NO_QUERY) -> AsyncGenerator[bytes, None]:
        return self._transport.stream(path, query)
