# SPDX-License-Identifier: Apache-2.0
"""The life of a running scheduler, from following the cluster to the orderly end.

    informers synced ─► elected ─► scheduling ─► stop ─► bindings finish or are undone ─► all written ─► lease released
                                       └─ lease lost ─► nothing is written any more, bindings undone ─► exit code 1

`run` makes the `Program` and opens and closes its parts. It runs in the scheduling loop, except for
lease, endpoints and watchdog, which run in the control thread (`ControlThreadParts`).
"""

from __future__ import annotations

import asyncio
import logging
import socket
import uuid
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.base import InternalErrors, SeededRng, Timing, ended_before
from steersman.config import FeatureGates
from steersman.framework import Extender
from steersman.kube.client import (
    ApiServerReader,
    Dispatcher,
    EventRecorder,
    FailureLog,
    Informers,
    LeaderElection,
    RawObjects,
    WriteFence,
    plugin_rights,
)
from steersman.kube.observe import (
    AttemptMetrics,
    DecisionLog,
    Exposition,
    Log,
    Metrics,
    NullLog,
    TimedIngest,
    cache_text,
    in_slices,
    queue_text,
)
from steersman.kube.serving import PING, Endpoints, HealthCheck, Server, scheduler_endpoints, scheduler_snapshot
from steersman.run.app import endpoints
from steersman.run.app.control_thread import (
    ControlThread,
    ControlTransports,
    Leadership,
    SchedulingLoopPort,
    Transports,
    leader_election,
)
from steersman.run.app.log_lines import log_decisions, with_event_lines
from steersman.run.app.process import Bindings, Control, Heartbeat, Watchdog, run_with_restarts
from steersman.run.app.recording import Recorder
from steersman.run.app.settings import EffectiveSettings, ServingOptions
from steersman.scheduler.assembly import Scheduler, SchedulerOptions
from steersman.scheduler.host import SchedulingLoop, freeze_heap, trim_free_memory, unfreeze_heap

if TYPE_CHECKING:
    from steersman.run.app.web_page import RunPage

logger = logging.getLogger(__name__)

ENDED: Final = 0
LEASE_LOST: Final = 1
#: Timeout of bindings at the end; with the lease's release below the default grace period of 30 s.
FINISH_SECONDS: Final = 10.0
DRAIN_SECONDS: Final = 5.0
#: A new leader relists a resource if its watch was interrupted for longer than this.
INTERRUPTED_SECONDS: Final = 30.0
#: Start scheduling after this timeout even if some informers have not relisted.
CATCH_UP_SECONDS: Final = 15.0

GIVE_BACK_SECONDS: Final = 60.0
#: Limits of decisions in one turn of the loop, so that responses are handled in time.
PODS_AT_A_TIME: Final = 32
SLICE_SECONDS: Final = 0.001


class ClusterConnections(msgspec.Struct, frozen=True):
    """The open connections of the scheduling loop. Writes are fenced."""

    channels: Transports
    extenders: Sequence[Extender]
    raw_objects: RawObjects
    fence: WriteFence
    #: Rate-limited log of API server failures.
    failure_log: FailureLog


class ControlThreadParts(msgspec.Struct, frozen=True):
    """The running control thread, and what it serves."""

    thread: ControlThread
    channels: ControlTransports
    serving: ServingOptions
    #: The command line by flag; None if there is none.
    flags: Mapping[str, str] | None = None


