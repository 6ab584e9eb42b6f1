# SPDX-License-Identifier: Apache-2.0
"""Leader election: of several schedulers, only the holder of the lease acts.

    acquire ─► lead, renewing ─► lead returns, or is cancelled ─► release
                  └────────────► cannot renew, or another holds it ─► LeaseLost

`Lease` is the object of coordination.k8s.io/v1, `HttpLease` reads and writes it, `LeaderElection`
is one candidate. Whether a lease has expired is judged by the local monotonic clock since its last
change. `lead` is the leader's work; it has ended when the lease is released or `LeaseLost` raised.
A `fence.WriteFence` is open while writes are allowed, and closed before another leader is possible.
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
from steersman.base import InputError, SteersmanError, Timing
from steersman.kube.client import paths
from steersman.kube.client.errors import ApiError, ClientError, ConnectionFailed
from steersman.kube.client.failure_log import NO_ANSWER_REMEDY, FailureLog
from steersman.kube.client.fence import WriteFence
from steersman.kube.client.foreign_input import decode_foreign
from steersman.kube.client.requests import Request, Transport

logger = logging.getLogger(__name__)

JITTER: Final = 1.2
LOST: Final = "leaderelection lost"
NOT_TAKEN: Final = "the lease cannot be taken"
NOT_RENEWED: Final = "the lease cannot be renewed"
RELEASED_SECONDS: Final = 1
#: Labels by which `doctor` recognises Steersman's leases.
LEASE_LABELS: Final = {"app.kubernetes.io/name": "steersman"}


class LeaseSpec(Struct, frozen=True):
    """Spec of a lease. Times have microseconds; a free lease has no holder."""

    holder_identity: str = ""
    lease_duration_seconds: Int32 = 0
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: Int32 = 0
    strategy: str | None = None
    preferred_holder: str | None = None


class Lease(Object, frozen=True):
    """Lease of a leader, as in coordination.k8s.io/v1."""

    KIND: ClassVar[str] = "Lease"
    API_VERSION: ClassVar[str] = "coordination.k8s.io/v1"
    PLURAL: ClassVar[str] = "leases"

    spec: LeaseSpec = LeaseSpec()


class LeaseApi(Protocol):
    """Access to one lease. All methods may raise `ClientError`; writes do on version conflicts."""

    async def get(self) -> Lease | None:
        """Return the lease, or None if it does not exist."""

    async def create(self, lease: Lease) -> Lease:
        """Create the lease and return it as stored."""

    async def update(self, lease: Lease) -> Lease:
        """Update the lease and return it as stored."""


class HttpLease:
    """The lease on an API server. `timeout` limits each request."""

    def __init__(self, transport: Transport, namespace: str, name: str, timeout: float) -> None:
        self._transport = transport
        self._namespace = namespace
        self._path = paths.item(Lease, name, namespace)
        self._name = name
        self._timeout = timeout

    async def get(self) -> Lease | None:
        try:
            answer = await self._transport.request(Request("GET", self._path, timeout=self._timeout))
        except ApiError as refusal:
            if refusal.is_not_found:
                return None
            raise
        return decode_foreign(answer.body, Lease, "the lease")

    async def create(self, lease: Lease) -> Lease:
        metadata = api.ObjectMeta(name=self._name, namespace=self._namespace, labels=LEASE_LABELS)
        named = Lease(metadata=metadata, spec=lease.spec)
        return await self._write("POST", paths.collection(Lease, self._namespace), named)

    async def update(self, lease: Lease) -> Lease:
        return await self._write("PUT", self._path, lease)

    async def _write(self, method: str, path: str, lease: Lease) -> Lease:
        # As client-go writes it, a free lease has an empty holder: a missing one lets the
        # controller for coordinated leader election of kube-apiserver v1.37.1 panic, and the server
        # with it.
        document = msgspec.json.decode(codec.encode(lease))
        document["spec"] = {**document.get("spec", {}), "holderIdentity": lease.spec.holder_identity}
        body = msgspec.json.encode(document)
        answer = await self._transport.request(Request(method, path, body=body, timeout=self._timeout))
        return decode_foreign(answer.body, Lease, "the lease")


# -- the election ------------------------------------------------------------------------------------------------------


class LeaseLost(SteersmanError):
    """Error: another process may be the leader now."""


class ElectionSettings(msgspec.Struct, frozen=True):
    """Times of an election in seconds, with kube-scheduler's defaults. Raises `InputError`."""

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
        """Timeout of one attempt: a second one must fit before the deadline."""
        return self.renew_deadline / 2


class AttemptOutcome(Enum):
    """Who holds the lease after an attempt to take or to renew it."""

    HELD = auto()
    HELD_BY_ANOTHER = auto()
    UNKNOWN = auto()


def _no_answer(seconds: float) -> str:
    return f"no answer within {seconds:g} seconds"


def _ignore(_: str) -> None:
    """Do nothing."""


