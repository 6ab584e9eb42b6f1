# SPDX-License-Identifier: Apache-2.0
"""The server refuses half of all requests for a while, or loses half of its answers."""

from __future__ import annotations

import pytest
from tests.e2e.faults.arena import FAST, Arena
from tests.e2e.faults.faults import Delay, Fault, LostAnswer, Refusal, Selection
from tests.e2e.faults.proxy import FaultProxy

from steersman.testing.control_plane import Steersman, wait_until

WRITES = Selection(method="POST")


def _live_through(arena: Arena, proxy: FaultProxy, storm: Fault, hits: int) -> None:
    """Until the storm has hit so many requests, while pods come. It begins when everything has been opened that stays open."""
    arena.create_nodes(10)
    with arena.follower() as follower, Steersman(arena.plane, config=FAST, kubeconfig=proxy.kubeconfig) as steersman:
        arena.create_pods(1, "calm")
        wait_until(lambda: follower.bound == 1, what="a pod before the storm")
        with proxy.suffering(storm):
            arena.create_pods(200, "storm")
            wait_until(lambda: storm.happened >= hits, 60, what="a storm")
        arena.all_bound(steersman, follower, 201)
        assert steersman.stop() == 0


@pytest.mark.parametrize(
    "storm",
    [
        Refusal(share=0.5, code=429, reason="TooManyRequests", retry_after=1),
        Refusal(share=0.5, code=500, reason="InternalError"),
    ],
    ids=["429", "500"],
)
def test_refusals_of_half_of_all_requests_only_take_time(arena: Arena, proxy: FaultProxy, storm: Refusal) -> None:
    _live_through(arena, proxy, storm, 150)


def test_lost_answers_to_half_of_all_writes_bind_nothing_twice(arena: Arena, proxy: FaultProxy) -> None:
    _live_through(arena, proxy, LostAnswer(selection=WRITES, share=0.5), 100)


def test_slow_answers_bind_nothing_twice(arena: Arena, proxy: FaultProxy) -> None:
    _live_through(arena, proxy, Delay(selection=WRITES, share=0.5, seconds=1.0), 100)


def test_a_server_that_refuses_everything_at_the_start_is_waited_for(arena: Arena, proxy: FaultProxy) -> None:
    arena.create_nodes(1)
    arena.create_pods(5, "patient")
    storm = proxy.add(Refusal(code=500, reason="InternalError"))
    steersman = Steersman(arena.plane, config=FAST, kubeconfig=proxy.kubeconfig).start(wait=False)
    with arena.follower() as follower:
        wait_until(lambda: storm.happened > 20, what="refusals")
        proxy.remove(storm)
        steersman.wait_ready()
        arena.all_bound(steersman, follower, 5)
        assert steersman.stop() == 0
