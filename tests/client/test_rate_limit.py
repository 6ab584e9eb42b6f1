# SPDX-License-Identifier: Apache-2.0
"""No more than so many requests per second."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web
from tests.client.pacing import Pacing
from tests.client.serving import run, serve

from steersman.client.connection import Connection
from steersman.client.rate_limit import RateLimited, TokenBucket
from steersman.client.timing import Timing
from steersman.client.transport import http_transport
from steersman.clock import ManualClock


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


def test_those_who_wait_are_served_in_order() -> None:
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
            limited = RateLimited(transport, TokenBucket(4, 1, pacing.timing))
            assert (await limited.request("GET", "/")).body == b"hello\n"
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