class LeaderElection:
    """One candidate of a leader election."""

    def __init__(
        self,
        leases: LeaseApi,
        settings: ElectionSettings,
        timing: Timing,
        on_new_leader: Callable[[str], None] = _ignore,
        fence: WriteFence | None = None,
        failure_log: FailureLog | None = None,
        lock: str = "",
    ) -> None:
        """`lock` is the lease's `namespace/name` in the log."""
        self._leases = leases
        self._lock = lock
        self._settings = settings
        self._timing = timing
        self._on_new_leader = on_new_leader
        #: Allows writes until the renew deadline, counted from the start of the last renewal. The
        #: election continues for up to a retry period; a renewal then reopens the fence.
        self.fence = fence or WriteFence(timing.clock)
        self._failure_log = failure_log or FailureLog(timing.clock)
        self._gave_up = False
        #: The last seen lease, and the monotonic time of its last change.
        self._lease: Lease | None = None
        self._since = 0.0
        self._reported = ""

    @property
    def leader(self) -> str:
        """Last known holder of the lease; "" for none."""
        return "" if self._lease is None else self._lease.spec.holder_identity

    @property
    def is_leading(self) -> bool:
        """Whether this process holds an unexpired lease, even after a suspension."""
        return self.leader == self._settings.identity and self._is_valid()

    def give_up(self) -> None:
        """Stop writes and renewals: `run` raises `LeaseLost` within a retry period. The lease is
        not released but expires, because the state of the leader's work is unknown."""
        self._gave_up = True
        self.fence.close()

    async def run(self, lead: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Wait for the lease, lead, and release it. Raise `LeaseLost` when it is lost.

        Exceptions of `lead` are raised in an ExceptionGroup.
        """
        lock = {"fields": {"lock": self._lock}}
        logger.info("Attempting to acquire leader lease...", extra=lock)
        await self._acquire()
        logger.info("Successfully acquired lease", extra=lock)
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
        while await self._attempt(self._settings.attempt_seconds) is not AttemptOutcome.HELD:
            await self._timing.sleep(self._timing.jittered(self._settings.retry_period, JITTER))

    async def _lead(self, lead: Callable[[], Coroutine[Any, Any, None]]) -> bool:
        """Run the leader's work to its end and return whether the lease was lost."""
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
        """Renew the lease; return when it is lost."""
        while True:
            await self._timing.sleep(self._settings.retry_period)
            if self._gave_up or not await self._renewed():
                return

    async def _renewed(self) -> bool:
        clock, settings = self._timing.clock, self._settings
        end = clock.monotonic() + settings.renew_deadline
        while (left := end - clock.monotonic()) > 0:
            outcome = await self._attempt(min(left, settings.attempt_seconds))
            if outcome is not AttemptOutcome.UNKNOWN:
                return outcome is AttemptOutcome.HELD
            await self._timing.sleep(min(settings.retry_period, max(end - clock.monotonic(), 0.0)))
        return False

    async def _release(self) -> None:
        """Release the lease, so that other candidates need not wait until it expires."""
        try:
            async with asyncio.timeout(self._settings.attempt_seconds):
                while self.leader == self._settings.identity and not await self._given_back():
                    # A renewal was in flight when the leader stopped.
                    self._lease = await self._leases.get()
        except (ClientError, TimeoutError) as failure:
            reason = str(failure) or _no_answer(self._settings.attempt_seconds)
            logger.warning("the lease cannot be released, others wait until it has ended: %s", reason)

    async def _given_back(self) -> bool:
        """Release the known version of the lease; return False on a conflict."""
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

    async def _attempt(self, seconds: float) -> AttemptOutcome:
        try:
            async with asyncio.timeout(seconds):
                outcome = await self._take()
        except (SteersmanError, TimeoutError) as failure:
            self._report_failure(failure, seconds)
            outcome = AttemptOutcome.UNKNOWN
        else:
            self._failure_log.succeeded(NOT_TAKEN)
            self._failure_log.succeeded(NOT_RENEWED)
        self._report()
        return outcome

    def _report_failure(self, failure: SteersmanError | TimeoutError, seconds: float) -> None:
        """Log why an attempt with a timeout of `seconds` failed. Each timeout of a leader is a
        warning: it loses the lease after a few."""
        is_renewal = self.leader == self._settings.identity
        if isinstance(failure, TimeoutError):
            failure = ConnectionFailed(_no_answer(seconds), may_have_arrived=True)
            if is_renewal:
                logger.warning("%s: %s; %s", NOT_RENEWED, failure, NO_ANSWER_REMEDY)
                return
        what = NOT_RENEWED if is_renewal else NOT_TAKEN
        if not self._failure_log.failed(what, failure):
            logger.log(logging.WARNING if is_renewal else logging.INFO, "%s: %s", what, failure)

    async def _take(self) -> AttemptOutcome:
        """Write onto the known version if it is our own; otherwise read the lease first."""
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
            return AttemptOutcome.HELD_BY_ANOTHER
        return await self._write(found)

    async def _write(self, lease: Lease) -> AttemptOutcome:
        """Write the lease. Its time counts from before the request, as other candidates may see it
        on arrival."""
        began = self._timing.clock.monotonic()
        return self._hold(await self._leases.update(msgspec.structs.replace(lease, spec=self._spec(lease.spec))), began)

    def _spec(self, old: LeaseSpec | None) -> LeaseSpec:
        """Return the spec with ourselves as holder; a new holder counts as a transition."""
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

    def _hold(self, lease: Lease, since: float) -> AttemptOutcome:
        """Record that the lease is held since `since`."""
        self._lease, self._since = lease, since
        self.fence.extend(since + min(self._settings.renew_deadline, lease.spec.lease_duration_seconds))
        return AttemptOutcome.HELD

    def _is_valid(self) -> bool:
        if self._lease is None:
            return False
        return self._timing.clock.monotonic() < self._since + self._lease.spec.lease_duration_seconds

    def _report(self) -> None:
        if self.leader != self._reported:
            self._reported = self.leader
            self._on_new_leader(self.leader)
