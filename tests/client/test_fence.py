# SPDX-License-Identifier: Apache-2.0
"""No write without the lease: the fence, the transport behind it, and what the dispatcher drops."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator

import pytest
from tests.client.elections import World
from tests.client.pacing import Pacing
from tests.client.serving import run

from steersman.base.clock import ManualClock
from steersman.framework import Failure
from steersman.kube.client import Dispatcher, EventRecorder, LeaseNotHeld, RequestChain, RetryPolicy, WriteFence
from steersman.kube.client.errors import ConnectionFailed
from steersman.kube.client.requests import NO_QUERY, Query, Request, Response
from steersman.testing import make_pod


class Wire:
    """A transport that writes down what reaches it: method, path and the seconds it was given."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str, float]] = []
        self.failure: Exception | None = None

    async def request(self, request: Request, /) -> Response:
        self.sent.append((request.method, request.path, request.timeout))
        if self.failure is not None:
            raise self.failure
        return Response(200, b"{}")

    async def stream(self, path: str, query: Query = NO_QUERY) -> AsyncGenerator[bytes, None]:
        yield b"line"


def test_a_write_is_sent_while_the_lease_holds_and_takes_no_longer() -> None:
    clock, wire = ManualClock(100), Wire()
    fence = WriteFence(clock)
    fence.extend(107)
    transport = RequestChain(wire, fence=fence)
    run(transport.request(Request("POST", "/a", timeout=15)))
    run(transport.request(Request("DELETE", "/b", timeout=3)))
    assert wire.sent == [("POST", "/a", 7), ("DELETE", "/b", 3)]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_no_write_is_sent_when_the_lease_has_ended(method: str) -> None:
    clock, wire = ManualClock(100), Wire()
    fence = WriteFence(clock)
    fence.extend(107)
    clock.advance(7)
    with pytest.raises(LeaseNotHeld, match="/a: not sent"):
        run(RequestChain(wire, fence=fence).request(Request(method, "/a")))
    assert (wire.sent, fence.refused) == ([], 1)


def test_reading_needs_no_lease() -> None:
    wire = Wire()
    transport = RequestChain(wire, fence=WriteFence(ManualClock()))

    async def lines() -> list[bytes]:
        return [line async for line in transport.stream("/pods")]

    run(transport.request(Request("GET", "/a", timeout=5)))
    assert (wire.sent, run(lines())) == ([("GET", "/a", 5)], [b"line"])


def test_nothing_opens_a_fence_that_was_closed() -> None:
    fence = WriteFence(ManualClock(100))
    fence.extend(110)
    fence.close()
    fence.extend(120)
    assert fence.valid_until == -math.inf
    assert not fence.is_open


def test_without_leader_election_everything_is_allowed() -> None:
    assert WriteFence.open(ManualClock()).seconds_for("POST /a") == math.inf


def test_a_write_that_was_refused_by_the_fence_is_not_repeated() -> None:
    async def scenario() -> None:
        pacing, wire = Pacing(), Wire()
        fence = WriteFence(pacing.clock)
        fence.extend(pacing.clock.monotonic() + 0.05)
        wire.failure = ConnectionFailed("no answer", may_have_arrived=False)
        transport = RequestChain(wire, fence=fence)
        dispatcher = Dispatcher(
            transport, EventRecorder(transport, pacing.timing, "host"), pacing.timing, RetryPolicy()
        )
        with pytest.raises(LeaseNotHeld):
            await dispatcher.delete_pod(make_pod("victim").obj())
        assert len(wire.sent) == 1

    run(scenario())


# -- the election moves the fence ----------------------------------------------------------------------------------------


def test_a_leader_may_write_until_its_renew_deadline_counted_from_the_last_renewal() -> None:
    with World() as world:
        first = world.candidate("first")
        world.pass_time(20)
        assert world.clock.monotonic() + 8 <= first.election.fence.valid_until <= world.clock.monotonic() + 10


def test_a_candidate_may_not_write() -> None:
    with World() as world:
        world.candidate("first")
        second = world.candidate("second")
        world.pass_time(20)
        assert not second.election.fence.is_open


def test_a_leader_that_cannot_renew_stops_writing_before_anybody_else_leads() -> None:
    with World() as world:
        first, second = world.candidate("first"), world.candidate("second")
        world.pass_time(20)
        first.client.hanging = True
        while first.election.fence.is_open:
            world.pass_time(0.5)
        assert not second.leading
        while not second.leading:
            assert not first.election.fence.is_open
            world.pass_time(0.5)


def test_a_leader_that_sees_another_in_its_place_stops_writing_at_once() -> None:
    with World() as world:
        first = world.candidate("first")
        world.pass_time(20)
        world.usurp("usurper")
        world.pass_time(2.1)
        assert first.lost
        assert not first.election.fence.is_open


def test_the_fence_is_closed_before_the_lease_is_given_back() -> None:
    with World() as world:
        first = world.candidate("first")
        world.pass_time(20)
        first.stop.set()
        world.pass_time(0.1)
        assert world.holder() == ""
        assert not first.election.fence.is_open


def test_who_gives_up_writes_nothing_renews_nothing_and_leaves_the_lease_to_end() -> None:
    with World() as world:
        first, second = world.candidate("first"), world.candidate("second")
        world.pass_time(20)
        writes = world.server.writes
        first.election.give_up()
        assert not first.election.fence.is_open
        world.pass_time(2.1)
        assert first.lost
        assert (world.server.writes, world.holder()) == (writes, "first")
        world.pass_time(20)
        assert second.leading


# -- what was queued -----------------------------------------------------------------------------------------------------


def test_a_closed_dispatcher_drops_and_counts_conditions_and_events() -> None:
    async def scenario() -> None:
        pacing, wire = Pacing(), Wire()
        dispatcher = Dispatcher(wire, EventRecorder(wire, pacing.timing, "host"), pacing.timing)
        dispatcher.report_failure(Failure(make_pod("early").obj(), "Unschedulable", "no", None))
        dispatcher.close()
        dispatcher.report_failure(Failure(make_pod("late").obj(), "Unschedulable", "no", None))
        await dispatcher.drain()
        assert (dispatcher.dropped, wire.sent) == ((2, 2), [])

    run(scenario())
