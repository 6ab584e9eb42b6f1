# SPDX-License-Identifier: Apache-2.0
"""The two loops of a running scheduler: a second thread for lease, probes, TLS, reviews and pages; the connections of both.

    scheduling loop (main thread)                    control loop (second thread)
      watches, cycles, bindings                        lease, HTTPS server, watchdog
      await thread.entered(…) ────────────────────────► opens, and closes, what lives there
      await thread.begin(…)   ────────────────────────► runs it there
      answers                 ◄──────────────────────── SchedulingLoopPort.ask

However long the scheduling loop computes, probes are answered and the lease is renewed. What holds Python's global lock, an
extension module in C for example, stops both.

`Leadership` is a term of office between the two: the election stands in the control loop, the leader works in the other.

    control loop      acquire ─► hold, renewing ───────────────────────► release, or LeaseLost
                            │                          ▲                          │
    scheduling loop      elected ─► lead ─► ended ─► resign                  lost: everything ends at once

Each loop has connections and credentials of its own: neither ever waits for the other. What is urgent does not queue behind
what is plentiful. All requests count in the metrics.

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

from steersman.app.process import new_event_loop
from steersman.client import (
    Connection,
    DirectPosts,
    ElectionSettings,
    FailureLog,
    FencedTransport,
    HttpLease,
    HttpTransport,
    LeaderElection,
    LeaseLost,
    RateLimited,
    ReadPacing,
    Timing,
    TokenBucket,
    Transport,
    WriteFence,
    http_transport,
)
from steersman.config import ClientConnection, LeaderElectionConfiguration
from steersman.observe import ClientMetrics, MeasuredTransport
from steersman.serving import SchedulingLoopBusy

logger = logging.getLogger(__name__)

T = TypeVar("T")

NAME: Final = "control"
JOIN_SECONDS: Final = 5.0
ANSWER_SECONDS: Final = 10.0
"""Seconds that a page or a scrape may wait for the scheduling loop; Prometheus gives up after as long."""
MOST_QUESTIONS: Final = 8
"""More at once would only wait for each other."""
BUSY: Final = "the scheduling loop has not answered within {:g} seconds; /livez says whether it stands still\n"


# -- the thread --------------------------------------------------------------------------------------------------------


class ControlThread:
    """Runs between `__aenter__` and `__aexit__`, both in the scheduling loop."""

    def __init__(self) -> None:
        self.loop = new_event_loop()
        # A daemon: when the main thread is to end in spite of everything, it must be able to.
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
        """Begins the work there. Cancelling the future cancels the work, without waiting for its end."""
        return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self.loop))

    @asynccontextmanager
    async def entered(self, make: Callable[[], AbstractAsyncContextManager[T]]) -> AsyncGenerator[T, None]:
        """A context manager that is made, entered and left there, by one task of that loop."""
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
    """Cancels tasks that nobody waits for any more, such as handlers of connections that are gone."""
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    if rest:
        await asyncio.wait(rest)


async def _ended(work: asyncio.Future[Any]) -> None:
    """However it ended."""
    if not work.done():
        await asyncio.wait((work,))


class SchedulingLoopPort:
    """Questions from the control loop to the scheduling loop: `serving.Ask`. SchedulingLoopBusy without an answer in time."""

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float = ANSWER_SECONDS) -> None:
        self._loop = loop
        self._seconds = seconds
        self._turns = asyncio.Semaphore(MOST_QUESTIONS)

    async def ask(self, question: Callable[[], Coroutine[Any, Any, T]], /) -> T:
        try:
            async with asyncio.timeout(self._seconds), self._turns:
                return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(question(), self._loop))
        except TimeoutError:
            raise SchedulingLoopBusy(BUSY.format(self._seconds)) from None


# -- a term of office --------------------------------------------------------------------------------------------------


def leader_election(
    chosen: LeaderElectionConfiguration,
    transport: Transport,
    identity: str,
    timing: Timing,
    fence: WriteFence,
    failure_log: FailureLog,
) -> LeaderElection:
    """The election that the configuration asks for, in which this process stands as `identity`."""
    settings = ElectionSettings(
        identity, chosen.lease_duration.seconds, chosen.renew_deadline.seconds, chosen.retry_period.seconds
    )
    lease = HttpLease(transport, chosen.resource_namespace, chosen.resource_name, settings.attempt_seconds)
    return LeaderElection(lease, settings, timing, _say_leader, fence, failure_log)


def _say_leader(leader: str) -> None:
    logger.info("the leader is %s", leader or "nobody")


class Leadership:
    """Made in the scheduling loop; its methods are called there."""

    def __init__(self, election: LeaderElection, thread: ControlThread) -> None:
        self._election = election
        self._thread = thread
        self._scheduling_loop = asyncio.get_running_loop()
        self._elected = asyncio.Event()
        #: Both belong to the control loop.
        self._resigned = asyncio.Event()
        self._holds = False

    async def serve(self, stop: asyncio.Event, lead: Callable[[], Coroutine[Any, Any, None]]) -> bool:
        """Stands for election and leads, once. False: the lease was lost, and what `lead` did has been cancelled. A leader ends
        by itself when it is to stop; a candidate gives up when `stop` is set."""
        term = self._thread.begin(self._stand())
        try:
            async with asyncio.TaskGroup() as group:
                leading = group.create_task(self._lead_when_elected(stop, lead), name="lead")
                await asyncio.wait((leading, term), return_when=asyncio.FIRST_COMPLETED)
                leading.cancel()
        finally:
            self._tell(self._resigned.set)
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

    def _tell(self, what: Callable[[], None]) -> None:
        self._thread.loop.call_soon_threadsafe(what)

    # -- in the control loop -----------------------------------------------------------------------------------------

    async def _stand(self) -> None:
        async with asyncio.TaskGroup() as group:
            election = group.create_task(self._election.run(self._hold), name="leader election")
            resigning = group.create_task(self._resigned.wait())
            await asyncio.wait((election, resigning), return_when=asyncio.FIRST_COMPLETED)
            resigning.cancel()
            if not self._holds:
                election.cancel()

    async def _hold(self) -> None:
        """Holds the lease until the leader has ended its work."""
        self._holds = True
        self._scheduling_loop.call_soon_threadsafe(self._elected.set)
        await self._resigned.wait()


def _is_in_order(term: asyncio.Future[None]) -> bool:
    """False: the lease was lost. Raises what else went wrong."""
    if term.cancelled() or (failure := term.exception()) is None:
        return True
    if isinstance(failure, BaseExceptionGroup) and failure.subgroup(LeaseLost) is not None:
        logger.error("%s", failure.exceptions[0])
        return False
    raise failure


# -- connections of both loops -----------------------------------------------------------------------------------------


class ControlConnections(msgspec.Struct, frozen=True):
    """Connections of the lease, and of those who ask on the scheduler's behalf who a client is and what it may see."""

    lease: Connection
    authentication: Connection
    authorization: Connection


