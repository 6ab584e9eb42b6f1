# SPDX-License-Identifier: Apache-2.0
"""Runs the scheduler on the embedded cluster in virtual time.

    ┌► schedule pods while activeQ has any ─► nothing left ─► advance the clock to the next event ┐
    └───────── kubelet timers, ends of backoff, overdue pods, tasks of the binding cycle ◄────────┘

The loop is synchronous; an event loop is created only when a binding cycle has to wait (see
`tasks`). Without a deadline the simulation ends when nothing changes any more: activeQ is empty,
there are no tasks and no timers, and no pod that failed with an error has attempts left. It also
ends after `NO_PROGRESS_SECONDS` in which pods were retried and nothing else happened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final
from weakref import finalize

from steersman.base import ManualClock, SeededRng
from steersman.cluster.controllers import Cluster, start as start_controllers, start_claim_controllers
from steersman.cluster.kubelets import DEFAULT_POLICY, KubeletPolicy, Kubelets, NodeDrain
from steersman.cluster.store import Store, StoreReader, feed
from steersman.framework import FORCE_ACTIVATE, CycleAborted, CyclePostponed, PodInfo
from steersman.scheduler.assembly import Preview, Scheduler, SchedulerOptions
from steersman.scheduler.cycle import Decision
from steersman.scheduler.host import UNSCHEDULABLE_SECONDS, TimerHeap, frozen_heap, keep_freed_memory
from steersman.scheduler.preemption import default_preemptions
from steersman.scheduler.queue import QueuedPodInfo
from steersman.simulation.results.placements import PodTimes
from steersman.simulation.results.series import SeriesSampler
from steersman.simulation.virtual_time.tasks import SimulationError, Tasks
from steersman.simulation.virtual_time.writer import EmbeddedWriter

MAX_ERRORS: Final = 3
"""The simulation may end without a pod after this many attempts that ended with errors."""
MAX_ATTEMPTS_AT_ONCE: Final = 1000
"""More attempts at a pod without time passing end the simulation with an error."""
NO_PROGRESS_SECONDS: Final = 3600.0
"""A run without a deadline ends after this much virtual time without any change other than failed
attempts."""
NO_PROGRESS_ATTEMPTS: Final = 20
"""At least this many attempts failed in that time: a single binding may wait for an hour."""
NO_PROGRESS_SECONDS_WITH_TIMERS: Final = 30 * 86_400.0
"""The same while timers are pending: a job may still run for days before it makes room."""
NO_PROGRESS: Final = (
    "ended after {} without progress: pods are retried again and again, and nothing else changes (last tried: {}); "
    "--until sets another end"
)
STANDS_STILL: Final = "time stands still: pod {} was tried {} times at one moment; {}"
EXTENDERS_DECIDE: Final = "with extenders, decisions cannot be previewed: use step()"
MAX_REPLICAS: Final = 64
"""Replicas that are placed at a time, at most."""

OnDecision = Callable[[Decision], None]


class Driver:
    """A scheduler on an embedded cluster in virtual time; `controllers` also starts those of
    kube-controller-manager."""

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
        #: Creation and completion times of pods.
        self.pod_times = PodTimes(store, self.writer.now)
        reader = StoreReader(store)
        self._rng = SeededRng(seed)
        self.scheduler = Scheduler(clock, self._rng, self.writer, self._tasks.spawn, options, reader)
        reader.serve(self.scheduler.known_kinds)
        self._asks_extenders = bool(options.extenders)
        #: Number of decisions.
        self.decisions = 0
        #: Latest drain by node.
        self.drains: dict[str, NodeDrain] = {}
        self.sampler = SeriesSampler(self.scheduler, self.writer)
        self._is_refreshed = False
        #: Version of the cluster without the scheduler's own status patches, with the time and the
        #: number of decisions at its last change.
        self._progress = (0, self._start, 0)
        #: Why the last run ended although pods were still retried; "" if it came to rest.
        self.no_progress = ""
        self._last_failed = ""
        #: Whether a run is in progress.
        self.is_running = False
        feed(store, self.scheduler.ingest, self.scheduler.watched_kinds)
        group_claims = options.gates.enabled("DRAWorkloadResourceClaims")
        start_claim_controllers(store, self._timers, has_group_claims=group_claims)
        self.kubelets = Kubelets(store, self._timers, kubelets)
        if controllers:
            start_controllers(Cluster(store, self._timers, retains_pods=True))

    @property
    def has_tasks(self) -> bool:
        """Whether a binding cycle is waiting."""
        return bool(self._tasks)

    @property
    def now(self) -> float:
        """Seconds since the start."""
        return self.writer.now()

    def step(self, placed: tuple[str, str] | None = None, until: float | None = None) -> Decision | None:
        """Advance to the next decision and return it; None at the end of the simulation, or at
        `until`.

        `placed` is the uid of the next pod and the feasible node that it gets, or "" to leave it
        pending.
        """
        deadline = None if until is None else self._start + until
        self.refresh_plugins_once()
        while (decision := self._decide(placed)) is None:
            if self._is_over(deadline):
                return None
            self._pass_time(self._next_moment(deadline))
        return decision

    def reseed(self, seed: int, kubelets_seed: int) -> None:
        """Restart the random sources of scheduler and kubelets with other seeds."""
        self._rng.reseed(seed)
        self.kubelets.reseed(kubelets_seed)

    def preview(self, until: float | None = None, *, stops_at_rest: bool = False) -> Preview | None:
        """Return the pod that `step` would decide on, after advancing to that decision; nothing is
        decided.

        None at the end of the simulation, or at `until`; with `stops_at_rest` at the first of both.
        Raises `SimulationError` if there are extenders, which would be called twice.
        """
        deadline = None if until is None else self._start + until
        if self.scheduler.options.extenders:
            raise SimulationError(EXTENDERS_DECIDE)
        self.refresh_plugins_once()
        while (found := self.scheduler.preview()) is None:
            if self._tasks:
                self._tasks.run_ready()
            if self._is_over(deadline) or (stops_at_rest and self._is_over(None)):
                return None
            self._pass_time(self._next_moment(deadline))
        return found

    def run(
        self, until: float | None = None, on_decision: OnDecision | None = None, *, stops_at_rest: bool = False
    ) -> None:
        """Run to the end, or until `until` seconds after the start; with `stops_at_rest` to the
        first of both.

        Raises `SimulationError` if the simulation does not come to rest.
        """
        deadline = None if until is None else self._start + until
        self.refresh_plugins_once()
        keep_freed_memory()
        self.is_running = True
        self.no_progress = ""
        try:
            with frozen_heap():
                self._run_until(deadline, on_decision, stops_at_rest)
        finally:
            self.is_running = False

    def _run_until(self, deadline: float | None, on_decision: OnDecision | None, stops_at_rest: bool) -> None:
        self._decide_all(on_decision)
        while not self._is_over(deadline) and not (stops_at_rest and self._is_over(None)):
            self._pass_time(self._next_moment(deadline))
            self._decide_all(on_decision)
            if deadline is None and self._lacks_progress():
                return

    def _lacks_progress(self) -> bool:
        """Return whether only failed attempts have happened for so long that the run should end."""
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

    def activate_all(self) -> None:
        """Move all waiting pods to activeQ, including those in backoffQ and unschedulable ones."""
        queue = self.scheduler.queue
        contents = queue.contents()
        waiting = (*contents.unschedulable, *contents.backoff, *contents.error_backoff)
        queue.activate([queued.pod for queued in waiting])

    def decide_on(self, pod: PodInfo) -> Decision:
        """Return the decision on a pod that is not in the queue, with extenders if they are called.

        Nothing is carried out, but a found node is assumed, and preemption starts: for forks only.
        """
        self.refresh_plugins_once()
        if not self._asks_extenders:
            return self.scheduler.cycle.schedule_one(pod)
        return self._tasks.finish(self.scheduler.decide(pod))

    def evaluate(self, pod: PodInfo) -> None:
        """Evaluate the pod without a decision, to fill caches of plugins that forks share.

        For a pod without a feasible node the table of victims is built as well, except for pods
        with claims, which do not use that table.
        """
        profile = self.scheduler.profiles.get(pod.scheduler_name)
        if profile is not None and self.scheduler.cache.nodes.node_count:
            self.refresh_plugins_once()
            with suppress(CycleAborted, CyclePostponed):
                evaluation = self.scheduler.cycle.preview(profile, pod)
                has_claims = pod.shape.has_claims or pod.spec.resource_claims
                if not evaluation.feasible_count and evaluation.pre_filter.status is None and not has_claims:
                    self.prepare_preemption()

    def prepare_preemption(self) -> None:
        """Build the tables of victims of preemption plugins, so that forks share them."""
        for plugin in default_preemptions(self.scheduler.profiles.values()):
            plugin.evaluator.prepare(self.scheduler.cache.nodes)

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing would change any more by the passage of time alone."""
        return not self.scheduler.queue.statistics().active and self._is_over(None)

    def refresh_plugins_once(self) -> None:
        """Refresh the external data of plugins once: refreshes follow real time, and a run takes
        none."""
        if not self._is_refreshed:
            self._is_refreshed = True
            self.scheduler.background.refresh_now()

    def drain(self, node: str) -> None:
        """Start to drain the node; further rounds follow as time passes."""
        self.drains[node] = NodeDrain(self._store, self._timers, node)

    def decide_now(self, on_decision: OnDecision | None = None) -> None:
        """Schedule the pods in activeQ; no time passes. Raises `SimulationError` if pods are
        retried endlessly."""
        self.refresh_plugins_once()
        self._decide_all(on_decision)

    def settle(self) -> None:
        """Run the due timers of kubelets and controllers; nothing is scheduled, and no time
        passes."""
        self._timers.run_due(self._clock.monotonic())

    def close(self) -> None:
        """Cancel binding cycles that are waiting."""
        self._tasks.close()

    def closed_with(self, owner: object) -> finalize[..., object]:
        """Close the driver when `owner` is garbage-collected.

        References only the tasks: listeners of the store may reference `owner`, which a reference
        to the cluster would keep alive.
        """
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
        """Decide with extenders, whose calls block (`extenders`), so that the cycle ends
        immediately."""
        return self._tasks.finish(self.scheduler.schedule_one_async())

    def _decide_some(self) -> Sequence[Decision]:
        """Decide on several replicas, or on one pod; the decisions equal those of `_decide`."""
        if self._asks_extenders:
            decision = self._decide()
            return () if decision is None else (decision,)
        decisions = self.scheduler.schedule_some(MAX_REPLICAS)
        self.decisions += len(decisions)
        if self._tasks:
            self._tasks.run_ready()
        return decisions

    def _decide_all(self, on_decision: OnDecision | None) -> None:
        """Decide on pods until activeQ is empty."""
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
                    woken = _describe_wake(self.scheduler.queue.get(decision.pod.key))
                    raise SimulationError(STANDS_STILL.format(decision.pod.key, at_once, woken))

    def _is_over(self, deadline: float | None) -> bool:
        if deadline is not None:
            return self._clock.monotonic() >= deadline
        return not self._tasks and not self._timers and not self._has_retries()

    def _next_moment(self, deadline: float | None) -> float | None:
        """Return the time of the next timer or flush; None if only tasks wait."""
        moments = (self._timers.next_time(), self._next_flush(), deadline)
        return min((moment for moment in moments if moment is not None), default=None)

    def _next_flush(self) -> float | None:
        """Return the time of the next flush of the queue. A gated pod that is overdue stays gated,
        and is checked periodically."""
        wakeup, now = self.scheduler.queue.next_wakeup(), self._clock.monotonic()
        return now + UNSCHEDULABLE_SECONDS if wakeup is not None and wakeup <= now else wakeup

    def _has_retries(self) -> bool:
        """Return whether a pod whose attempts ended with errors has attempts left, or backoffQ has
        a requeued pod, which without the gate SchedulerPopFromBackoffQ is not popped early."""
        queue, sizes = self.scheduler.queue, self.scheduler.queue.statistics()
        if sizes.backoff:
            return True
        if not sizes.error_backoff:
            return False
        return any(queued.attempts < MAX_ERRORS for queued in queue.contents().error_backoff)

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


def _describe_wake(queued: QueuedPodInfo | None) -> str:
    """Describe the event or plugin that caused the pod's retry."""
    event, plugin = ("", "") if queued is None else queued.woken_by
    if event == FORCE_ACTIVATE.label:
        return "a plugin activates it each time (handle.pods.activate or pods_to_activate)"
    if plugin:
        return f'it is woken each time by event {event}, for which plugin "{plugin}", which rejected it, is registered'
    return f"it is woken each time by event {event}" if event else "no event woke it: its attempts end with errors"
