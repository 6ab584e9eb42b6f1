# SPDX-License-Identifier: Apache-2.0
"""Leader election: of several schedulers, the one that holds the lease acts.

    acquire ─► lead, renewing ─► lead returns, or is cancelled ─► release
                  └────────────► cannot renew, or another holds it ─► LeaseLost

`Lease` is the object of coordination.k8s.io/v1, `HttpLease` reads and writes it, `LeaderElection` is one candidate.
Whether a lease has ended is judged by one's own monotonic clock since it last changed; the times in the lease are for people.
The composition root gives `lead`, the work of a leader; it has ended when the lease is released or `LeaseLost` is raised.
Until when the leader may write is published in a `fence.WriteFence`, which is shut before anybody else may lead.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from enum import Enum, auto
from typing import Any, ClassVar, Final, Protocol

import msgspec

from steersman import api
from steersman.api import Int32, Object, Struct, codec, timestamps
from steersman.client import paths
from steersman.client.errors import ApiError, ClientError
from steersman.client.failure_log import FailureLog
from steersman.client.fence import WriteFence
from steersman.client.foreign_input import decode_foreign
from steersman.client.pacing import Timing
from steersman.client.transport import Transport
from steersman.errors import InputError, SteersmanError

logger = logging.getLogger(__name__)

JITTER: Final = 1.2
LOST: Final = "leaderelection lost"
NOT_TAKEN: Final = "the lease cannot be taken"
RELEASED_SECONDS: Final = 1


class LeaseSpec(Struct, frozen=True):
    """The spec of a lease. Times have microseconds; a lease that nobody holds has no holder."""

    holder_identity: str = ""
    lease_duration_seconds: Int32 = 0
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: Int32 = 0
    strategy: str | None = None
    preferred_holder: str | None = None


class Lease(Object, frozen=True):
    """Who may act, and until when."""

    KIND: ClassVar[str] = "Lease"
    API_VERSION: ClassVar[str] = "coordination.k8s.io/v1"
    PLURAL: ClassVar[str] = "leases"

    spec: LeaseSpec = LeaseSpec()


class LeaseApi(Protocol):
    """One lease. Everything may raise `ClientError`; a write onto another version than the one that was read does."""

    async def get(self) -> Lease | None:
        """The lease; None: there is none yet."""

    async def create(self, lease: Lease) -> Lease:
        """The lease as the server stored it."""

    async def update(self, lease: Lease) -> Lease:
        """The lease as the server stored it."""


class HttpLease:
    """The lease on an API server. `timeout` is the most that one request may take."""

    def __init__(self, transport: Transport, namespace: str, name: str, timeout: float) -> None:
        self._transport = transport
        self._namespace = namespace
        self._path = paths.item(Lease, name, namespace)
        self._name = name
        self._timeout = timeout

    async def get(self) -> Lease | None:
        try:
            answer = await self._transport.request("GET", self._path, timeout=self._timeout)
        except ApiError as refusal:
            if refusal.is_not_found:
                return None
            raise
        return decode_foreign(answer.body, Lease, "the lease")

    async def create(self, lease: Lease) -> Lease:
        named = Lease(metadata=api.ObjectMeta(name=self._name, namespace=self._namespace), spec=lease.spec)
        return await self._write("POST", paths.collection(Lease, self._namespace), named)

    async def update(self, lease: Lease) -> Lease:
        return await self._write("PUT", self._path, lease)

    async def _write(self, method: str, path: str, lease: Lease) -> Lease:
        answer = await self._transport.request(method, path, body=codec.encode(lease), timeout=self._timeout)
        return decode_foreign(answer.body, Lease, "the lease")


# -- the election ------------------------------------------------------------------------------------------------------


class LeaseLost(SteersmanError):
    """Somebody else may act now."""


class ElectionSettings(msgspec.Struct, frozen=True):
    """Times of an election in seconds, with kube-scheduler's defaults. InputError for values that cannot work."""

    identity: str
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    def __post_init__(self) -> None:
        if not self.identity:
            raise InputError("is missing", field="leaderElection.identity")
        if self.lease_duration <= self.renew_deadline:
            raise InputError("must be greater than renewDeadline", field="leaderElection.leaseDuration")
        if self.renew_deadline <= JITTER * self.retry_period:
            raise InputError(f"must be greater than retryPeriod*{JITTER}", field="leaderElection.renewDeadline")
        if self.retry_period <= 0:
            raise InputError("must be greater than zero", field="leaderElection.retryPeriod")

    @property
    def attempt_seconds(self) -> float:
        """The longest that one attempt may take: a second one must fit before the deadline."""
        return self.renew_deadline / 2


