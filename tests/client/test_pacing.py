# SPDX-License-Identifier: Apache-2.0
"""Which failures are tried again, when, and for how long; and no more than so many requests per second."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web
from tests.client.pacing import Pacing
from tests.client.serving import run, serve

from steersman.base.clock import ManualClock
from steersman.base.timing import Timing
from steersman.kube.client.connection import Connection
from steersman.kube.client.errors import ApiError, ClientError, ConnectionFailed
from steersman.kube.client.pacing import (
    Backoff,
    BackoffSettings,
    RetryPolicy,
    TokenBucket,
    retrying,
)
from steersman.kube.client.requests import Request, RequestChain
from steersman.kube.client.transport import http_transport

LOST = ConnectionFailed("lost", may_have_arrived=True)
REFUSED = ConnectionFailed("refused", may_have_arrived=False)
OVERLOADED = ApiError(429, retry_after=7)
BROKEN = ApiError(500)
POLICY = RetryPolicy(attempts=4, deadline=100, pauses=BackoffSettings(first=1, longest=10, forgiven_after=0))


# -- pauses and retries ------------------------------------------------------------------------------------------------


def test_pauses_double_up_to_a_limit() -> None:
    backoff = Backoff(BackoffSettings(first=1, longest=5), Pacing().timing)
    assert [backoff.next() for _ in range(5)] == [1, 2, 4, 5, 5]


def test_pauses_have_an_end_but_failures_need_none() -> None:
    backoff = Backoff(BackoffSettings(first=1, longest=5, forgiven_after=0), Pacing().timing)
    assert [backoff.next() for _ in range(2000)][-1] == 5


def test_chance_makes_pauses_longer_but_not_by_more_than_the_jitter() -> None:
    pauses = [Backoff(BackoffSettings(first=1, jitter=0.5), Pacing().jittery).next() for _ in range(3)]
    assert all(1 < pause < 1.5 for pause in pauses)


def test_failures_of_long_ago_are_forgiven() -> None:
    pacing = Pacing()
    backoff = Backoff(BackoffSettings(first=1, forgiven_after=60), pacing.timing)
    assert [backoff.next(), backoff.next()] == [1, 2]
    pacing.clock.advance(61)
    assert backoff.next() == 1


@pytest.mark.parametrize("failure", [LOST, REFUSED, OVERLOADED, BROKEN])
def test_an_idempotent_request_is_repeated_after_any_passing_failure(failure: ClientError) -> None:
    assert _outcome([failure], idempotent=True) == "done"


@pytest.mark.parametrize("failure", [REFUSED, OVERLOADED, ApiError(503, retry_after=1)])
def test_another_request_is_repeated_if_the_server_did_not_act_on_it(failure: ClientError) -> None:
    assert _outcome([failure], idempotent=False) == "done"


@pytest.mark.parametrize("failure", [LOST, BROKEN])
def test_another_request_is_not_repeated_if_the_server_may_have_acted_on_it(failure: ClientError) -> None:
    assert _outcome([failure], idempotent=False) is failure


@pytest.mark.parametrize("code", [400, 403, 404, 409, 422])
def test_a_refusal_stays(code: int) -> None:
    assert isinstance(_outcome([ApiError(code)], idempotent=True), ApiError)


def test_the_server_says_how_long_to_wait() -> None:
    pacing = Pacing()
    _outcome([OVERLOADED, BROKEN], idempotent=True, pacing=pacing)
    assert pacing.slept == [7, 2]


def test_attempts_are_limited() -> None:
    pacing = Pacing()
    assert _outcome([BROKEN] * 9, idempotent=True, pacing=pacing) is BROKEN
    assert pacing.slept == [1, 2, 4]


def test_no_request_waits_beyond_the_deadline() -> None:
    pacing = Pacing()
    assert isinstance(_outcome([ApiError(429, retry_after=101)], idempotent=True, pacing=pacing), ApiError)
    assert pacing.slept == []


def _outcome(failures: list[ClientError], *, idempotent: bool, pacing: Pacing | None = None) -> str | ClientError:
    left = list(failures)

    async def call(_: float) -> str:
        if left:
            raise left.pop(0)
        return "done"

    try:
        return run(retrying(call, (pacing or Pacing()).timing, POLICY, idempotent=idempotent))
    except ClientError as failure:
        return failure


# -- rate limit --------------------------------------------------------------------------------------------------------


def test_a_burst_passes_then_the_rate_holds() -> None:
    assert _moments(qps=2, burst=3, count=6) == [0, 0, 0, 0.5, 1, 1.5]


def test_pauses_fill_the_bucket_up_to_the_burst() -> None:
    pacing = Pacing()

    async def scenario() -> list[float]:
        bucket = TokenBucket(1, 2, pacing.timing)
        for _ in range(2):
            await bucket.take()
        pacing.clock.advance(60)
        for _ in range(3):
            await bucket.take()
        return pacing.slept

    assert run(scenario()) == [1]


def test_no_rate_is_no_limit() -> None:
    assert _moments(qps=0, burst=1, count=5) == [0] * 5


def test_waiting_requests_are_served_in_order() -> None:
    waits: list[float] = []

    async def note(seconds: float) -> None:
        waits.append(seconds)

    async def scenario() -> None:
        bucket = TokenBucket(10, 1, Timing(ManualClock(), sleep=note))
        await asyncio.gather(*(bucket.take() for _ in range(4)))

    run(scenario())
    assert waits == pytest.approx([0.1, 0.2, 0.3])


def test_one_who_gives_up_leaves_the_token_to_others() -> None:
    async def scenario() -> float:
        clock, forever = ManualClock(), asyncio.Event()
        waits: list[float] = []

        async def wait(seconds: float) -> None:
            waits.append(seconds)
            await forever.wait()

        bucket = TokenBucket(1, 1, Timing(clock, sleep=wait))
        await bucket.take()
        for _ in range(2):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0):
                    await bucket.take()
        return waits[-1]

    assert run(scenario()) == 1


def test_requests_and_streams_cost_a_token_each() -> None:
    async def hello(_: web.Request) -> web.Response:
        return web.Response(text="hello\n")

    async def scenario() -> list[float]:
        pacing = Pacing()
        async with serve(hello) as address, http_transport(Connection(address)) as transport:
            limited = RequestChain(transport, bucket=TokenBucket(4, 1, pacing.timing))
            assert (await limited.request(Request("GET", "/"))).body == b"hello\n"
            assert [line async for line in limited.stream("/")] == [b"hello"]
        return pacing.slept

    assert run(scenario()) == [0.25]


def _moments(*, qps: float, burst: int, count: int) -> list[float]:
    """When each of some requests may go, one after the other."""
    pacing = Pacing()

    async def scenario() -> list[float]:
        bucket = TokenBucket(qps, burst, pacing.timing)
        moments = []
        for _ in range(count):
            await bucket.take()
            moments.append(pacing.clock.monotonic())
        return moments

    return run(scenario())
