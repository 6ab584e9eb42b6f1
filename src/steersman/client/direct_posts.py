# SPDX-License-Identifier: Apache-2.0
"""POSTs that go at once, without a task or a coroutine: bindings and events, of which there are two for every pod.

`dispatcher` and `events` try this first. Most writes of a busy scheduler need no patience: the lease holds, a token is there,
the connection has room. Then a POST is one call, and its answer another. Whatever is not like that goes the long way, which
says the same in layers (`pacing.RateLimited` ─► `fence.FencedTransport` ─► `observe.MeasuredTransport` ─► `transport`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Protocol

from steersman.client.errors import ClientError
from steersman.client.fence import WriteFence
from steersman.client.pacing import OnWait, TokenBucket
from steersman.client.transport import OnPosted, Response

#: Told of every request that has ended: method, outcome, bytes that were sent, seconds.
OnRequestEnd = Callable[[str, Response | ClientError, int, float], None]


class PostBeginner(Protocol):
    """`transport.HttpTransport`."""

    def begin_post(self, path: str, body: bytes, timeout: float, on_end: OnPosted) -> bool: ...


class DirectPosts:
    """POSTs within the limits of one `RateLimited` transport; `on_wait` and `on_request_end` count them as it would."""

    def __init__(
        self,
        transport: PostBeginner,
        fence: WriteFence,
        bucket: TokenBucket,
        on_wait: OnWait,
        on_request_end: OnRequestEnd,
    ) -> None:
        self._transport = transport
        self._fence = fence
        self._bucket = bucket
        self._on_wait = on_wait
        self._on_request_end = on_request_end

    def begin(self, path: str, body: bytes, timeout: float, on_end: OnPosted) -> bool:
        """Sends the POST; `on_end` is told of its end. False: it would have to wait, or must not be sent; nothing was."""
        left = self._fence.seconds_left
        if left <= 0.0 or not self._bucket.take_nowait():
            return False
        ended = partial(self._ended, on_end, len(body), perf_counter())
        if not self._transport.begin_post(path, body, min(timeout, left), ended):
            self._bucket.give_back()
            return False
        self._on_wait("POST", 0.0)
        return True

    def _ended(self, on_end: OnPosted, sent: int, began: float, outcome: Response | ClientError) -> None:
        self._on_request_end("POST", outcome, sent, perf_counter() - began)
        on_end(outcome)