class Program:
    """A running scheduler."""

    def __init__(
        self,
        settings: EffectiveSettings,
        connections: ClusterConnections,
        control_parts: ControlThreadParts,
        bindings: Bindings,
        control: Control,
        timing: Timing,
        log: Log | NullLog,
        metrics: Metrics,
        internal_errors: InternalErrors,
        announce: Callable[[], None],
        seed: int,
        recording: Recorder,
    ) -> None:
        """`announce` is called when flags, files and the port have been found valid. `seed` is for
        the scheduler's random numbers."""
        self._announce = announce
        self._recording = recording
        self._configuration = settings.configuration
        self._control_parts = control_parts
        self._fence = connections.fence
        self._failure_log = connections.failure_log
        self._bindings = bindings
        self._control = control
        self._timing = timing
        self._metrics = metrics
        self._internal_errors = internal_errors
        metrics.show_gates(settings.gates)
        self._dispatcher = self._make_dispatcher(connections.channels)
        self._event_bucket = connections.channels.event_bucket
        self._measuring = AttemptMetrics(metrics, timing.clock)
        self._scheduler = self._make_scheduler(settings, connections, seed)
        self._informers = self._make_informers(connections, log)
        self._listers = endpoints.listers_of(self._informers)
        self._decisions = DecisionLog(self._scheduler)
        self._scheduler.observe(self._decisions)
        log_decisions(self._scheduler, self._measuring.queue_metrics, log, self._failure_log)
        self._loop = SchedulingLoop(
            self._scheduler,
            timing,
            internal_errors,
            pods_at_a_time=PODS_AT_A_TIME,
            slice_seconds=SLICE_SECONDS,
            act=recording.act,
            attempt=partial(recording.attempt, self._scheduler),
        )
        self._identity = f"{socket.gethostname()}_{uuid.uuid4()}"
        self._election = self._make_election(settings.gates)
        self._heartbeat = Heartbeat(timing, metrics)
        self._watchdog = Watchdog(self._heartbeat, timing, self._give_up)
        #: Set when informers may start; a lean standby starts them when it becomes leader.
        self._may_follow = asyncio.Event()
        #: The web page; None if it is not served.
        self._page: RunPage | None = None
        #: The server of the endpoints, in the control thread; None if disabled.
        self._server: Server | None = None
        #: Set after the first refresh of plugins.
        self._refreshed = asyncio.Event()

    async def run(self) -> int:
        """Run until the end and return the exit code."""
        self._recording.begin(self._scheduler, asyncio.get_running_loop(), self._informers.objects)
        async with asyncio.TaskGroup() as group:
            background = [
                group.create_task(self._dispatcher.run(), name="dispatcher"),
                group.create_task(self._follow(), name="informers"),
                group.create_task(self._run_with_restarts("dump", self._dump_on_demand), name="dump"),
                group.create_task(self._heartbeat.run(), name="heartbeat"),
                group.create_task(self._run_with_restarts("plugins", self._refresh_plugins), name="plugins"),
                group.create_task(self._stop_listening(), name="stop listening"),
            ]
            loop = asyncio.get_running_loop()
            shown = self._endpoints(SchedulingLoopPort(loop))
            # Informers list while the control thread starts serving.
            follow = partial(loop.call_soon_threadsafe, self._begin)
            async with self._control_parts.thread.entered(lambda: self._in_control_thread(shown, follow)):
                code = await self._run_as_leader()
            for task in background:
                task.cancel()
        unfreeze_heap()
        return code

    # -- phases ------------------------------------------------------------------------------------------------------

    @property
    def _is_lean_standby(self) -> bool:
        """Whether informers start only when this process becomes leader."""
        return self._election is not None and self._configuration.delay_cache_until_active

    def _begin(self) -> None:
        self._announce()
        if not self._is_lean_standby:
            self._may_follow.set()

    async def _follow(self) -> None:
        await self._may_follow.wait()
        await self._informers.run()

    async def _run_as_leader(self) -> int:
        if self._election is None:
            await self._lead()
            return ENDED
        if not self._is_lean_standby and not await self._synced():
            return ENDED
        leadership = Leadership(self._election, self._control_parts.thread)
        return ENDED if await leadership.serve(self._control.stop, self._lead) else LEASE_LOST

    async def _synced(self) -> bool:
        """Wait for the informers; return False if the end came first."""
        self._may_follow.set()
        if not await ended_before(self._control.stop, self._informers.wait_synced()):
            return False
        freeze_heap()
        return True

    async def _refresh_plugins(self) -> None:
        """Refresh plugins regularly, also on a standby."""
        await self._scheduler.background.refresh()
        self._refreshed.set()
        await self._scheduler.background.run(self._timing.sleep)
        await asyncio.Event().wait()  # no plugin has a refresh

    async def _plugins_refreshed(self) -> None:
        await self._refreshed.wait()

    async def _caught_up(self) -> bool:
        """Relist unwatched resources: the old leader may have bound pods. False if stopped."""
        try:
            async with asyncio.timeout(CATCH_UP_SECONDS):
                return await ended_before(self._control.stop, self._informers.catch_up(INTERRUPTED_SECONDS))
        except TimeoutError:
            logger.warning("not all resources were relisted within %g seconds; scheduling starts", CATCH_UP_SECONDS)
            return True

    async def _lead(self) -> None:
        """Schedule until the end. Cancelled when the lease is lost or time is over."""
        try:
            is_ready = await self._synced() and await self._caught_up()
            if is_ready and await ended_before(self._control.stop, self._plugins_refreshed()):
                logger.info("scheduling begins")
                await ended_before(self._control.stop, self._loop.run())
            logger.info("scheduling ends, %d bindings are in flight", len(self._bindings))
            await self._bindings.finish(FINISH_SECONDS)
            await self._drain()
        except asyncio.CancelledError:
            self._dispatcher.close()
            logger.info("%d conditions and %d events were dropped", *self._dispatcher.dropped)
            await self._bindings.undo()
            raise

    async def _stop_listening(self) -> None:
        """Close the port on stop: the next scheduler of a static pod needs it."""
        await self._control.stop.wait()
        if self._server is not None:
            await self._control_parts.thread.begin(self._server.stop_listening())

    async def _drain(self) -> None:
        self._event_bucket.lift()  # the queue is bounded, and nothing else is sent
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                await self._dispatcher.drain()
        except TimeoutError:
            logger.warning("some conditions and events could not be written within %g seconds", DRAIN_SECONDS)

    # -- in the control thread ---------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _in_control_thread(self, shown: Endpoints, prepared: Callable[[], object]) -> AsyncGenerator[None, None]:
        """Run endpoints, watchdog, web page and memory release until the end of the block."""
        served = endpoints.served(
            self._control_parts.serving, shown, self._control_parts.channels, self._timing, self._metrics, prepared
        )
        async with served as self._server, asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._run_with_restarts("watchdog", self._watchdog.run), name="watchdog"),
                group.create_task(self._run_with_restarts("memory", self._give_back_memory), name="memory"),
            ]
            if self._page is not None:
                tasks.append(group.create_task(self._run_with_restarts("web page", self._page.run), name="web page"))
            try:
                yield
            finally:
                if self._page is not None:
                    self._page.close()
                for task in tasks:
                    task.cancel()

    async def _give_back_memory(self) -> None:
        while True:
            await self._timing.sleep(GIVE_BACK_SECONDS)
            trim_free_memory()

    def _give_up(self) -> None:
        """Give up the lease because the scheduling loop is blocked."""
        if self._election is not None:
            self._election.give_up()

    # -- restarts and dumps ------------------------------------------------------------------------------------------

    async def _run_with_restarts(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        await run_with_restarts(name, work, self._timing, self._metrics)

    async def _dump_on_demand(self) -> None:
        while True:
            await self._control.dump.wait()
            self._control.dump.clear()
            try:
                await self._dump()
            except Exception as error:
                self._internal_errors.survived("dump", "cache and queue", error)

    async def _dump(self) -> None:
        found, scheduler = scheduler_snapshot(self._listers, self._scheduler), self._scheduler
        text = cache_text(scheduler.cache, scheduler.queue, self._listers.invalid_objects())
        logger.info("%s", "".join(await in_slices(text)))
        logger.info("%s", "".join(await in_slices(queue_text(scheduler.queue))))
        compared = await found.compare()
        if compared.is_clean:
            logger.info("the cache agrees with the API server")
        else:
            logger.warning("the cache differs from the API server: %s", compared.text())

    def _endpoints(self, port: SchedulingLoopPort) -> Endpoints:
        healthz = self._leading_checks()
        stopping = endpoints.shutdown_check(self._control.stop.is_set)
        readyz = (*healthz, stopping, *self._synced_checks())
        livez = (PING, self._watchdog.check())
        exposition = Exposition(
            self._metrics,
            self._measuring,
            self._scheduler,
            (self._show_process, self._show_faults),
            lambda: self._election is None or self._election.is_leading,
        )
        shown = scheduler_endpoints(
            self._scheduler,
            exposition,
            self._decisions,
            self._listers,
            healthz,
            readyz,
            livez,
            port.ask,
            self._control_parts.flags,
        )
        if not self._control_parts.serving.web:
            return shown
        # Imported late: only needed for the page.
        from steersman.run.app.web_page import BODY_BYTES, RunPage

        file = (self._control_parts.flags or {}).get("config", "")
        self._page = RunPage(self._scheduler, self._decisions, port.ask, file, self._recording.directory)
        return msgspec.structs.replace(shown, others=self._page.answer, body_bytes=BODY_BYTES)

    def _show_process(self) -> None:
        metrics, (conditions, events) = self._metrics, self._dispatcher.dropped
        metrics.loop_lag.set(self._heartbeat.lag)
        metrics.writes_dropped[("condition",)].set(conditions)
        metrics.writes_dropped[("event",)].set(events)
        metrics.writes_refused.set(self._fence.refused)
        self._recording.show(metrics)
        if self._election is not None:
            lease = self._configuration.leader_election.resource_name
            metrics.leading[(lease,)].set(self._election.is_leading)

    def _show_faults(self) -> None:
        self._metrics.show_faults(self._informers.invalid_objects, self._internal_errors)

    def _synced_checks(self) -> tuple[HealthCheck, ...]:
        """Return the informer checks; none for a lean standby, which is ready without a cache."""
        return () if self._configuration.delay_cache_until_active else endpoints.synced_checks(self._informers)

    def _leading_checks(self) -> tuple[HealthCheck, ...]:
        if self._election is None:
            return ()
        lease = self._configuration.leader_election.resource_name
        return (endpoints.leading_check(self._election, self._identity, lease),)

    # -- parts, in the order in which they are made ------------------------------------------------------------------

    def _make_dispatcher(self, channels: Transports) -> Dispatcher:
        timing, errors = self._timing, self._internal_errors
        events = EventRecorder(
            channels.events,
            timing,
            socket.gethostname(),
            internal_errors=errors,
            failure_log=self._failure_log,
        )
        return Dispatcher(
            channels.cluster,
            events,
            timing,
            internal_errors=errors,
            failure_log=self._failure_log,
        )

    def _make_scheduler(self, settings: EffectiveSettings, connections: ClusterConnections, seed: int) -> Scheduler:
        recording = self._recording
        options = SchedulerOptions(
            settings.configuration,
            settings.gates,
            settings.registry,
            recording.extenders(connections.extenders),
            settings.max_in_unschedulable,
            internal_errors=self._internal_errors,
            postpones=True,
            instruments=self._measuring,
        )
        return Scheduler(
            recording.clock(self._timing.clock),
            SeededRng(seed),
            recording.writer(self._dispatcher),
            recording.spawn(self._bindings.spawn),
            options,
            recording.reader(ApiServerReader(connections.channels.cluster, self._timing)),
        )

    def _make_informers(self, connections: ClusterConnections, log: Log | NullLog) -> Informers:
        sink = with_event_lines(TimedIngest(self._scheduler, self._metrics), self._scheduler, log)
        rights = plugin_rights(self._scheduler.watched_kinds, self._scheduler.read_kinds)
        if rights:
            logger.info("plugins need these rights: %s", ", ".join(map(str, rights)))
        return Informers(
            connections.channels.cluster,
            self._recording.sink(sink),
            self._timing,
            self._scheduler.watched_kinds,
            raw_objects=connections.raw_objects,
            internal_errors=self._internal_errors,
            failure_log=self._failure_log,
            texts=self._recording.texts,
        )

    def _make_election(self, gates: FeatureGates) -> LeaderElection | None:
        chosen, lease = self._configuration.leader_election, self._control_parts.channels.lease
        if not chosen.leader_elect:
            return None
        return leader_election(chosen, lease, self._identity, self._timing, self._fence, self._failure_log, gates)
