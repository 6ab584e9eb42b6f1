# SPDX-License-Identifier: Apache-2.0
"""Runs the scheduler on the embedded cluster in virtual time.

    ┌► schedule pods while there is something to pop ─► nothing left ─► move the clock to what comes next ┐
    └──────────── kubelet timers, ends of backoff, overdue pods, tasks of the binding cycle ◄───────────┘

The loop is synchronous; an event loop appears only when a binding cycle has to wait (see `tasks`). Without a deadline the
simulation ends when nothing would change any more: no pod to pop, no task, no timer, and no pod that failed with an error
and deserves another try. It also ends after `NO_PROGRESS_SECONDS` in which pods were retried and nothing else happened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final
from weakref import finalize

from steersman.assembly import Scheduler, SchedulerOptions
from steersman.assembly.scheduler import Preview
from steersman.clock import ManualClock
from steersman.controllers import Cluster
from steersman.controllers import start as start_controllers
from steersman.cycle.decision import Decision
from steersman.embedded import EphemeralClaims, ResourceClaimController, Store, StoreReader, VolumeController, feed
from steersman.framework.pod_info import PodInfo
from steersman.framework.postponement import CyclePostponed
from steersman.framework.status import CycleAborted
from steersman.host import UNSCHEDULABLE_SECONDS, TimerHeap, frozen_heap, keep_freed_memory
from steersman.kubelets import DEFAULT_POLICY, KubeletPolicy, Kubelets, NodeDrain
from steersman.preemption import DefaultPreemption
from steersman.rng import SeededRng
from steersman.sim.series import SeriesSampler
from steersman.sim.tasks import SimulationError, Tasks
from steersman.sim.writer import EmbeddedWriter

MOST_ERRORS: Final = 3
"""A pod that fails with errors is tried so often before the simulation may end without it."""
MAX_ATTEMPTS_AT_ONCE: Final = 1000
"""A pod that is tried more often without time passing ends the simulation with an error."""
NO_PROGRESS_SECONDS: Final = 3600.0
"""A run without a deadline ends after this much virtual time without any change other than failed attempts."""
NO_PROGRESS_ATTEMPTS: Final = 20
"""At least this many attempts failed in that time: a single binding may wait for an hour."""
NO_PROGRESS_SECONDS_WITH_TIMERS: Final = 30 * 86_400.0
"""The same while timers are pending: a job may still run for days before it makes room."""
NO_PROGRESS: Final = (
    "ended after {} without progress: pods are retried again and again, and nothing else changes (last tried: {}); "
    "--until sets another end"
)
STANDS_STILL: Final = "time stands still: pod {} was tried {} times at one moment; does a plugin activate it each time?"
EXTENDERS_DECIDE: Final = "with extenders, decisions cannot be looked at before they are made: use step()"
MOST_TOGETHER: Final = 64
"""So many replicas are placed at a time, at most."""

OnDecision = Callable[[Decision], None]


class Driver:
    """One scheduler, its embedded cluster, and the time; with `controllers` also those that kube-controller-manager runs."""

    def __init__(
        self,
        store: Store,
        clock: ManualClock,
        seed: int,
        options: SchedulerOptions,
        kubelets: KubeletPolicy = DEFAULT_POLICY,
        *,
        controllers: bool = False,
    ) -> None:
        self._store = store
        self._clock = clock
        self._start = clock.monotonic()
        self._tasks = Tasks(clock)
        self._timers = TimerHeap()
        self.writer = EmbeddedWriter(store, clock)
        reader = StoreReader(store)
        self._rng = SeededRng(seed)
        self.scheduler = Scheduler(clock, self._rng, self.writer, self._tasks.spawn, options, reader)
        reader.serve(self.scheduler.known_kinds)
        self._asks_extenders = bool(options.extenders)
        #: How many decisions were made.
        self.decisions = 0
        #: The latest drain of every node that was drained.
        self.drains: dict[str, NodeDrain] = {}
        self.sampler = SeriesSampler(self.scheduler, self.writer)
        self._is_refreshed = False
        #: The cluster version without the scheduler's own status patches; since when, and after how many decisions, it is
        #: unchanged.
        self._progress = (0, self._start, 0)
        #: Why the last run ended although pods were still being retried; empty if it came to rest.
        self.no_progress = ""
        self._last_failed = ""
        #: Whether a run is under way.
        self.is_running = False
        feed(store, self.scheduler.ingest, self.scheduler.watched_kinds)
        EphemeralClaims(store)
        VolumeController(store, self._timers)
        ResourceClaimController(store)
        self.kubelets = Kubelets(store, self._timers, kubelets)
        if controllers:
            start_controllers(Cluster(store, self._timers, keeps_remains=True))

    @property
    def has_tasks(self) -> bool:
        """Whether a binding cycle waits."""
        return bool(self._tasks)

    @property
    def now(self) -> float:
        """Seconds since the start."""
        return self.writer.now()

    def step(self, placed: tuple[str, str] | None = None) -> Decision | None:
        """The next decision, after as much time as it takes; None when the simulation has come to its end. `placed` is the uid
        of the next pod, and the feasible node that it gets."""
        self.refresh_plugins_once()
        while (decision := self._decide(placed)) is None:
            if self._is_over(None):
                return None
            self._pass_time(self._next_moment(None))
        return decision

    def reseed(self, seed: int, kubelets_seed: int) -> None:
        """The scheduler, and the kubelets, draw with other seeds from now on."""
        self._rng.reseed(seed)
        self.kubelets.reseed(kubelets_seed)

    def preview(self) -> Preview | None:
        """The pod that `step` would decide on, after as much time as it takes, and nothing decided yet; None when the
        simulation has come to its end. `SimulationError` if extenders have a say, which would have to be asked twice."""
        if self.scheduler.options.extenders:
            raise SimulationError(EXTENDERS_DECIDE)
        self.refresh_plugins_once()
        while (found := self.scheduler.preview()) is None:
            if self._tasks:
                self._tasks.run_ready()
            if self._is_over(None):
                return None
            self._pass_time(self._next_moment(None))
        return found

    def run(
        self, until: float | None = None, on_decision: OnDecision | None = None, *, stops_at_rest: bool = False
    ) -> None:
        """To the end, or until so many seconds after the start, or to the first of both if it `stops_at_rest`.
        `SimulationError` if the end does not come."""
        deadline = None if until is None else self._start + until
        self.refresh_plugins_once()
        keep_freed_memory()
        self.is_running = True
        self.no_progress = ""
        try:
            with frozen_heap():
                self._go_on(deadline, on_decision, stops_at_rest)
        finally:
            self.is_running = False

    def _go_on(self, deadline: float | None, on_decision: OnDecision | None, stops_at_rest: bool) -> None:
        self._decide_all(on_decision)
        while not self._is_over(deadline) and not (stops_at_rest and self._is_over(None)):
            self._pass_time(self._next_moment(deadline))
            self._decide_all(on_decision)
            if deadline is None and self._lacks_progress():
                return

    def _lacks_progress(self) -> bool:
        """Return whether nothing but failed attempts happened for so long that the run should end."""
        version, since, decisions = self._progress
        now, current = self._clock.monotonic(), self._store.version - self.writer.status_patches
        if current != version:
            self._progress = (current, now, self.decisions)
            return False
        limit = NO_PROGRESS_SECONDS_WITH_TIMERS if self._timers else NO_PROGRESS_SECONDS
        if now - since < limit or self.decisions - decisions < NO_PROGRESS_ATTEMPTS:
            return False
        self.no_progress = NO_PROGRESS.format(f"{(now - since) / 3600:.3g} h", self._last_failed)
        return True

    def decide_ready(self) -> None:
        """Tries the pods in activeQ; no time passes."""
        self.refresh_plugins_once()
        self._decide_all(None)

    def schedule_now(self) -> None:
        """Tries all pods that wait, those included that were found unschedulable or wait their backoff out; no time passes."""
        self.refresh_plugins_once()
        queue = self.scheduler.queue
        contents = queue.contents()
        waiting = (*contents.unschedulable, *contents.backoff, *contents.error_backoff)
        queue.activate([queued.pod for queued in waiting])
        self._decide_all(None)

    def decide_on(self, pod: PodInfo) -> Decision:
        """The decision on a pod that nobody takes from the queue, with extenders where they are asked. Nothing is carried out;
        a node that is found is assumed, and what making room sets in motion begins: to be asked of a fork."""
        self.refresh_plugins_once()
        if not self._asks_extenders:
            return self.scheduler.cycle.schedule_one(pod)
        return self._tasks.finish(self.scheduler.decide(pod))

    def look_at(self, pod: PodInfo) -> None:
        """Evaluates the pod and decides nothing, so that what plugins keep of the cluster is there, and forks have it too. For
        a pod that fits nowhere the table of victims is made as well; those of a pod with claims are found without it."""
        profile = self.scheduler.profiles.get(pod.scheduler_name)
        if profile is not None and self.scheduler.cache.nodes.node_count:
            self.refresh_plugins_once()
            with suppress(CycleAborted, CyclePostponed):
                evaluation = self.scheduler.cycle.preview(profile, pod)
                has_claims = pod.shape.has_claims or pod.spec.resource_claims
                if not evaluation.feasible_count and evaluation.pre_filter.status is None and not has_claims:
                    self.prepare_preemption()

    def prepare_preemption(self) -> None:
        """Has the plugins that preempt pods make their tables of victims, so that forks need not."""
        for profile in self.scheduler.profiles.values():
            plugin = profile.plugins.get(DefaultPreemption.name)
            if isinstance(plugin, DefaultPreemption):
                plugin.evaluator.prepare(self.scheduler.cache.nodes)

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing would change any more, however much time passes."""
        return not self.scheduler.queue.statistics().active and self._is_over(None)

    def refresh_plugins_once(self) -> None:
        """Once: what plugins know from outside changes in real time, of which none passes here."""
        if not self._is_refreshed:
            self._is_refreshed = True
            self.scheduler.background.refresh_now()

    def drain(self, node: str) -> None:
        """Begins to drain the node; the rounds after the first one come as time passes."""
        self.drains[node] = NodeDrain(self._store, self._timers, node)

    def decide_now(self, on_decision: OnDecision | None = None) -> None:
        """Schedules everything that can be decided at this moment; no time passes. `SimulationError` if that does not end."""
        self.refresh_plugins_once()
        self._decide_all(on_decision)

    def settle(self) -> None:
        """Lets kubelets and controllers do what is due at this moment; nothing is scheduled, and no time passes."""
        self._timers.run_due(self._clock.monotonic())

    def close(self) -> None:
        """Ends binding cycles that still wait."""
        self._tasks.close()

    def closed_with(self, owner: object) -> finalize[..., object]:
        """Closes the driver when `owner` is dropped. Holds the tasks alone: a listener of the cluster may refer to the owner,
        which would live for ever if this held the cluster."""
        return finalize(owner, self._tasks.close)

    # -- inside ------------------------------------------------------------------------------------------------------

    def _decide(self, placed: tuple[str, str] | None = None) -> Decision | None:
        decision = self._decide_with_extenders() if self._asks_extenders else self.scheduler.schedule_one(placed)
        if decision is not None:
            self.decisions += 1
        if self._tasks:
            self._tasks.run_ready()
        return decision

    def _decide_with_extenders(self) -> Decision | None:
        """Extenders answer in place (`sim.extenders`), so that the cycle comes to its end at this moment."""
        return self._tasks.finish(self.scheduler.schedule_one_async())

    def _decide_some(self) -> Sequence[Decision]:
        """Decides on as many pods as go together; the decisions are those of `_decide`, one by one."""
        if self._asks_extenders:
            decision = self._decide()
            return () if decision is None else (decision,)
        decisions = self.scheduler.schedule_some(MOST_TOGETHER)
        self.decisions += len(decisions)
        if self._tasks:
            self._tasks.run_ready()
        return decisions

    def _decide_all(self, on_decision: OnDecision | None) -> None:
        """Everything that can be decided at this moment."""
        failures, before = self.writer.failures, dict[str, int]()
        while decisions := self._decide_some():
            for decision in decisions:
                if on_decision is not None:
                    on_decision(decision)
                attempts = failures.get(decision.pod.uid) if failures else None
                if attempts is None:
                    continue
                self._last_failed = decision.pod.key
                at_once = attempts.count - before.setdefault(decision.pod.uid, attempts.count)
                if at_once > MAX_ATTEMPTS_AT_ONCE:
                    raise SimulationError(STANDS_STILL.format(decision.pod.key, at_once))

    def _is_over(self, deadline: float | None) -> bool:
        if deadline is not None:
            return self._clock.monotonic() >= deadline
        return not self._tasks and not self._timers and not self._has_retries()

    def _next_moment(self, deadline: float | None) -> float | None:
        """When something will happen; None when only a task knows."""
        moments = (self._timers.next_time(), self._next_flush(), deadline)
        return min((moment for moment in moments if moment is not None), default=None)

    def _next_flush(self) -> float | None:
        """When the queue wants to be flushed; a gated pod that is overdue stays so, and is looked at from time to time."""
        wakeup, now = self.scheduler.queue.next_wakeup(), self._clock.monotonic()
        return now + UNSCHEDULABLE_SECONDS if wakeup is not None and wakeup <= now else wakeup

    def _has_retries(self) -> bool:
        """Whether a pod whose attempts ended with errors has not had all of its tries, or one that something has woken waits
        its backoff out: nothing is popped from backoffQ without the gate SchedulerPopFromBackoffQ."""
        queue, sizes = self.scheduler.queue, self.scheduler.queue.statistics()
        if sizes.backoff:
            return True
        if not sizes.error_backoff:
            return False
        return any(queued.attempts < MOST_ERRORS for queued in queue.contents().error_backoff)

    def _pass_time(self, moment: float | None) -> None:
        if moment is None or moment > self._clock.monotonic():
            self.sampler.tick()
        if self._tasks:
            self._tasks.advance(moment)
        elif moment is not None:
            self._clock.set(max(moment, self._clock.monotonic()))
        self._timers.run_due(self._clock.monotonic())
        self.scheduler.queue.flush_backoff()
        self.scheduler.queue.flush_unschedulable()
