"""The life of a running scheduler, from following the cluster to the orderly end.

    informers synced ─► elected ─► scheduling ─► stop ─► bindings finish or are undone ─► all written ─► lease released
                                       └─ lease lost ─► bindings undone ─► exit code 1

Made by `run`, which opens and closes what it is given here.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
import uuid
from collections.abc import Sequence
from typing import Final

from steersman.app import endpoints
from steersman.app.bindings import Bindings
from steersman.app.control import Control
from steersman.app.decision_lines import DecisionLines
from steersman.app.effective import Effective
from steersman.app.scheduling_loop import SchedulingLoop
from steersman.app.settings import ServingOptions
from steersman.app.transports import Transports
from steersman.app.waiting import ended_before
from steersman.assembly import SchedulerOptions
from steersman.client import (
    Dispatcher,
    ElectionSettings,
    EventRecorder,
    HttpLease,
    Informers,
    LeaderElection,
    LeaseLost,
    Originals,
    Timing,
)
from steersman.framework.extender import Extender
from steersman.observe import (
    DecisionLog,
    Exposition,
    Log,
    MeasuredScheduler,
    Metrics,
    TimedIngest,
    cache_text,
    in_slices,
    queue_text,
)
from steersman.observe.logs import Silence
from steersman.rng import SeededRng
from steersman.serving import Check, Endpoints, beliefs_beside, scheduler_endpoints

logger = logging.getLogger(__name__)

ENDED: Final = 0
LEASE_LOST: Final = 1
#: Together with the release of the lease this fits into a pod's usual 30 seconds of grace.
FINISH_SECONDS: Final = 10.0
DRAIN_SECONDS: Final = 5.0


class Program:
    """One run. `extenders` and `bindings` are open."""

    def __init__(
        self,
        settings: Effective,
        channels: Transports,
        extenders: Sequence[Extender],
        originals: Originals,
        bindings: Bindings,
        control: Control,
        timing: Timing,
        log: Log | Silence,
        metrics: Metrics,
    ) -> None:
        self._configuration = settings.configuration
        self._channels = channels
        self._bindings = bindings
        self._control = control
        self._timing = timing
        self._metrics = metrics
        metrics.show_gates(settings.gates)
        self._dispatcher = Dispatcher(
            channels.cluster, EventRecorder(channels.events, timing, socket.gethostname()), timing
        )
        self._scheduler = MeasuredScheduler(
            self._metrics,
            timing.clock,
            SeededRng(secrets.randbits(64)),
            self._dispatcher,
            bindings.spawn,
            SchedulerOptions(
                settings.configuration, settings.gates, settings.registry, extenders, settings.max_in_unschedulable
            ),
        )
        self._informers = Informers(
            channels.cluster, TimedIngest(self._scheduler, self._metrics), timing, originals=originals
        )
        self._listers = endpoints.listers_of(self._informers)
        self._decisions = DecisionLog(self._scheduler)
        lines = DecisionLines(log)
        self._scheduler.on_bound = lines.bound if lines.wants_bindings else None
        self._loop = SchedulingLoop(self._scheduler, (self._decisions.record, lines.tell), timing)
        self._identity = f"{socket.gethostname()}_{uuid.uuid4()}"
        self._election = self._make_election() if self._configuration.leader_election.leader_elect else None
        self._leads = False
        #: Following begins with leading only where the configuration wants a lean standby.
        self._may_follow = asyncio.Event()

    async def run(self, serving: ServingOptions) -> int:
        """The exit code."""
        async with asyncio.TaskGroup() as group:
            background = [
                group.create_task(self._dispatcher.run(), name="dispatcher"),
                group.create_task(self._follow(), name="informers"),
                group.create_task(self._dump_on_demand(), name="dump"),
            ]
            shown = self._endpoints()
            async with endpoints.served(serving, shown, self._channels, self._timing):
                code = await self._serve_a_term()
            for task in background:
                task.cancel()
        return code

    # -- phases ------------------------------------------------------------------------------------------------------

    async def _follow(self) -> None:
        await self._may_follow.wait()
        await self._informers.run()

    async def _serve_a_term(self) -> int:
        if self._election is None:
            await self._lead()
            return ENDED
        if not self._configuration.delay_cache_until_active and not await self._synced():
            return ENDED
        return await self._stand_for(self._election)

    async def _synced(self) -> bool:
        """False: the end came first."""
        self._may_follow.set()
        return await ended_before(self._control.stop, self._informers.wait_synced())

    async def _stand_for(self, election: LeaderElection) -> int:
        """A leader ends by itself when it is to stop; a candidate just gives up."""
        async with asyncio.TaskGroup() as group:
            elected = group.create_task(self._elected(election), name="leader election")
            stopping = group.create_task(self._control.stop.wait())
            await asyncio.wait((elected, stopping), return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            if not self._leads:
                elected.cancel()
        return ENDED if elected.cancelled() else elected.result()

    async def _elected(self, election: LeaderElection) -> int:
        try:
            await election.run(self._lead)
        except LeaseLost as loss:
            logger.error("%s", loss)
            return LEASE_LOST
        return ENDED

    async def _lead(self) -> None:
        """Until the end is asked for. Whoever cancels this has lost the right to bind."""
        self._leads = True
        try:
            if await self._synced():
                logger.info("scheduling begins")
                await ended_before(self._control.stop, self._loop.run())
            logger.info("scheduling ends, %d bindings are in flight", len(self._bindings))
            await self._bindings.finish(FINISH_SECONDS)
            await self._drain()
        except asyncio.CancelledError:
            await self._bindings.undo()
            raise

    async def _drain(self) -> None:
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                await self._dispatcher.drain()
        except TimeoutError:
            logger.warning("some conditions and events could not be written within %g seconds", DRAIN_SECONDS)

    # -- for operators -----------------------------------------------------------------------------------------------

    async def _dump_on_demand(self) -> None:
        while True:
            await self._control.dump.wait()
            self._control.dump.clear()
            found = beliefs_beside(self._listers, self._scheduler)
            logger.info("%s", "".join(await in_slices(cache_text(self._scheduler.cache, self._scheduler.queue))))
            logger.info("%s", "".join(await in_slices(queue_text(self._scheduler.queue))))
            compared = await found.compare()
            if compared.is_clean:
                logger.info("the cache agrees with the API server")
            else:
                logger.warning("the cache differs from the API server: %s", compared.text())

    def _endpoints(self) -> Endpoints:
        healthz = self._leading_checks()
        stopping = endpoints.shutdown_check(self._control.stop.is_set)
        readyz = (*healthz, stopping, *self._synced_checks())
        exposition = Exposition(self._metrics, self._scheduler, (self._show_leading,))
        return scheduler_endpoints(self._scheduler, exposition, self._decisions, self._listers, healthz, readyz)

    def _show_leading(self) -> None:
        if self._election is not None:
            lease = self._configuration.leader_election.resource_name
            self._metrics.leading[(lease,)].set(self._election.is_leading)

    def _synced_checks(self) -> tuple[Check, ...]:
        """A lean standby is ready although it knows nothing yet."""
        return () if self._configuration.delay_cache_until_active else endpoints.synced_checks(self._informers)

    def _leading_checks(self) -> tuple[Check, ...]:
        if self._election is None:
            return ()
        lease = self._configuration.leader_election.resource_name
        return (endpoints.leading_check(self._election, self._identity, lease),)

    def _make_election(self) -> LeaderElection:
        chosen = self._configuration.leader_election
        settings = ElectionSettings(
            self._identity,
            chosen.lease_duration.seconds,
            chosen.renew_deadline.seconds,
            chosen.retry_period.seconds,
        )
        lease = HttpLease(
            self._channels.lease, chosen.resource_namespace, chosen.resource_name, settings.attempt_seconds
        )
        return LeaderElection(
            lease, settings, self._timing, lambda leader: logger.info("the leader is %s", leader or "nobody")
        )
