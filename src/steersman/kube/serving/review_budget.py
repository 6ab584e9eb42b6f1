# SPDX-License-Identifier: Apache-2.0
"""Rate limits of reviews by the API server: for all clients, for each client, and for concurrency.

Used by `access`. A client that sends invalid tokens exhausts its own share only.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import msgspec

from steersman.base import Clock

MAX_CLIENTS: Final = 1024


class ReviewRates(msgspec.Struct, frozen=True):
    """Reviews per second, bursts, and concurrent reviews."""

    per_second: float = 50.0
    burst: int = 100
    client_per_second: float = 10.0
    client_burst: int = 20
    under_way: int = 32


class ReviewsExhausted(Exception):
    """Error: no review is allowed now."""


class Bucket:
    """Non-blocking token bucket."""

    __slots__ = ("_burst", "_filled", "_per_second", "_tokens")

    def __init__(self, per_second: float, burst: int, now: float) -> None:
        self._per_second = per_second
        self._burst = float(burst)
        self._tokens = self._burst
        self._filled = now

    def has_one(self, now: float) -> bool:
        self._tokens = min(self._burst, self._tokens + (now - self._filled) * self._per_second)
        self._filled = now
        return self._tokens >= 1.0

    def take(self) -> None:
        self._tokens -= 1.0


class ReviewBudget:
    """Budget of one kind of review. Only recent clients are tracked; others have a full bucket."""

    def __init__(self, clock: Clock, rates: ReviewRates | None = None) -> None:
        self._clock = clock
        self._rates = rates or ReviewRates()
        self._all = Bucket(self._rates.per_second, self._rates.burst, clock.monotonic())
        self._clients: OrderedDict[str, Bucket] = OrderedDict()
        self._under_way = 0

    @contextmanager
    def spent_by(self, client: str) -> Iterator[None]:
        """Spend one review within the block. Raise `ReviewsExhausted` if a limit is exceeded."""
        now, own = self._clock.monotonic(), self._bucket_of(client)
        if self._under_way >= self._rates.under_way or not own.has_one(now) or not self._all.has_one(now):
            raise ReviewsExhausted
        own.take()
        self._all.take()
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1

    def _bucket_of(self, client: str) -> Bucket:
        found = self._clients.get(client)
        if found is None:
            rates = self._rates
            found = Bucket(rates.client_per_second, rates.client_burst, self._clock.monotonic())
            self._clients[client] = found
            if len(self._clients) > MAX_CLIENTS:
                self._clients.popitem(last=False)
        self._clients.move_to_end(client)
        return found
