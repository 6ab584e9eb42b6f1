# SPDX-License-Identifier: Apache-2.0
"""Who leads, and when, in virtual time."""

from __future__ import annotations

import json
import logging
from typing import cast

import pytest
from tests.client.api_server import ApiServer
from tests.client.elections import World
from tests.client.following import IMPATIENT, until
from tests.client.serving import run

from steersman.base.errors import InputError
from steersman.kube.client.connection import Connection
from steersman.kube.client.lease import LEASE_LABELS, ElectionSettings, HttpLease, LeaderElection, Lease
from steersman.kube.client.requests import Request, Response, Transport
from steersman.kube.client.transport import http_transport


def test_the_first_leads_and_the_second_waits() -> None:
    with World() as world:
        first, second = world.candidate("first"), world.candidate("second")
        world.pass_time(60)
        assert first.leading
        assert not second.leading
        assert second.leaders_seen == ["first"]


def test_a_leader_that_stops_gives_the_lease_to_the_next_at_once() -> None:
    with World() as world:
        first, second = world.candidate("first"), world.candidate("second")
        world.pass_time(20)
        first.stop.set()
        world.pass_time(0.1)
        assert (world.holder(), first.lost) == ("", False)
        world.pass_time(2 * 2.2)
        assert second.leading
        assert world.transitions() == 1


def test_a_leader_that_vanishes_is_replaced_when_its_lease_has_ended() -> None:
    with World() as world:
        first, second = world.candidate("first"), world.candidate("second")
        world.pass_time(20)
        first.client.down = True
        world.pass_time(12.1)
        assert first.lost, "it gives up before the others may take over"
        assert not second.leading
        world.pass_time(15)
        assert second.leading


def test_a_short_failure_does_not_cost_the_lease() -> None:
    with World() as world:
        first = world.candidate("first")
        first.client.down = True
        world.pass_time(9)
        first.client.down = False
        world.pass_time(30)
        assert first.leading


def test_an_attempt_that_hangs_leaves_time_for_another() -> None:
    with World() as world:
        first = world.candidate("first")
        first.client.hanging = True
        world.pass_time(6)
        first.client.hanging = False
        world.pass_time(30)
        assert first.leading


def test_a_server_that_hangs_for_too_long_costs_the_lease() -> None:
    with World() as world:
        first = world.candidate("first")
        first.client.hanging = True
        world.pass_time(12.1)
        assert first.lost


def test_a_leader_that_gets_no_answer_says_so_with_the_remedy(caplog: pytest.LogCaptureFixture) -> None:
    with World() as world:
        first = world.candidate("first")
        first.client.hanging = True
        world.pass_time(12.1)
        assert first.lost
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert warnings[0].startswith("the lease cannot be renewed: no answer within 5 seconds; see whether the API server")
    assert 1 <= len(warnings) <= 3


def test_the_log_has_the_lines_of_kube_scheduler_about_the_lease(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with World() as world:
        world.candidate("first")
        world.pass_time(1)
    lines = [(record.getMessage(), getattr(record, "fields", None)) for record in caplog.records]
    assert lines == [
        ("Attempting to acquire leader lease...", {"lock": "kube-system/steersman"}),
        ("Successfully acquired lease", {"lock": "kube-system/steersman"}),
    ]


def test_a_renewal_whose_answer_is_lost_is_found_to_be_ones_own() -> None:
    with World() as world:
        first = world.candidate("first")
        first.client.lose_answers = 1
        world.pass_time(30)
        assert first.leading
        assert world.transitions() == 0


def test_a_leader_that_sees_another_in_its_place_steps_down_at_once() -> None:
    with World() as world:
        first = world.candidate("first")
        second = world.candidate("second")
        first.client.down = True
        world.pass_time(1)
        world.usurp("usurper")
        first.client.down = False
        world.pass_time(3)
        assert first.lost
        assert not second.leading


def test_one_that_slept_through_its_lease_knows_that_it_does_not_lead() -> None:
    with World() as world:
        first = world.candidate("first")
        assert first.election.is_leading
        world.clock.advance(16)
        assert not first.election.is_leading


def test_the_time_of_day_does_not_matter() -> None:
    with World() as world:
        first, second = world.candidate("first"), world.candidate("second")
        world.clock.now = lambda: 0.0  # type: ignore[method-assign]
        world.pass_time(60)
        assert first.leading
        assert not second.leading


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"lease_duration": 10.0}, "leaderElection.leaseDuration: must be greater than renewDeadline"),
        ({"retry_period": 9.0}, "leaderElection.renewDeadline: must be greater than retryPeriod"),
        ({"retry_period": 0.0}, "leaderElection.retryPeriod: must be greater than zero"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, float], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        ElectionSettings("me", **settings)


def test_a_free_lease_has_an_empty_holder_not_a_missing_one() -> None:
    """A missing one makes kube-apiserver v1.37.1 panic, if it elects leaders."""

    async def scenario() -> None:
        sent: list[bytes] = []

        class Server:
            async def request(self, request: Request) -> Response:
                sent.append(request.body or b"")
                return Response(200, b"{}")

        await HttpLease(cast("Transport", Server()), "kube-system", "steersman", 5.0).update(Lease())
        assert json.loads(sent[0])["spec"] == {"holderIdentity": ""}

    run(scenario())


def test_a_lease_on_a_real_server_is_taken_and_given_back() -> None:
    async def scenario() -> None:
        server = ApiServer()
        async with server.serving() as address, http_transport(Connection(address)) as transport:
            leases = HttpLease(transport, "kube-system", "steersman", 5.0)
            election = LeaderElection(leases, ElectionSettings("me"), IMPATIENT)
            held: list[str] = []

            async def lead() -> None:
                await until(lambda: server.asked("PUT") >= 2)
                held.append(server.store.get(Lease, "kube-system/steersman").spec.holder_identity)

            await election.run(lead)
            assert held == ["me"]
            lease = server.store.get(Lease, "kube-system/steersman")
            assert lease.spec.holder_identity == ""
            assert lease.metadata.labels == LEASE_LABELS

    run(scenario())
