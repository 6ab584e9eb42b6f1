# SPDX-License-Identifier: Apache-2.0
"""The two event loops of a running scheduler: a second thread for lease, probes, TLS, reviews and
pages; connections of both.

    scheduling loop (main thread)                    control loop (second thread)
      watches, cycles, bindings                        lease, HTTPS server, watchdog
      await thread.entered(…) ────────────────────────► enters, and leaves, a context there
      await thread.begin(…)   ────────────────────────► runs a coroutine there
      answers                 ◄──────────────────────── SchedulingLoopPort.ask

Probes are answered and the lease is renewed however long the scheduling loop computes. Code that
holds Python's global lock, such as an extension module in C, blocks both.

`Leadership` connects the two: the election runs in the control loop, the leader works in the
scheduling loop.

    control loop      acquire ─► hold, renewing ───────────────────────► release, or LeaseLost
                            │                          ▲                          │
    scheduling loop      elected ─► lead ─► ended ─► resign                  lost: everything ends at once

Each loop has connections and credentials of its own, so that neither waits for the other, and
urgent requests do not queue behind many others. All requests are counted in the metrics.

    control loop      the lease and access reviews have no limits
    scheduling loop   objects and bindings share the configured limits, events have limits of their own; both are fenced
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import msgspec

from steersman.base import KUBE_SCHEDULER_VERSION, Timing
from steersman.config import ClientConnection, FeatureGates, LeaderElectionConfiguration
from steersman.kube.client import (
    Candidacy,
    Connection,
    CoordinatedElection,
    ElectionSettings,
    FailureLog,
    HttpLease,
    HttpTransport,
    LeaderElection,
    LeaseLost,
    NowaitChain,
    RequestChain,
    TokenBucket,
    Transport,
    WriteFence,
    http_transport,
    lease_candidate,
)
from steersman.kube.http import ReadPacing
from steersman.kube.observe import ClientMetrics, ServerMetrics
from steersman.kube.serving import SchedulingLoopBusy
from steersman.run.app.process import new_event_loop

logger = logging.getLogger(__name__)

T = TypeVar("T")

NAME: Final = "control"
JOIN_SECONDS: Final = 5.0
ANSWER_SECONDS: Final = 10.0
"""Timeout of pages that wait for the scheduling loop; Prometheus' default."""
MAX_QUESTIONS: Final = 8
"""Limit of concurrent requests to the scheduling loop."""
BUSY: Final = "the scheduling loop has not answered within {:g} seconds; /livez says whether it stands still\n"


# -- the thread --------------------------------------------------------------------------------------------------------


class ControlThread:
    """A thread with an event loop, which runs between `__aenter__` and `__aexit__`."""

    def __init__(self) -> None:
        self.loop = new_event_loop()
        # A daemon, so that the main thread can always end the process.
        self._thread = threading.Thread(target=self._run, name=NAME, daemon=True)

    async def __aenter__(self) -> Self:
        self._thread.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        await asyncio.to_thread(self._thread.join, JOIN_SECONDS)

    def begin(self, work: Coroutine[Any, Any, T]) -> asyncio.Future[T]:
        """Start a coroutine in the thread. Cancelling the future cancels it, without waiting."""
        return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self.loop))

    @asynccontextmanager
    async def entered(self, make: Callable[[], AbstractAsyncContextManager[T]]) -> AsyncGenerator[T, None]:
        """Make, enter and leave a context manager in one task of the thread's loop."""
        value: concurrent.futures.Future[T] = concurrent.futures.Future()
        leave = asyncio.Event()

        async def live() -> None:
            async with make() as entered:
                value.set_result(entered)
                await leave.wait()

        living = self.begin(live())
        try:
            arrived = asyncio.wrap_future(value)
            await asyncio.wait((living, arrived), return_when=asyncio.FIRST_COMPLETED)
            if living.done():
                living.result()
            yield await arrived
        finally:
            self.loop.call_soon_threadsafe(leave.set)
            await _ended(living)
        living.result()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            self.loop.run_until_complete(_cancel_rest())
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
            self.loop.run_until_complete(self.loop.shutdown_default_executor())
            self.loop.close()


async def _cancel_rest() -> None:
    """Cancel the remaining tasks, such as handlers of closed connections."""
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    if rest:
        await asyncio.wait(rest)


async def _ended(work: asyncio.Future[Any]) -> None:
    """Wait for the end of the work, ignoring its outcome."""
    if not work.done():
        await asyncio.wait((work,))


class SchedulingLoopPort:
    """`serving.LoopRunner` that runs coroutines in the scheduling loop, with a timeout."""

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float = ANSWER_SECONDS) -> None:
        self._loop = loop
        self._seconds = seconds
        self._turns = asyncio.Semaphore(MAX_QUESTIONS)

    async def ask(self, question: Callable[[], Coroutine[Any, Any, T]], /) -> T:
        try:
            async with asyncio.timeout(self._seconds), self._turns:
                return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(question(), self._loop))
        except TimeoutError:
            raise SchedulingLoopBusy(BUSY.format(self._seconds)) from None


# -- leadership --------------------------------------------------------------------------------------------------------


