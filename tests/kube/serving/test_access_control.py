# SPDX-License-Identifier: Apache-2.0
"""Delegated authentication and authorisation."""

from __future__ import annotations

import asyncio

import pytest
from tests.kube.serving.reviews import Reviews

from steersman.base.clock import ManualClock
from steersman.base.errors import InputError
from steersman.kube.serving import Access, AccessControl, AccessOptions, User
from steersman.kube.serving.access import (
    AccessForbidden,
    Granted,
    OpenPaths,
    Unauthenticated,
    Undecided,
    Verdict,
    VerdictCache,
    bearer_token,
)


class Door:
    """An AccessControl with its surroundings."""

    def __init__(self, options: AccessOptions | None = None) -> None:
        self.reviews, self.clock = Reviews(), ManualClock()
        self._control = AccessControl(self.reviews, self.clock, options)

    def decide(self, path: str, token: str = "", method: str = "GET") -> Verdict:
        return asyncio.run(self._control.decide(method, path, f"Bearer {token}" if token else ""))


def test_open_paths_need_no_token_and_no_review() -> None:
    door = Door()
    assert [door.decide(path) for path in ("/healthz", "/livez", "/readyz")] == [Granted()] * 3
    assert door.reviews.asked == []


def test_without_a_token_nothing_else_is_shown() -> None:
    assert Door().decide("/metrics") == Unauthenticated()


def test_an_unknown_token_is_not_authenticated() -> None:
    assert Door().decide("/metrics", "stolen") == Unauthenticated()


def test_a_user_with_the_right_may_go_on() -> None:
    door = Door()
    assert door.decide("/metrics", "monitor") == Granted(door.reviews.users["monitor"])
    assert door.reviews.asked == ["token monitor", "access prometheus get /metrics"]


def test_a_user_without_the_right_is_refused_by_name() -> None:
    door = Door()
    door.reviews.reason = "no policy"
    assert door.decide("/metrics", "guest", "POST") == AccessForbidden(User("guest"), "post", "/metrics", "no policy")


def test_members_of_masters_need_no_review() -> None:
    door = Door()
    door.reviews.users["root"] = User("admin", groups=("system:masters",))
    assert isinstance(door.decide("/debug/cache", "root"), Granted)
    assert door.reviews.asked == ["token root"]


def test_answers_are_kept_for_their_time_and_no_longer() -> None:
    door = Door(AccessOptions(token_seconds=30, allowed_seconds=10, denied_seconds=5))
    for _ in range(3):
        door.decide("/metrics", "monitor")
        door.decide("/metrics", "guest")
    assert len(door.reviews.asked) == 4
    door.clock.advance(6)
    door.decide("/metrics", "monitor")
    door.decide("/metrics", "guest")
    assert door.reviews.asked[4:] == ["access guest get /metrics"]
    door.clock.advance(30)
    door.decide("/metrics", "monitor")
    assert door.reviews.asked[5:] == ["token monitor", "access prometheus get /metrics"]


def test_rights_are_kept_by_path_and_verb() -> None:
    door = Door()
    door.decide("/metrics", "monitor")
    assert isinstance(door.decide("/debug/cache", "monitor"), AccessForbidden)
    door.decide("/metrics", "monitor", "HEAD")
    assert door.reviews.asked[-2:] == ["access prometheus get /debug/cache", "access prometheus head /metrics"]


def test_an_api_server_that_cannot_be_requested_rights_leaves_it_undecided_and_unremembered() -> None:
    door = Door()
    door.decide("/configz", "monitor")
    door.reviews.failure = ConnectionError("refused")
    assert door.decide("/metrics", "monitor") == Undecided("refused")
    door.reviews.failure = None
    assert isinstance(door.decide("/metrics", "monitor"), Granted)


def test_no_token_is_authenticated_while_the_api_server_does_not_answer() -> None:
    door = Door()
    door.reviews.failure = ConnectionError("refused")
    assert door.decide("/metrics", "monitor") == Unauthenticated()
    door.reviews.failure = None
    assert isinstance(door.decide("/metrics", "monitor"), Granted)


def test_a_review_that_does_not_come_back_is_given_up() -> None:
    class Silent(Reviews):
        async def review_access(self, user: User, verb: str, path: str) -> Access:
            await asyncio.Event().wait()
            raise AssertionError("unreachable")

    control = AccessControl(Silent(), ManualClock(), AccessOptions(review_seconds=0.01))
    assert asyncio.run(control.decide("GET", "/metrics", "Bearer monitor")) == Undecided("TimeoutError")


@pytest.mark.parametrize(
    ("header", "token"),
    [
        ("", ""),
        ("Bearer abc", "abc"),
        ("bearer abc", "abc"),
        ("Basic abc", ""),
        ("Bearer", ""),
        (" Bearer abc d", "abc"),
    ],
)
def test_tokens_are_taken_from_bearer_headers(header: str, token: str) -> None:
    assert bearer_token(header) == token


def test_open_paths_may_be_prefixes() -> None:
    paths = OpenPaths(["/metrics", "/debug/*"])
    assert [path in paths for path in ("/metrics", "/metrics/x", "/debug/cache", "/debug")] == [
        True,
        False,
        True,
        False,
    ]


def test_a_star_in_the_middle_of_a_path_is_refused() -> None:
    with pytest.raises(InputError, match="--authorization-always-allow-paths"):
        OpenPaths(["/a*b"])


def test_many_tokens_do_not_fill_the_memory() -> None:
    kept: VerdictCache[int] = VerdictCache(ManualClock())
    for number in range(10_000):
        kept.keep(number, number, 60)
    assert len(kept) <= 4096
    assert 9_999 in kept
