# SPDX-License-Identifier: Apache-2.0
"""The path of a request from its caller to the socket: one type, `Request`, and one chain,
`RequestChain`.

    binding  `BindingRequests` ─┐
    event    `EventRecorder`   ─┤                ┌──────────────── RequestChain ────────────────┐
    status   `StatusUpdates`   ─┼─► `Request` ─► │ 1 rate limit ─► 2 lease held? ─► 3 metrics   │ ─► 4 `HttpTransport` ─► socket
    read     `list_watch`, …   ─┘                └───────────────────────────────────────────────┘

1. A token of the `TokenBucket`. First, as a write may wait here for longer than the lease holds.
2. `WriteFence`: no write begins without a valid lease or lasts longer than it. Reads pass.
3. `RequestMetrics` counts the request, its waiting time and its outcome.
4. `HttpTransport` adds credentials and uses `kube.http`: HTTP/2 for writes, else HTTP/1.1.

Each step of `request_nowait` either succeeds at once or ends it with False before anything is sent;
then the caller uses `request`, which takes the same steps and waits. Callers retry
(`pacing.retrying`); each attempt takes all steps.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from functools import partial
from time import perf_counter
from types import MappingProxyType
from typing import Final, Protocol

import msgspec

from steersman.base import SteersmanError
from steersman.kube.client.errors import ApiError, ClientError
from steersman.kube.client.fence import WriteFence
from steersman.kube.client.pacing import TokenBucket

Query = Mapping[str, str]
NO_QUERY: Final[Query] = MappingProxyType({})

JSON: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH: Final = "application/strategic-merge-patch+json"
REQUEST_SECONDS: Final = 60.0


class Request(msgspec.Struct, frozen=True):
    """A request to an API server. The path begins with a slash, after the URL's own path."""

    method: str
    path: str
    query: Query = NO_QUERY
    body: bytes | None = None
    content_type: str = JSON
    #: Seconds until the response must be complete. Expired requests are not sent.
    timeout: float = REQUEST_SECONDS

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def is_read(self) -> bool:
        return self.method == "GET"


class Response(msgspec.Struct, frozen=True):
    """The response to a request that the server granted."""

    status: int
    body: bytes
    #: The Date header of a read: the time on the server's clock. Not set for writes.
    date: str = ""


OnEnd = Callable[[Response | ClientError], None]
"""Called once with the outcome of a request."""


class Transport(Protocol):
    """Sends requests to one server and waits for their responses."""

    async def request(self, request: Request, /) -> Response:
        """Send a request. Raise `ApiError` if refused, `ConnectionFailed` without a response."""

    def stream(self, path: str, query: Query = NO_QUERY) -> AsyncGenerator[bytes, None]:
        """Yield the lines of a streamed response, until the server ends it. Errors as for
        `request`.

        A caller that stops earlier closes the generator (`aclosing`).
        """


class NowaitTransport(Transport, Protocol):
    """A transport that can send a request without waiting for anything."""

    def request_nowait(self, request: Request, timeout: float, on_end: OnEnd, /) -> bool:
        """Send a request and return True; `on_end` gets what `request` would return or raise.

        False: that is not possible without waiting, and nothing was sent. Nothing is tried twice.
        """


class RequestMetrics(Protocol):
    """Counts the requests to one server (`observe.ServerMetrics`)."""

    def waited(self, method: str, seconds: float) -> None:
        """Record the time that a request waited for the rate limit."""

    def ended(self, method: str, outcome: Response | BaseException | None, sent: int, seconds: float) -> None:
        """Record a request: its response or failure, the bytes that were sent and its duration."""

    def stream_ended(self, failure: SteersmanError | None) -> None:
        """Record a stream at its end: whether it was granted is not known earlier."""


class RequestChain:
    """A `Transport` with optional rate limit, fence and metrics around another one."""

    def __init__(
        self,
        transport: Transport,
        *,
        bucket: TokenBucket | None = None,
        fence: WriteFence | None = None,
        metrics: RequestMetrics | None = None,
    ) -> None:
        self._transport = transport
        self._bucket = bucket
        self._fence = fence
        self._metrics = metrics

    async def request(self, request: Request, /) -> Response:
        if self._bucket is not None:
            self._note_wait(request.method, await self._bucket.take())
        if self._fence is not None and not request.is_read:
            left = self._fence.seconds_for(str(request))
            request = msgspec.structs.replace(request, timeout=min(request.timeout, left))
        began = perf_counter()
        outcome: Response | ApiError | None = None
        try:
            outcome = await self._transport.request(request)
            return outcome
        except ApiError as refusal:
            outcome = refusal
            raise
        finally:
            self._note_end(request, began, outcome)

    async def stream(self, path: str, query: Query = NO_QUERY) -> AsyncGenerator[bytes, None]:
        if self._bucket is not None:
            self._note_wait("GET", await self._bucket.take())
        failure: SteersmanError | None = None
        try:
            async with aclosing(self._transport.stream(path, query)) as lines:
                async for line in lines:
                    yield line
        except SteersmanError as error:
            failure = error
            raise
        finally:
            if self._metrics is not None:
                self._metrics.stream_ended(failure)

    def _note_wait(self, method: str, seconds: float) -> None:
        if self._metrics is not None:
            self._metrics.waited(method, seconds)

    def _note_end(self, request: Request, began: float, outcome: Response | BaseException | None) -> None:
        if self._metrics is not None:
            self._metrics.ended(request.method, outcome, len(request.body or b""), perf_counter() - began)


class NowaitChain(RequestChain):
    """A `NowaitTransport` with rate limit, fence and metrics, for the scheduler's writes."""

    def __init__(
        self,
        transport: NowaitTransport,
        bucket: TokenBucket,
        fence: WriteFence,
        metrics: RequestMetrics | None = None,
    ) -> None:
        super().__init__(transport, bucket=bucket, fence=fence, metrics=metrics)
        self._send_nowait = transport.request_nowait
        self._tokens = bucket
        self._lease = fence

    def request_nowait(self, request: Request, on_end: OnEnd, /) -> bool:
        """Send a write without waiting and return True; return False if nothing was sent."""
        left = self._lease.seconds_left
        if left <= 0.0 or not self._tokens.take_nowait():
            return False
        ended = partial(self._ended, request, perf_counter(), on_end)
        if not self._send_nowait(request, min(request.timeout, left), ended):
            self._tokens.give_back()
            return False
        self._note_wait(request.method, 0.0)
        return True

    def _ended(self, request: Request, began: float, on_end: OnEnd, outcome: Response | ClientError) -> None:
        self._note_end(request, began, outcome)
        on_end(outcome)