class _AttemptOutcome(Enum):
    HELD = auto()
    HELD_BY_ANOTHER = auto()
    UNKNOWN = auto()


def _ignore(_: str) -> None:
    """Nobody wants to know."""


class LeaderElection:
    """One candidate."""

    def __init__(
        self,
        leases: LeaseApi,
        settings: ElectionSettings,
        timing: Timing,
        on_new_leader: Callable[[str], None] = _ignore,
        fence: WriteFence | None = None,
        failure_log: FailureLog | None = None,
    ) -> None:
        self._leases = leases
        self._settings = settings
        self._timing = timing
        self._on_new_leader = on_new_leader
        #: Until when the leader may write: the renew deadline counted from before the last renewal was sent. The election
        #: itself goes on for up to a retry period longer; a renewal in that time opens the fence again.
        self.fence = fence or WriteFence(timing.clock)
        self._failure_log = failure_log
        self._gave_up = False
        #: As last seen; `_since` is when it was seen to change, monotonic.
        self._lease: Lease | None = None
        self._since = 0.0
        self._reported = ""

    @property
    def leader(self) -> str:
        """Who was last seen to hold the lease; "" for nobody."""
        return "" if self._lease is None else self._lease.spec.holder_identity

    @property
    def is_leading(self) -> bool:
        """The lease is held and has not ended, even if this process was asleep."""
        return self.leader == self._settings.identity and self._is_valid()

    def give_up(self) -> None:
        """Nothing is written and the lease is not renewed any more: `run` ends with LeaseLost within a retry period. The lease
        is left to end by itself, because nobody knows what the leader is in the middle of."""
        self._gave_up = True
        self.fence.close()

    async def run(self, lead: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Waits for the lease, leads, and gives the lease back. LeaseLost when it is taken away.

        What `lead` raises comes out in an ExceptionGroup.
        """
        await self._acquire()
        logger.info("%s is the leader", self._settings.identity)
        try:
            lost = await self._lead(lead)
        except BaseException:
            self.fence.close()
            await self._release()
            raise
        self.fence.close()
        if lost:
            raise LeaseLost(LOST)
        await self._release()

    async def _acquire(self) -> None:
        while await self._attempt(self._settings.attempt_seconds) is not _AttemptOutcome.HELD:
            await self._timing.sleep(self._timing.jittered(self._settings.retry_period, JITTER))

    async def _lead(self, lead: Callable[[], Coroutine[Any, Any, None]]) -> bool:
        """True when the lease was lost. The leader's work has ended in any case."""
        async with asyncio.TaskGroup() as group:
            leading = group.create_task(lead(), name="lead")
            renewing = group.create_task(self._renew(), name="renew the lease")
            await asyncio.wait((leading, renewing), return_when=asyncio.FIRST_COMPLETED)
            lost = renewing.done()
            if lost:
                self.fence.close()
            leading.cancel()
            renewing.cancel()
        return lost

    # -- renewing ----------------------------------------------------------------------------------------------------

    async def _renew(self) -> None:
        """Returns when the lease is lost."""
        while True:
            await self._timing.sleep(self._settings.retry_period)
            if self._gave_up or not await self._renewed():
                return

    async def _renewed(self) -> bool:
        clock, settings = self._timing.clock, self._settings
        end = clock.monotonic() + settings.renew_deadline
        while (left := end - clock.monotonic()) > 0:
            outcome = await self._attempt(min(left, settings.attempt_seconds))
            if outcome is not _AttemptOutcome.UNKNOWN:
                return outcome is _AttemptOutcome.HELD
            await self._timing.sleep(min(settings.retry_period, max(end - clock.monotonic(), 0.0)))
        return False

    async def _release(self) -> None:
        """Gives the lease back, so that others need not wait until it ends. If that fails they do."""
        try:
            async with asyncio.timeout(self._settings.attempt_seconds):
                while self.leader == self._settings.identity and not await self._given_back():
                    # A renewal was still on its way when the leader stopped.
                    self._lease = await self._leases.get()
        except (ClientError, TimeoutError) as failure:
            logger.info("the lease cannot be released: %s", failure)

    async def _given_back(self) -> bool:
        """False when the lease has changed meanwhile."""
        lease = self._lease
        if lease is None:
            return True
        now = timestamps.render_micro(self._timing.clock.now())
        spec = LeaseSpec(
            lease_duration_seconds=RELEASED_SECONDS,
            acquire_time=now,
            renew_time=now,
            lease_transitions=lease.spec.lease_transitions,
        )
        try:
            self._lease = await self._leases.update(msgspec.structs.replace(lease, spec=spec))
        except ApiError as refusal:
            if refusal.is_conflict:
                return False
            raise
        return True

    # -- one attempt -------------------------------------------------------------------------------------------------

    async def _attempt(self, seconds: float) -> _AttemptOutcome:
        try:
            async with asyncio.timeout(seconds):
                outcome = await self._take()
        except (SteersmanError, TimeoutError) as failure:
            self._say(failure, seconds)
            outcome = _AttemptOutcome.UNKNOWN
        else:
            if self._failure_log is not None:
                self._failure_log.succeeded(NOT_TAKEN)
        self._report()
        return outcome

    def _say(self, failure: SteersmanError | TimeoutError, seconds: float) -> None:
        """Why an attempt that could take so many seconds has failed; what all requests fail for is said elsewhere as well."""
        told = self._failure_log
        if told is None or isinstance(failure, TimeoutError) or not told.failed(NOT_TAKEN, failure):
            logger.info("%s: %s", NOT_TAKEN, failure or f"no answer within {seconds:g} seconds")

    async def _take(self) -> _AttemptOutcome:
        """First onto the version that is known, if that was one's own; else onto what the server has."""
        if self.is_leading and self._lease is not None:
            try:
                return await self._write(self._lease)
            except ApiError as refusal:
                if not refusal.is_conflict:
                    raise
        began = self._timing.clock.monotonic()
        found = await self._leases.get()
        if found is None:
            return self._hold(await self._leases.create(Lease(spec=self._spec(None))), began)
        if self._lease != found:
            self._lease, self._since = found, self._timing.clock.monotonic()
        if found.spec.holder_identity not in ("", self._settings.identity) and self._is_valid():
            return _AttemptOutcome.HELD_BY_ANOTHER
        return await self._write(found)

    async def _write(self, lease: Lease) -> _AttemptOutcome:
        """The lease counts from before the request: others may see it as soon as it arrives."""
        began = self._timing.clock.monotonic()
        return self._hold(await self._leases.update(msgspec.structs.replace(lease, spec=self._spec(lease.spec))), began)

    def _spec(self, old: LeaseSpec | None) -> LeaseSpec:
        """The lease as one's own; a new hand counts as a transition."""
        settings, now = self._settings, timestamps.render_micro(self._timing.clock.now())
        own = LeaseSpec(
            holder_identity=settings.identity,
            lease_duration_seconds=max(1, int(settings.lease_duration)),
            acquire_time=now,
            renew_time=now,
        )
        if old is None:
            return own
        own = msgspec.structs.replace(own, strategy=old.strategy, preferred_holder=old.preferred_holder)
        if old.holder_identity == settings.identity:
            return msgspec.structs.replace(own, acquire_time=old.acquire_time, lease_transitions=old.lease_transitions)
        return msgspec.structs.replace(own, lease_transitions=old.lease_transitions + 1)

    def _hold(self, lease: Lease, since: float) -> _AttemptOutcome:
        """The lease is one's own, counted from `since`."""
        self._lease, self._since = lease, since
        self.fence.extend(since + min(self._settings.renew_deadline, lease.spec.lease_duration_seconds))
        return _AttemptOutcome.HELD

    def _is_valid(self) -> bool:
        if self._lease is None:
            return False
        return self._timing.clock.monotonic() < self._since + self._lease.spec.lease_duration_seconds

    def _report(self) -> None:
        if self.leader != self._reported:
            self._reported = self.leader
            self._on_new_leader(self.leader)
