# SPDX-License-Identifier: Apache-2.0
"""Which failures are tried again, when, and for how long."""

from __future__ import annotations

import pytest
from tests.client.pacing import Pacing
from tests.client.serving import run

from steersman.client.errors import ApiError, ClientError, ConnectionFailed
from steersman.client.retry import Backoff, Pauses, RetryPolicy, retrying

LOST = ConnectionFailed("lost", may_have_arrived=True)
REFUSED = ConnectionFailed("refused", may_have_arrived=False)
OVERLOADED = ApiError(429, retry_after=7)
BROKEN = ApiError(500)
POLICY = RetryPolicy(attempts=4, deadline=100, pauses=Pauses(first=1, longest=10, forgiven_after=0))


def test_pauses_double_up_to_a_limit() -> None:
    backoff = Backoff(Pauses(first=1, longest=5), Pacing().timing)
    assert [backoff.next() for _ in range(5)] == [1, 2, 4, 5, 5]
    backoff.reset()
    assert backoff.next() == 1


def test_pauses_have_an_end_but_failures_need_none() -> None:
    backoff = Backoff(Pauses(first=1, longest=5, forgiven_after=0), Pacing().timing)
    assert [backoff.next() for _ in range(2000)][-1] == 5


def test_chance_makes_pauses_longer_but_not_by_more_than_the_jitter() -> None:
    pauses = [Backoff(Pauses(first=1, jitter=0.5), Pacing().jittery).next() for _ in range(3)]
    assert all(1 < pause < 1.5 for pause in pauses)


def test_failures_of_long_ago_are_forgiven() -> None:
    pacing = Pacing()
    backoff = Backoff(Pauses(first=1, forgiven_after=60), pacing.timing)
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


def test_nobody_waits_beyond_the_deadline() -> None:
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
