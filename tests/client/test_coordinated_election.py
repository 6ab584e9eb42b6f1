# SPDX-License-Identifier: Apache-2.0
"""The API server chooses the leader: candidates announce themselves and renew a lease that names them."""

from __future__ import annotations

from contextlib import closing

import msgspec
from tests.client.api_server import ApiServer
from tests.client.elections import World
from tests.client.serving import run

from steersman.api import timestamps
from steersman.base.clock import ManualClock
from steersman.base.rng import SeededRng
from steersman.base.timing import Timing
from steersman.kube.client.connection import Connection
from steersman.kube.client.coordinated_election import Candidacy, CoordinatedElection, LeaseCandidate, lease_candidate
from steersman.kube.client.failure_log import FailureLog
from steersman.kube.client.lease import Lease, LeaseSpec
from steersman.kube.client.transport import http_transport

NAMED = LeaseSpec(
    holder_identity="first", lease_duration_seconds=15, strategy="OldestEmulationVersion", lease_transitions=3
)
CANDIDATE = lease_candidate("kube-system", "host_1", "kube-scheduler", "v1.37.1", "1.36")


class ChoosingWorld(World):
    """Candidates whose leader is chosen by the API server."""

    election_class = CoordinatedElection

    def choose(self, **changes: object) -> None:
        """The API server writes the lease."""
        self.server.store(
            msgspec.structs.replace(self.server.lease or Lease(), spec=msgspec.structs.replace(NAMED, **changes))
        )


def test_nobody_leads_before_the_api_server_names_a_holder() -> None:
    with closing(ChoosingWorld()) as world:
        first, second = world.candidate("first"), world.candidate("second")
        world.pass_time(60)
        assert world.server.lease is None
        world.choose()
        world.pass_time(60)
        assert (first.leading, second.leading) == (True, False)
        assert world.server.lease is not None
        assert world.server.lease.spec.strategy == "OldestEmulationVersion"
        assert world.transitions() == 3


def test_an_expired_lease_is_not_taken() -> None:
    with closing(ChoosingWorld()) as world:
        first = world.candidate("first")
        world.choose(holder_identity="gone")
        world.pass_time(60)
        assert not first.leading
        assert world.holder() == "gone"


def test_a_leader_that_is_not_preferred_any_more_stops_and_lets_the_lease_end() -> None:
    with closing(ChoosingWorld()) as world:
        first = world.candidate("first")
        world.choose()
        world.pass_time(10)
        assert first.leading
        world.choose(preferred_holder="second")
        writes = world.server.writes
        world.pass_time(10)
        assert first.lost
        assert (world.holder(), world.server.writes) == ("first", writes)


def test_a_candidate_is_created_renewed_after_a_ping_and_from_time_to_time() -> None:
    clock = ManualClock(1_000_000)

    async def scenario() -> None:
        server = ApiServer(kinds=[LeaseCandidate])
        async with server.serving() as address, http_transport(Connection(address)) as transport:
            candidacy = Candidacy(transport, Timing(clock, SeededRng(0)), CANDIDATE, FailureLog(clock))
            await candidacy.refresh()
            first = stored(server)
            assert first.spec.binary_version == "1.37.1"
            assert first.spec.emulation_version == "1.36.0"
            assert first.spec.lease_name == "kube-scheduler"
            clock.advance(10)
            await candidacy.refresh()
            assert stored(server) == first
            ping(server, clock)
            clock.advance(1)
            await candidacy.refresh()
            assert stored(server).spec.renew_time == "1970-01-12T13:46:51.000000Z"
            clock.advance(301)
            await candidacy.refresh()
            assert stored(server).spec.renew_time == "1970-01-12T13:51:52.000000Z"

    run(scenario())


def stored(server: ApiServer) -> LeaseCandidate:
    return server.store.get(LeaseCandidate, "kube-system/host_1")


def ping(server: ApiServer, clock: ManualClock) -> None:
    """The API server asks whether the candidate is still there."""
    found, now = stored(server), timestamps.render_micro(clock.now())
    server.store.update(msgspec.structs.replace(found, spec=msgspec.structs.replace(found.spec, ping_time=now)))
