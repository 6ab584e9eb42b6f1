# SPDX-License-Identifier: Apache-2.0
"""Coordinated leader election: the API server chooses the leader among LeaseCandidates.

    Candidacy ─► LeaseCandidate ─► API server ─► holder of the lease ─► CoordinatedElection renews it

With the gate CoordinatedLeaderElection, a candidate never takes the lease by itself. It announces
its versions, so that the oldest one leads during an upgrade, and answers pings of the API server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar, Final

import msgspec

from steersman import api
from steersman.api import Object, Struct, codec, timestamps
from steersman.base import SteersmanError, Timing
from steersman.kube.client import paths
from steersman.kube.client.errors import ApiError
from steersman.kube.client.failure_log import FailureLog
from steersman.kube.client.foreign_input import decode_foreign
from steersman.kube.client.lease import AttemptOutcome, LeaderElection
from steersman.kube.client.requests import Request, Transport

OLDEST_EMULATION_VERSION: Final = "OldestEmulationVersion"
POLL_SECONDS: Final = 1.0
"""Interval of checks for a ping; the API server waits five seconds for the answer."""
RENEW_SECONDS: Final = 300.0
"""Interval of renewals without a ping; the API server drops candidates after half an hour."""
NOT_ANNOUNCED: Final = "the lease candidate cannot be written"


class LeaseCandidateSpec(Struct, frozen=True):
    """Spec of a candidate. Times have microseconds."""

    lease_name: str = ""
    ping_time: str | None = None
    renew_time: str | None = None
    binary_version: str = ""
    emulation_version: str = ""
    strategy: str = ""


class LeaseCandidate(Object, frozen=True):
    """Candidate for a lease, as in coordination.k8s.io/v1beta1."""

    KIND: ClassVar[str] = "LeaseCandidate"
    API_VERSION: ClassVar[str] = "coordination.k8s.io/v1beta1"
    PLURAL: ClassVar[str] = "leasecandidates"

    spec: LeaseCandidateSpec = LeaseCandidateSpec()


class Candidacy:
    """Keeps the LeaseCandidate of this process on the API server."""

    def __init__(
        self, transport: Transport, timing: Timing, candidate: LeaseCandidate, failure_log: FailureLog
    ) -> None:
        self._transport = transport
        self._timing = timing
        self._candidate = candidate
        self._failure_log = failure_log
        self._renewed = 0.0

    async def run(self) -> None:
        """Announce the candidate, and renew it when the API server asks, until cancelled."""
        while True:
            try:
                await self.refresh()
                self._failure_log.succeeded(NOT_ANNOUNCED)
            except SteersmanError as failure:
                self._failure_log.failed(NOT_ANNOUNCED, failure)
            await self._timing.sleep(POLL_SECONDS)

    async def refresh(self) -> None:
        """Create the candidate if it is missing; renew it if there is a newer ping, or from time to
        time."""
        metadata = self._candidate.metadata
        try:
            answer = await self._transport.request(
                Request("GET", paths.item(LeaseCandidate, metadata.name, metadata.namespace))
            )
        except ApiError as refusal:
            if not refusal.is_not_found:
                raise
            await self._write("POST", paths.collection(LeaseCandidate, metadata.namespace), self._candidate)
            return
        found = decode_foreign(answer.body, LeaseCandidate, "the lease candidate")
        is_pinged = (found.spec.ping_time or "") > (found.spec.renew_time or "")
        if is_pinged or self._timing.clock.monotonic() - self._renewed > RENEW_SECONDS:
            await self._write("PUT", paths.object_path(found), found)

    async def _write(self, method: str, path: str, candidate: LeaseCandidate) -> None:
        now = timestamps.render_micro(self._timing.clock.now())
        renewed = msgspec.structs.replace(candidate, spec=msgspec.structs.replace(candidate.spec, renew_time=now))
        await self._transport.request(Request(method, path, body=codec.encode(renewed)))
        self._renewed = self._timing.clock.monotonic()


def lease_candidate(namespace: str, identity: str, lease: str, release: str, emulated: str) -> LeaseCandidate:
    """Return a candidate. `release` is a version such as v1.37.1, `emulated` one such as 1.36."""
    spec = LeaseCandidateSpec(
        lease_name=lease,
        binary_version=release.removeprefix("v"),
        emulation_version=f"{emulated}.0",
        strategy=OLDEST_EMULATION_VERSION,
    )
    return LeaseCandidate(metadata=api.ObjectMeta(name=identity, namespace=namespace), spec=spec)


class CoordinatedElection(LeaderElection):
    """A candidate that leads when, and as long as, the API server names it as the holder."""

    candidacy: Candidacy | None = None

    async def run(self, lead: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if self.candidacy is None:
            await super().run(lead)
            return
        announcing = asyncio.create_task(self.candidacy.run(), name="lease candidate")
        try:
            await super().run(lead)
        finally:
            announcing.cancel()
            await asyncio.wait((announcing,))

    async def _take(self) -> AttemptOutcome:
        """Renew our own lease, unless it ended or the API server prefers another holder."""
        found = await self._leases.get()
        if found is None:
            return AttemptOutcome.HELD_BY_ANOTHER
        if self._lease != found:
            self._lease, self._since = found, self._timing.clock.monotonic()
        if not self.is_leading or found.spec.preferred_holder:
            return AttemptOutcome.HELD_BY_ANOTHER
        return await self._write(found)
