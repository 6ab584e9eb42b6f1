# SPDX-License-Identifier: Apache-2.0
"""When to ask again: growing, jittered pauses, and which failures are worth another attempt.

The dispatcher wraps its requests in `retrying`; the reflectors, which never give up, use `Backoff` alone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from steersman.client.errors import ApiError, ClientError, ConnectionFailed
from steersman.client.timing import Timing

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pauses:
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
        """After one more failure; `at_least` is what the server asked for."""
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

    def reset(self) -> None:
        """The last attempt was a success."""
        self._failures = 0


@dataclass(frozen=True, slots=True)
class RetryPolicy:
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
