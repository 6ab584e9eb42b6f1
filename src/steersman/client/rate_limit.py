# SPDX-License-Identifier: Apache-2.0
"""No more requests per second than configured: a token bucket, and a transport that takes from it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable

from steersman.client.timing import Timing
from steersman.client.transport import JSON, NO_QUERY, REQUEST_SECONDS, Query, Response, Transport


class TokenBucket:
    """`burst` requests at once, `qps` per second in the long run, first come first served. No limit for `qps` <= 0."""

    def __init__(self, qps: float, burst: int, timing: Timing) -> None:
        self._qps = qps
        self._burst = float(max(burst, 1))
        self._timing = timing
        #: Negative: so many have been promised to those who wait.
        self._tokens = self._burst
        self._filled = timing.clock.monotonic()

    async def take(self) -> float:
        """Returns when there is a token: the seconds that it had to wait. One that is cancelled meanwhile gives its token
        back."""
        if self._qps <= 0:
            return 0.0
        self._fill()
        self._tokens -= 1.0
        if self._tokens >= 0:
            return 0.0
        wait = -self._tokens / self._qps
        try:
            await self._timing.sleep(wait)
        except BaseException:
            self._tokens += 1.0
            raise
        return wait

    def _fill(self) -> None:
        now = self._timing.clock.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._filled) * self._qps)
        self._filled = now


#: Told of every request: its method, and the seconds that it waited for its turn.
OnWait = Callable[[str, float], None]


def _ignore(method: str, seconds: float) -> None:
    """Nobody measures."""


class RateLimited:
    """A `Transport` whose requests and streams each cost a token of the bucket."""

    def __init__(self, transport: Transport, bucket: TokenBucket, on_wait: OnWait = _ignore) -> None:
        self._transport = transport
        self._bucket = bucket
        self._on_wait = on_wait

    async def request(
        self,
        method: str,
        path: str,
        query: Query = NO_QUERY,
        body: bytes | None = None,
        content_type: str = JSON,
        timeout: float = REQUEST_SECONDS,
    ) -> Response:
        self._on_wait(method, await self._bucket.take())
        return await self._transport.request(method, path, query, body, content_type, timeout)

    async def stream(self, path: str, query: Query = NO_QUERY) -> AsyncGenerator[bytes, None]:
        self._on_wait("GET", await self._bucket.take())
        lines = self._transport.stream(path, query)
        try:
            async for line in lines:
                yield line
        finally:
            await lines.aclose()
