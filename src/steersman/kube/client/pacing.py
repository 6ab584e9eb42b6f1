# SPDX-License-Identifier: Apache-2.0
"""Retries with backoff, and the token bucket of the rate limit.

Everything in this package that waits uses `Timing`; tests pass a clock that jumps instead of
sleeping. Writers wrap requests in `retrying`; reflectors, which never give up, use `Backoff` alone.
`requests.RequestChain` takes tokens of the `TokenBucket`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from steersman.base import Timing
from steersman.kube.client.errors import ApiError, ClientError, ConnectionFailed

T = TypeVar("T")


# -- pauses and retries ------------------------------------------------------------------------------------------------


class BackoffSettings(msgspec.Struct, frozen=True):
    """Parameters of exponential backoff. `jitter` is the largest random share that is added."""

    first: float = 0.8
    factor: float = 2.0
    longest: float = 30.0
    jitter: float = 1.0
    #: The backoff is reset after this time without a failure; 0 for never.
    forgiven_after: float = 120.0


class Backoff:
    """Exponential backoff of one operation."""

    def __init__(self, pauses: BackoffSettings, timing: Timing) -> None:
        self._pauses = pauses
        self._timing = timing
        self._failures = 0
        self._last = timing.clock.monotonic()

    async def pause(self, at_least: float | None = None) -> None:
        """Wait after a failure, at least for the pause requested by the server."""
        await self._timing.sleep(max(self.next(), at_least or 0.0))

    def next(self) -> float:
        """Return the length of the next pause in seconds."""
        pauses, now = self._pauses, self._timing.clock.monotonic()
        if pauses.forgiven_after and now - self._last > pauses.forgiven_after:
            self._failures = 0
        self._last = now
        length = pauses.first * pauses.factor**self._failures
        if length < pauses.longest:  # stop counting at the limit: the power would overflow a float
            self._failures += 1
        return self._timing.jittered(min(pauses.longest, length), pauses.jitter)


class RetryPolicy(msgspec.Struct, frozen=True):
    """Limits of retries; the first one that is reached ends them."""

    attempts: int = 8
    deadline: float = 60.0
    #: Timeout of a single attempt.
    attempt_seconds: float = 15.0
    pauses: BackoffSettings = BackoffSettings(first=0.1, longest=10.0, jitter=0.5, forgiven_after=0.0)


async def retrying(
    call: Callable[[float], Awaitable[T]], timing: Timing, policy: RetryPolicy, *, idempotent: bool
) -> T:
    """Call with the timeout of the attempt until it succeeds, fails permanently, or a limit is
    reached.

    A request that is not idempotent is retried only if the server cannot have carried it out.
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
    """Return whether a retry may succeed and is safe."""
    if isinstance(failure, ConnectionFailed):
        return idempotent or not failure.may_have_arrived
    if isinstance(failure, ApiError):
        return failure.is_overload or (idempotent and failure.is_server_fault)
    return False


def _asked(failure: ClientError) -> float:
    """Return the pause requested by the server."""
    return (failure.retry_after or 0.0) if isinstance(failure, ApiError) else 0.0


# -- rate limit --------------------------------------------------------------------------------------------------------


class TokenBucket:
    """First-come-first-served token bucket, unlimited if `qps` <= 0."""

    def __init__(self, qps: float, burst: int, timing: Timing) -> None:
        self._qps = qps
        self._burst = float(max(burst, 1))
        self._timing = timing
        #: Negative values count the waiting requests.
        self._tokens = self._burst
        self._filled = timing.clock.monotonic()

    async def take(self) -> float:
        """Wait for a token and return the waiting time. A cancelled call returns its token."""
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
        """Take a token if there is one."""
        if self._qps <= 0:
            return True
        self._fill()
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True

    def give_back(self) -> None:
        """Return an unused token."""
        self._tokens += 1.0

    def lift(self) -> None:
        """Remove the limit."""
        self._qps = 0.0

    def _fill(self) -> None:
        now = self._timing.clock.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._filled) * self._qps)
        self._filled = now