class Transports(msgspec.Struct, frozen=True):
    """Transports of the scheduling loop, and the short way that POSTs may take."""

    cluster: Transport
    events: Transport
    cluster_posts: DirectPosts
    event_posts: DirectPosts


class ControlTransports(msgspec.Struct, frozen=True):
    """Transports of the control loop."""

    lease: Transport
    authentication: Transport
    authorization: Transport


@asynccontextmanager
async def transports(
    connection: Connection, limits: ClientConnection, timing: Timing, metrics: ClientMetrics, fence: WriteFence
) -> AsyncIterator[Transports]:
    """Closed at the end."""

    def limited(transport: HttpTransport) -> tuple[Transport, DirectPosts]:
        below = MeasuredTransport(transport, metrics, transport.server)
        bucket = TokenBucket(limits.qps, limits.burst, timing)
        # The fence is asked behind the bucket: a write may wait there for longer than the lease holds.
        long_way = RateLimited(FencedTransport(below, fence), bucket, below.waited)
        return long_way, DirectPosts(transport, fence, bucket, below.waited, below.ended)

    pacing = ReadPacing()
    async with (
        http_transport(connection, multiplexes=True, read_pacing=pacing) as cluster,
        http_transport(connection, multiplexes=True, read_pacing=pacing) as events,
    ):
        (cluster_way, cluster_posts), (event_way, event_posts) = limited(cluster), limited(events)
        yield Transports(cluster_way, event_way, cluster_posts, event_posts)


@asynccontextmanager
async def control_transports(
    connections: ControlConnections, metrics: ClientMetrics
) -> AsyncIterator[ControlTransports]:
    """Closed at the end. To be used in one loop, the control loop."""

    def measured(transport: HttpTransport) -> MeasuredTransport:
        return MeasuredTransport(transport, metrics, transport.server)

    async with (
        http_transport(connections.lease) as lease,
        http_transport(connections.authentication) as authentication,
        http_transport(connections.authorization) as authorization,
    ):
        yield ControlTransports(measured(lease), measured(authentication), measured(authorization))