def leader_election(
    chosen: LeaderElectionConfiguration,
    transport: Transport,
    identity: str,
    timing: Timing,
    fence: WriteFence,
    failure_log: FailureLog,
    gates: FeatureGates,
) -> LeaderElection:
    """Return the configured election, with this process as the candidate `identity`."""
    settings = ElectionSettings(
        identity, chosen.lease_duration.seconds, chosen.renew_deadline.seconds, chosen.retry_period.seconds
    )
    lease = HttpLease(transport, chosen.resource_namespace, chosen.resource_name, settings.attempt_seconds)
    lock = f"{chosen.resource_namespace}/{chosen.resource_name}"
    if not gates.enabled("CoordinatedLeaderElection"):
        return LeaderElection(lease, settings, timing, _say_leader, fence, failure_log, lock)
    candidate = lease_candidate(
        chosen.resource_namespace, identity, chosen.resource_name, KUBE_SCHEDULER_VERSION, str(gates.version)
    )
    election = CoordinatedElection(lease, settings, timing, _say_leader, fence, failure_log, lock)
    election.candidacy = Candidacy(transport, timing, candidate, failure_log)
    return election


def _say_leader(leader: str) -> None:
    logger.info("the leader is %s", leader or "nobody")


class Leadership:
    """Leads while the lease is held. Made and used in the scheduling loop."""

    def __init__(self, election: LeaderElection, thread: ControlThread) -> None:
        self._election = election
        self._thread = thread
        self._scheduling_loop = asyncio.get_running_loop()
        self._elected = asyncio.Event()
        #: Both are used in the control loop only.
        self._resigned = asyncio.Event()
        self._holds = False

    async def serve(self, stop: asyncio.Event, lead: Callable[[], Coroutine[Any, Any, None]]) -> bool:
        """Run for election and lead, once. Return False if the lease was lost, which cancels
        `lead`.

        A leader stops when `lead` returns; a candidate gives up when `stop` is set.
        """
        term = self._thread.begin(self._run_for_election())
        try:
            async with asyncio.TaskGroup() as group:
                leading = group.create_task(self._lead_when_elected(stop, lead), name="lead")
                await asyncio.wait((leading, term), return_when=asyncio.FIRST_COMPLETED)
                leading.cancel()
        finally:
            self._notify(self._resigned.set)
            if not term.done():
                await asyncio.wait((term,))
        return _is_in_order(term)

    async def _lead_when_elected(self, stop: asyncio.Event, lead: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async with asyncio.TaskGroup() as group:
            waits = [group.create_task(event.wait()) for event in (self._elected, stop)]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for wait in waits:
                wait.cancel()
        if self._elected.is_set():
            await lead()

    def _notify(self, what: Callable[[], None]) -> None:
        self._thread.loop.call_soon_threadsafe(what)

    # -- in the control loop -----------------------------------------------------------------------------------------

    async def _run_for_election(self) -> None:
        async with asyncio.TaskGroup() as group:
            election = group.create_task(self._election.run(self._hold), name="leader election")
            resigning = group.create_task(self._resigned.wait())
            await asyncio.wait((election, resigning), return_when=asyncio.FIRST_COMPLETED)
            resigning.cancel()
            if not self._holds:
                election.cancel()

    async def _hold(self) -> None:
        """Hold the lease until the leader has ended."""
        self._holds = True
        self._scheduling_loop.call_soon_threadsafe(self._elected.set)
        await self._resigned.wait()


def _is_in_order(term: asyncio.Future[None]) -> bool:
    """Return False if the lease was lost; raise other errors."""
    if term.cancelled() or (failure := term.exception()) is None:
        return True
    if isinstance(failure, BaseExceptionGroup) and failure.subgroup(LeaseLost) is not None:
        logger.error("%s", failure.exceptions[0])
        return False
    raise failure


# -- connections of both loops -----------------------------------------------------------------------------------------


class ControlConnections(msgspec.Struct, frozen=True):
    """Connections for the lease and for the authentication and authorization of clients."""

    lease: Connection
    authentication: Connection
    authorization: Connection


class Transports(msgspec.Struct, frozen=True):
    """Transports of the scheduling loop. Events have a rate limit of their own."""

    cluster: NowaitChain
    events: NowaitChain
    event_bucket: TokenBucket


class ControlTransports(msgspec.Struct, frozen=True):
    """Transports of the control loop."""

    lease: Transport
    authentication: Transport
    authorization: Transport


@asynccontextmanager
async def transports(
    connection: Connection, limits: ClientConnection, timing: Timing, metrics: ClientMetrics, fence: WriteFence
) -> AsyncIterator[Transports]:
    """Open the transports of the scheduling loop, and close them at the end."""

    def chain(transport: HttpTransport, bucket: TokenBucket) -> NowaitChain:
        return NowaitChain(transport, bucket, fence, ServerMetrics(metrics, transport.server))

    bucket, event_bucket = (TokenBucket(limits.qps, limits.burst, timing) for _ in range(2))
    pacing = ReadPacing()
    async with (
        http_transport(connection, multiplexes=True, read_pacing=pacing) as cluster,
        http_transport(connection, multiplexes=True, read_pacing=pacing) as events,
    ):
        yield Transports(chain(cluster, bucket), chain(events, event_bucket), event_bucket)


@asynccontextmanager
async def control_transports(
    connections: ControlConnections, metrics: ClientMetrics
) -> AsyncIterator[ControlTransports]:
    """Open the transports of the control loop, and close them at the end."""

    def measured(transport: HttpTransport) -> RequestChain:
        return RequestChain(transport, metrics=ServerMetrics(metrics, transport.server))

    async with (
        http_transport(connections.lease) as lease,
        http_transport(connections.authentication) as authentication,
        http_transport(connections.authorization) as authorization,
    ):
        yield ControlTransports(measured(lease), measured(authentication), measured(authorization))
