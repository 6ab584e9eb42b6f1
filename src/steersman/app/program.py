# SPDX-License-Identifier: Apache-2.0
"""The life of a running scheduler, from following the cluster to the orderly end.

    informers synced ─► elected ─► scheduling ─► stop ─► bindings finish or are undone ─► all written ─► lease released
                                       └─ lease lost ─► nothing is written any more, bindings undone ─► exit code 1

Made by `run`, which opens and closes what it is given here. All of it runs in the scheduling loop, but for what `Controlling`
has: lease, endpoints and watchdog live in the control thread.
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

from steersman.app import endpoints
from steersman.app.control_thread import (
    ControlThread,
    ControlTransports,
    Leadership,
    SchedulingLoopPort,
    Transports,
    leader_election,
)
from steersman.app.log_lines import log_decisions, with_event_lines
from steersman.app.process import Bindings, Control, Heartbeat, Watchdog, kept_going
from steersman.app.recording import NotRecorded
from steersman.app.settings import Effective, ServingOptions
from steersman.assembly import Scheduler, SchedulerOptions
from steersman.client import (
    ApiServerReader,
    Dispatcher,
    EventRecorder,
    FailureLog,
    Informers,
    LeaderElection,
    RawObjects,
    Timing,
    WriteFence,
)
from steersman.client.rights import plugin_rights
from steersman.framework.extender import Extender
from steersman.host import SchedulingLoop, freeze_heap, give_back_free_memory, unfreeze_heap
from steersman.internal_errors import InternalErrors
from steersman.observe import (
    AttemptMetrics,
    DecisionLog,
    Exposition,
    Log,
    Metrics,
    TimedIngest,
    cache_text,
    in_slices,
    queue_text,
)
from steersman.observe.logs import Silence
from steersman.rng import SeededRng
from steersman.serving import PING, Endpoints, HealthCheck, beliefs_beside, scheduler_endpoints
from steersman.waiting import ended_before

if TYPE_CHECKING:
    from steersman.app.web_page import RunPage

logger = logging.getLogger(__name__)

ENDED: Final = 0
LEASE_LOST: Final = 1
#: Together with the release of the lease this fits into a pod's usual 30 seconds of grace.
FINISH_SECONDS: Final = 10.0
DRAIN_SECONDS: Final = 5.0
#: Who comes to lead lists anew what he could not follow without a break for so long.
INTERRUPTED_SECONDS: Final = 30.0
#: Nobody waits longer for that: the server may refuse one kind for ever, and pods have to be scheduled.
CATCH_UP_SECONDS: Final = 15.0

GIVE_BACK_SECONDS: Final = 60.0
#: Decisions in one turn of the loop, which lasts no longer than a request on its way would notice.
PODS_AT_A_TIME: Final = 32
SLICE_SECONDS: Final = 0.001


class Outside(msgspec.Struct, frozen=True):
    """Everything that the scheduling loop reads and writes. All of it is open, and fenced where it writes."""

    channels: Transports
    extenders: Sequence[Extender]
    raw_objects: RawObjects
    fence: WriteFence
    #: Of the API server, which everything goes to.
    failure_log: FailureLog


class Controlling(msgspec.Struct, frozen=True):
    """The control thread, which runs, and what is to live in it."""

    thread: ControlThread
    channels: ControlTransports
    serving: ServingOptions
    #: The command line, by flag; None: there was none.
    flags: Mapping[str, str] | None = None


class Program:
    """One run. `bindings` are open."""

    def __init__(
        self,
        settings: Effective,
        outside: Outside,
        controlling: Controlling,
        bindings: Bindings,
        control: Control,
        timing: Timing,
        log: Log | Silence,
        metrics: Metrics,
        internal_errors: InternalErrors,
        announce: Callable[[], None],
        seed: int,
        recording: NotRecorded,
    ) -> None:
        """`announce` is called when nothing can be wrong any more with flags, files and the port. `seed` is that of the
        scheduler's random numbers."""
        self._announce = announce
        self._recording = recording
        self._configuration = settings.configuration
        self._controlling = controlling
        self._fence = outside.fence
        self._failure_log = outside.failure_log
        self._bindings = bindings
        self._control = control
        self._timing = timing
        self._metrics = metrics
        self._internal_errors = internal_errors
        metrics.show_gates(settings.gates)
        self._dispatcher = self._make_dispatcher(outside.channels)
        self._measuring = AttemptMetrics(metrics, timing.clock)
        self._scheduler = self._make_scheduler(settings, outside, seed)
        self._informers = self._make_informers(outside, log)
        self._listers = endpoints.listers_of(self._informers)
        self._decisions = DecisionLog(self._scheduler)
        self._scheduler.observe(self._decisions)
        log_decisions(self._scheduler, self._measuring.queue_metrics, log)
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
        self._election = self._make_election()
        self._heartbeat = Heartbeat(timing, metrics)
        self._watchdog = Watchdog(self._heartbeat, timing, self._give_up)
        #: Following begins with leading only where the configuration wants a lean standby.
        self._may_follow = asyncio.Event()
        #: The web page; None: it is not served.
        self._page: RunPage | None = None
        #: Plugins have asked once for what they need from outside.
        self._refreshed = asyncio.Event()

    async def run(self) -> int:
        """The exit code."""
        self._recording.begin(self._scheduler, asyncio.get_running_loop(), self._informers.objects)
        async with asyncio.TaskGroup() as group:
            background = [
                group.create_task(self._dispatcher.run(), name="dispatcher"),
                group.create_task(self._follow(), name="informers"),
                group.create_task(self._kept_going("dump", self._dump_on_demand), name="dump"),
                group.create_task(self._heartbeat.run(), name="heartbeat"),
                group.create_task(self._kept_going("plugins", self._refresh_plugins), name="plugins"),
            ]
            loop = asyncio.get_running_loop()
            shown = self._endpoints(SchedulingLoopPort(loop))
            # Lists are on their way while the control thread gets ready to serve.
            follow = partial(loop.call_soon_threadsafe, self._begin)
            async with self._controlling.thread.entered(lambda: self._in_control_thread(shown, follow)):
                code = await self._serve_a_term()
            for task in background:
                task.cancel()
        unfreeze_heap()
        return code

    # -- phases ------------------------------------------------------------------------------------------------------

    @property
    def _is_lean_standby(self) -> bool:
        """Whether nothing is followed before this process leads."""
        return self._election is not None and self._configuration.delay_cache_until_active

    def _begin(self) -> None:
        self._announce()
        if not self._is_lean_standby:
            self._may_follow.set()

    async def _follow(self) -> None:
        await self._may_follow.wait()
        await self._informers.run()

    async def _serve_a_term(self) -> int:
        if self._election is None:
            await self._lead()
            return ENDED
        if not self._is_lean_standby and not await self._synced():
            return ENDED
        leadership = Leadership(self._election, self._controlling.thread)
        return ENDED if await leadership.serve(self._control.stop, self._lead) else LEASE_LOST

    async def _synced(self) -> bool:
        """False: the end came first."""
        self._may_follow.set()
        if not await ended_before(self._control.stop, self._informers.wait_synced()):
            return False
        freeze_heap()
        return True

    async def _refresh_plugins(self) -> None:
        """Refreshes what plugins know from outside, from now on; on a standby too."""
        await self._scheduler.background.refresh()
        self._refreshed.set()
        await self._scheduler.background.run(self._timing.sleep)
        await asyncio.Event().wait()  # no plugin wants it

    async def _plugins_refreshed(self) -> None:
        await self._refreshed.wait()

    async def _caught_up(self) -> bool:
        """The former leader may have bound pods just before watches broke off. False: the end came first."""
        try:
            async with asyncio.timeout(CATCH_UP_SECONDS):
                return await ended_before(self._control.stop, self._informers.catch_up(INTERRUPTED_SECONDS))
        except TimeoutError:
            logger.warning("not everything could be listed anew within %g seconds; scheduling begins", CATCH_UP_SECONDS)
            return True

    async def _lead(self) -> None:
        """Schedules until the end is asked for. Whoever cancels this has lost the right to write, or has no time."""
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

    async def _drain(self) -> None:
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                await self._dispatcher.drain()
        except TimeoutError:
            logger.warning("some conditions and events could not be written within %g seconds", DRAIN_SECONDS)

    # -- in the control thread ---------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _in_control_thread(self, shown: Endpoints, prepared: Callable[[], object]) -> AsyncGenerator[None, None]:
        """Endpoints, watchdog, web page and the care for memory, until the end of the block."""
        served = endpoints.served(
            self._controlling.serving, shown, self._controlling.channels, self._timing, self._metrics, prepared
        )
        async with served, asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._kept_going("watchdog", self._watchdog.run), name="watchdog"),
                group.create_task(self._kept_going("memory", self._give_back_memory), name="memory"),
            ]
            if self._page is not None:
                tasks.append(group.create_task(self._kept_going("web page", self._page.run), name="web page"))
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
            give_back_free_memory()

    def _give_up(self) -> None:
        """The scheduling loop stands still: another replica is to lead."""
        if self._election is not None:
            self._election.give_up()

    # -- for operators -----------------------------------------------------------------------------------------------

    async def _kept_going(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        await kept_going(name, work, self._timing, self._metrics)

    async def _dump_on_demand(self) -> None:
        while True:
            await self._control.dump.wait()
            self._control.dump.clear()
            try:
                await self._dump()
            except Exception as error:
                self._internal_errors.survived("dump", "cache and queue", error)

    async def _dump(self) -> None:
        found, scheduler = beliefs_beside(self._listers, self._scheduler), self._scheduler
        text = cache_text(scheduler.cache, scheduler.queue, self._listers.set_aside())
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
            self._metrics, self._measuring, self._scheduler, (self._show_process, self._show_faults)
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
            self._controlling.flags,
        )
        if not self._controlling.serving.web:
            return shown
        # Whoever serves no page need not load what it takes.
        from steersman.app.web_page import BODY_BYTES, RunPage

        file = (self._controlling.flags or {}).get("config", "")
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
        self._metrics.show_faults(self._informers.set_aside, self._internal_errors)

    def _synced_checks(self) -> tuple[HealthCheck, ...]:
        """A lean standby is ready although it knows nothing yet."""
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
            channels.events, timing, socket.gethostname(), internal_errors=errors, posts=channels.event_posts
        )
        return Dispatcher(channels.cluster, events, timing, internal_errors=errors, posts=channels.cluster_posts)

    def _make_scheduler(self, settings: Effective, outside: Outside, seed: int) -> Scheduler:
        recording = self._recording
        options = SchedulerOptions(
            settings.configuration,
            settings.gates,
            settings.registry,
            recording.extenders(outside.extenders),
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
            recording.reader(ApiServerReader(outside.channels.cluster, self._timing)),
        )

    def _make_informers(self, outside: Outside, log: Log | Silence) -> Informers:
        sink = with_event_lines(TimedIngest(self._scheduler, self._metrics), self._scheduler, log)
        rights = plugin_rights(self._scheduler.watched_kinds, self._scheduler.read_kinds)
        if rights:
            logger.info("plugins need these rights: %s", ", ".join(map(str, rights)))
        return Informers(
            outside.channels.cluster,
            self._recording.sink(sink),
            self._timing,
            self._scheduler.watched_kinds,
            raw_objects=outside.raw_objects,
            internal_errors=self._internal_errors,
            failure_log=self._failure_log,
            texts=self._recording.texts,
        )

    def _make_election(self) -> LeaderElection | None:
        chosen, lease = self._configuration.leader_election, self._controlling.channels.lease
        if not chosen.leader_elect:
            return None
        return leader_election(chosen, lease, self._identity, self._timing, self._fence, self._failure_log)
