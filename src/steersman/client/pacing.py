# SPDX-License-Identifier: Apache-2.0
"""When a request is sent, and when it is sent again: time and chance, growing pauses, retries, the rate limit.

`Timing` is the one dependency of everything in this package that waits; tests give a clock that jumps instead of sleeping. The
dispatcher wraps its requests in `retrying`; the reflectors, which never give up, use `Backoff` alone. `RateLimited` is a
transport that sends no more requests per second than configured.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TypeVar

import msgspec

from steersman.client.errors import ApiError, ClientError, ConnectionFailed
from steersman.client.transport import JSON, NO_QUERY, REQUEST_SECONDS, Query, Response, Transport
from steersman.clock import Clock, RealClock
from steersman.rng import Rng, SeededRng

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[object]]
#: Told of every request: its method, and the seconds that it waited for its turn.
OnWait = Callable[[str, float], None]


# -- time and chance ---------------------------------------------------------------------------------------------------


class Timing(msgspec.Struct, frozen=True):
    """Time and chance. `sleep` waits on the clock's monotonic time."""

    clock: Clock = msgspec.field(default_factory=RealClock)
    rng: Rng = msgspec.field(default_factory=lambda: SeededRng(secrets.randbits(64)))
    sleep: Sleep = asyncio.sleep

    def jittered(self, seconds: float, share: float) -> float:
        """`seconds` and up to `share` of them more."""
        return seconds * (1.0 + share * self.rng.random())


# -- pauses and retries ------------------------------------------------------------------------------------------------


class Pauses(msgspec.Struct, frozen=True):
    """How pauses grow. `jitter` is the largest share that chance adds to one."""

    first: float = 0.8
    factor: float = 2.0
    longest: float = 30.0
    jitter: float = 1.0
    #: After so long without a failure the next one counts as the first; 0: never.
    forgiven_after: float = 120.0


class Backoff:
    """The pauses of one who keeps trying."""

    def __init__(self, pauses: Pauses, timing: Timing) -> None:
        self._pauses = pauses
        self._timing = timing
        self._failures = 0
        self._last = timing.clock.monotonic()

    async def pause(self, at_least: float | None = None) -> None:
        """Waits after one more failure; `at_least` is what the server asked for."""
        await self._timing.sleep(max(self.next(), at_least or 0.0))

    def next(self) -> float:
        """Seconds that the next pause lasts."""
        pauses, now = self._pauses, self._timing.clock.monotonic()
        if pauses.forgiven_after and now - self._last > pauses.forgiven_after:
            self._failures = 0
        self._last = now
        length = pauses.first * pauses.factor**self._failures
        if length < pauses.longest:  # else no further failure counts: after a thousand, the power would be no float
            self._failures += 1
        return self._timing.jittered(min(pauses.longest, length), pauses.jitter)


class RetryPolicy(msgspec.Struct, frozen=True):
    """How long to insist; whichever limit is reached first."""

    attempts: int = 8
    deadline: float = 60.0
    #: The longest that a single attempt may take.
    attempt_seconds: float = 15.0
    pauses: Pauses = Pauses(first=0.1, longest=10.0, jitter=0.5, forgiven_after=0.0)


async def retrying(
    call: Callable[[float], Awaitable[T]], timing: Timing, policy: RetryPolicy, *, idempotent: bool
) -> T:
    """Calls, with the seconds that the attempt may take, until there is an answer, a failure that stays, or no time.

    A request that is not idempotent is repeated only if the server cannot have acted on it.
    """
    clock, backoff = timing.clock, Backoff(policy.pauses, timing)
    end = clock.monotonic() + policy.deadline
    for attempt in range(1, policy.attempts + 1):
        try:
            return await call(min(policy.attempt_seconds, end - clock.monotonic()))
        except ClientError as failure:
            pause = max(backoff.next(), _asked(failure))
            too_late = clock.monotonic() + pause >= end
            if attempt == policy.attempts or too_late or not is_worth_repeating(failure, idempotent=idempotent):
                raise
        await timing.sleep(pause)
    raise ValueError(f"a policy needs at least one attempt, not {policy.attempts}")


def is_worth_repeating(failure: ClientError, *, idempotent: bool) -> bool:
    """Whether the same request may succeed a little later, and does no harm then."""
    if isinstance(failure, ConnectionFailed):
        return idempotent or not failure.may_have_arrived
    if isinstance(failure, ApiError):
        return failure.is_overload or (idempotent and failure.is_server_fault)
    return False


def _asked(failure: ClientError) -> float:
    """The pause that the server wants."""
    return (failure.retry_after or 0.0) if isinstance(failure, ApiError) else 0.0


# -- rate limit --------------------------------------------------------------------------------------------------------


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

    def take_nowait(self) -> bool:
        """Takes a token if nobody has to wait for it."""
        if self._qps <= 0:
            return True
        self._fill()
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True

    def give_back(self) -> None:
        """Returns a token that was not used."""
        self._tokens += 1.0

    def _fill(self) -> None:
        now = self._timing.clock.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._filled) * self._qps)
        self._filled = now


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
