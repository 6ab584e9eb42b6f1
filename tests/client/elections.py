# SPDX-License-Identifier: Apache-2.0
"""Candidates for a lease in virtual time, and a lease in memory that can fail."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import msgspec

from steersman.base.clock import ManualClock
from steersman.base.rng import SeededRng
from steersman.base.timing import Timing
from steersman.kube.client.errors import ApiError, ConnectionFailed
from steersman.kube.client.lease import ElectionSettings, LeaderElection, Lease, LeaseLost, LeaseSpec
from steersman.simulation.virtual_time.tasks import Tasks


class MemoryLease:
    """One lease with a version; requests fail while `down` or `hanging` is set."""

    def __init__(self) -> None:
        self.lease: Lease | None = None
        self.version = 0
        self.writes = 0

    def store(self, lease: Lease) -> Lease:
        self.version += 1
        self.writes += 1
        metadata = msgspec.structs.replace(lease.metadata, name="lock", resource_version=str(self.version))
        self.lease = msgspec.structs.replace(lease, metadata=metadata)
        return self.lease


@dataclass
class LeaseClient:
    """The lease as one candidate reaches it."""

    server: MemoryLease
    down: bool = False
    hanging: bool = False
    lose_answers: int = 0

    async def get(self) -> Lease | None:
        await self._reach()
        return self.server.lease

    async def create(self, lease: Lease) -> Lease:
        await self._reach()
        if self.server.lease is not None:
            raise ApiError(409, "AlreadyExists", "exists")
        return self._answered(self.server.store(lease))

    async def update(self, lease: Lease) -> Lease:
        await self._reach()
        current = self.server.lease
        if current is None or current.metadata.resource_version != lease.metadata.resource_version:
            raise ApiError(409, "Conflict", "modified")
        return self._answered(self.server.store(lease))

    async def _reach(self) -> None:
        await asyncio.sleep(0)
        if self.down:
            raise ConnectionFailed("down", may_have_arrived=False)
        if self.hanging:
            await asyncio.Event().wait()

    def _answered(self, lease: Lease) -> Lease:
        if self.lose_answers:
            self.lose_answers -= 1
            raise ConnectionFailed("lost", may_have_arrived=True)
        return lease


@dataclass
class Candidate:
    """Somebody who wants to lead; `leading` while it does."""

    name: str
    client: LeaseClient
    election: LeaderElection
    leading: bool = False
    lost: bool = False
    leaders_seen: list[str] = field(default_factory=list)
    stop: asyncio.Event = field(default_factory=asyncio.Event)

    async def lead(self) -> None:
        self.leading = True
        try:
            await self.stop.wait()
        finally:
            self.leading = False

    async def run(self) -> None:
        try:
            await self.election.run(self.lead)
        except LeaseLost:
            self.lost = True


class World:
    """Candidates and a clock. Closed by whoever made it."""

    election_class = LeaderElection

    def __init__(self) -> None:
        self.clock = ManualClock(1000)
        self.server = MemoryLease()
        self.tasks = Tasks(self.clock)
        self.candidates: list[Candidate] = []

    def candidate(self, name: str) -> Candidate:
        client = LeaseClient(self.server)
        seen: list[str] = []
        timing = Timing(self.clock, SeededRng(len(self.candidates)))
        election = self.election_class(
            client, ElectionSettings(name), timing, seen.append, lock="kube-system/steersman"
        )
        candidate = Candidate(name, client, election, leaders_seen=seen)
        self.candidates.append(candidate)
        self.tasks.spawn(candidate.run())
        self.tasks.run_ready()
        return candidate

    def pass_time(self, seconds: float) -> None:
        """At every moment at most one leads."""
        end = self.clock.monotonic() + seconds
        while self.clock.monotonic() < end:
            self.tasks.advance(end)
            assert sum(candidate.leading for candidate in self.candidates) <= 1

    def usurp(self, name: str) -> None:
        """Somebody takes the lease, whoever holds it."""
        lease = self.server.lease
        assert lease is not None
        self.server.store(Lease(metadata=lease.metadata, spec=LeaseSpec(name, 15)))

    def transitions(self) -> int:
        """How often the lease has changed hands."""
        return 0 if self.server.lease is None else self.server.lease.spec.lease_transitions

    def holder(self) -> str:
        return "" if self.server.lease is None else self.server.lease.spec.holder_identity

    def __enter__(self) -> World:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.tasks.close()
