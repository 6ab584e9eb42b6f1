# SPDX-License-Identifier: Apache-2.0
"""How many reviews the API server is asked for."""

from __future__ import annotations

import asyncio

import pytest
from tests.kube.serving.reviews import Reviews

from steersman.base.clock import ManualClock
from steersman.kube.serving import Access, AccessControl, AccessOptions, User
from steersman.kube.serving.access import AccessForbidden, Granted, TooManyReviews, Unauthenticated, Verdict
from steersman.kube.serving.review_budget import ReviewBudget, ReviewRates, ReviewsExhausted


def spend(budget: ReviewBudget, client: str, times: int) -> int:
    """How many of them were granted."""
    granted = 0
    for _ in range(times):
        try:
            with budget.spent_by(client):
                granted += 1
        except ReviewsExhausted:
            continue
    return granted


def test_a_client_has_a_share_that_comes_back_with_time() -> None:
    clock = ManualClock()
    budget = ReviewBudget(clock, ReviewRates(client_per_second=10, client_burst=20))
    assert spend(budget, "a", 100) == 20
    assert spend(budget, "b", 100) == 20, "another one has a share of its own"
    clock.advance(1.0)
    assert spend(budget, "a", 100) == 10


def test_all_together_have_a_limit_too() -> None:
    budget = ReviewBudget(ManualClock(), ReviewRates(burst=50, client_burst=20))
    assert sum(spend(budget, f"client-{number}", 100) for number in range(10)) == 50


def test_concurrent_reviews_are_limited() -> None:
    budget = ReviewBudget(ManualClock(), ReviewRates(under_way=1))
    with budget.spent_by("a"), pytest.raises(ReviewsExhausted), budget.spent_by("b"):
        pytest.fail("unreachable")
    assert spend(budget, "b", 1) == 1


def test_many_addresses_do_not_fill_the_memory() -> None:
    clock = ManualClock()
    budget = ReviewBudget(clock, ReviewRates(per_second=1e9))
    for number in range(5000):
        clock.advance(1.0)
        spend(budget, f"client-{number}", 1)
    assert len(budget._clients) <= 1024


# -- behind access control -----------------------------------------------------------------------------------------------


class Slow(Reviews):
    """Reviews that wait to be let go."""

    def __init__(self) -> None:
        super().__init__()
        self.go = asyncio.Event()

    async def review_token(self, token: str) -> User | None:
        user = await super().review_token(token)
        await self.go.wait()
        return user

    async def review_access(self, user: User, verb: str, path: str) -> Access:
        access = await super().review_access(user, verb, path)
        await self.go.wait()
        return access


def test_equal_tokens_that_come_together_are_reviewed_once() -> None:
    async def scenario() -> None:
        reviews = Slow()
        control = AccessControl(reviews, ManualClock())
        async with asyncio.TaskGroup() as group:
            waiting = [group.create_task(control.decide("GET", "/metrics", "Bearer monitor")) for _ in range(50)]
            await asyncio.sleep(0)
            reviews.go.set()
        assert {type(task.result()) for task in waiting} == {Granted}
        assert reviews.asked == ["token monitor", "access prometheus get /metrics"]

    asyncio.run(scenario())


def test_a_review_that_fails_fails_for_all_who_wait_and_is_asked_again_later() -> None:
    async def scenario() -> None:
        reviews = Slow()
        control = AccessControl(reviews, ManualClock(), AccessOptions(review_seconds=0.01))
        async with asyncio.TaskGroup() as group:
            waiting = [group.create_task(control.decide("GET", "/metrics", "Bearer monitor")) for _ in range(5)]
        assert [task.result() for task in waiting] == [Unauthenticated()] * 5
        reviews.go.set()
        assert isinstance(await control.decide("GET", "/metrics", "Bearer monitor"), Granted)

    asyncio.run(scenario())


def decisions(options: AccessOptions, *questions: tuple[str, str, str]) -> tuple[list[Verdict], Reviews]:
    """Path, token and address of each."""
    reviews = Reviews()
    control = AccessControl(reviews, ManualClock(), options)

    async def scenario() -> list[Verdict]:
        return [await control.decide("GET", path, f"Bearer {token}", peer=peer) for path, token, peer in questions]

    return asyncio.run(scenario()), reviews


FEW = AccessOptions(rates=ReviewRates(client_burst=3))


def test_made_up_tokens_use_up_the_share_of_their_sender_only() -> None:
    made_up = [("/metrics", f"made-up-{number}", "10.0.0.1") for number in range(5)]
    verdicts, reviews = decisions(FEW, *made_up, ("/metrics", "monitor", "10.0.0.2"))
    assert verdicts[:3] == [Unauthenticated()] * 3
    assert verdicts[3:5] == [TooManyReviews()] * 2
    assert isinstance(verdicts[5], Granted)
    assert len(reviews.asked) == 5


def test_who_asks_for_many_paths_uses_up_their_own_share() -> None:
    verdicts, _ = decisions(FEW, *((f"/path-{number}", "guest", "10.0.0.1") for number in range(5)))
    assert [type(verdict) for verdict in verdicts] == [AccessForbidden] * 3 + [TooManyReviews] * 2


def test_health_is_never_limited() -> None:
    none = AccessOptions(rates=ReviewRates(burst=0))
    assert decisions(none, ("/livez", "made-up", ""))[0] == [Granted()]


def test_a_token_of_excessive_length_is_nobodys_and_not_sent_on() -> None:
    verdicts, reviews = decisions(FEW, ("/metrics", "x" * 20_000, ""))
    assert (verdicts, reviews.asked) == ([Unauthenticated()], [])
