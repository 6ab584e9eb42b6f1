# SPDX-License-Identifier: Apache-2.0
"""Turns what happens to pods, and what the scheduler holds, into metrics.

    attempts ─► AttemptMetrics ─► Metrics ◄─ Exposition.refresh ◄─ queue, cache, PendingCauses
                                     └─► Exposition.text ─► `/metrics`

`AttemptMetrics` observes the scheduler: when an attempt began, what its phases took, and how it ended. `plugin_metrics` tells
it of plugins. Everything about an attempt that is under way is kept by the pod's uid, because bindings of many pods overlap.

`PendingCauses` keeps why pods wait, from diagnoses that are at hand. `Exposition` copies into the metrics what can be read
off the scheduler's state, in the loop that schedules: sizes of queue and cache, counts that the queue keeps anyway. That is
quick. The text is made afterwards, family by family, and may be made elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Final

from steersman.assembly import AttemptObserver, Scheduler
from steersman.clock import Clock
from steersman.cycle.decision import Decision, Dropped, Failed, Postponed, Scheduled, Unschedulable
from steersman.engine.evaluation import Evaluation
from steersman.explain import CauseCode, code_of_plugin
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Code, Status, fault_prefix
from steersman.observe.metrics import ERROR, SCHEDULED, UNSCHEDULABLE, Metrics
from steersman.observe.plugin_metrics import FAILED, SUCCESS, Evaluations, MeasuredQueueMetrics, timed
from steersman.observe.series import CountedUp, texts_of
from steersman.plugins.node_resources.insufficient import REASON_TOO_MANY_PODS
from steersman.preemption import DefaultPreemption
from steersman.preemption.candidates import PreemptionReport
from steersman.queue import MICROSECONDS, NEVER, CountingQueueMetrics, QueuedPodInfo, RecordedEvent
from steersman.runtime.profile import Profile

VOLUME_BINDING: Final = "VolumeBinding"
#: Of so many calls of a plugin at an extension point, one is recorded.
SAMPLE_EVERY: Final = 10
#: More attempts than that share one value of the label `attempts`.
MOST_ATTEMPTS: Final = 15
#: Value of the label `result` of preemptions that succeeded.
PREEMPTED: Final = "success"
#: Where VolumeBinding fails, and what kube-scheduler calls that; finding volumes is "predicate".
VOLUME_STAGES: Final = {(VOLUME_BINDING, "Reserve"): "assume", (VOLUME_BINDING, "PreBind"): "bind"}
#: Points after the choice of a node: not part of the scheduling algorithm.
_AFTER_CHOICE: Final = ("Reserve", "Unreserve", "Permit")
#: Points that are reached only with permission.
_AFTER_PERMIT: Final = ("PreBind", "Bind", "PostBind")
#: So many reason codes may be kept of pods that do not wait any more, beside as many as there are pods that do.
_SPARE_CODES: Final = 1024
#: What a pod in flight is called among the events.
POPPED: Final = "PodPopped"


# -- attempts ----------------------------------------------------------------------------------------------------------


class Attempt:
    """One attempt at a pod that has not ended."""

    __slots__ = ("points", "queued", "started", "waits_since")

    def __init__(self) -> None:
        self.started = 0.0
        self.queued: QueuedPodInfo | None = None
        #: Since when the pod has been waiting for permission; None: it does not wait.
        self.waits_since: float | None = None
        #: Extension point → seconds spent there and the last status.
        self.points: dict[str, tuple[float, str]] = {}

    def seconds_at(self, *points: str) -> float:
        if not self.points:
            return 0.0
        return sum(self.points[point][0] for point in points if point in self.points)


class AttemptMetrics(AttemptObserver):
    """The `Instruments` of one scheduler, which makes one scheduling cycle at a time."""

    def __init__(self, metrics: Metrics, clock: Clock) -> None:
        self._metrics = metrics
        self._clock = clock
        self.queue_metrics = MeasuredQueueMetrics(metrics)
        self.evaluations = Evaluations()
        self._open: dict[str, Attempt] = {}
        self._calls: dict[tuple[str, str], int] = {}
        self._began = 0.0
        self._evaluated: float | None = None
        self._preempts_in_background = True

    @property
    def observer(self) -> AttemptObserver:
        return self

    def instrumented(self, profile: Profile) -> Profile:
        preemption = profile.plugins.get(DefaultPreemption.name)
        if isinstance(preemption, DefaultPreemption):
            preemption.executor.on_end = self.preempted
            self._preempts_in_background = preemption.is_asynchronous
        return timed(profile, self)

    @property
    def open_attempts(self) -> int:
        """Pods that have a decision and are being bound."""
        return len(self._open)

    # -- the scheduling cycle ----------------------------------------------------------------------------------------

    def begins(self) -> None:
        self._began = perf_counter()
        self._evaluated = None

    def evaluated(self, pod: PodInfo, evaluation: Evaluation) -> None:
        """Looks at as little as possible, because an evaluation works out what it is asked for."""
        self._evaluated = perf_counter()
        self.evaluations.count(pod, evaluation)

    def decided(self, queued: QueuedPodInfo, decision: Decision) -> None:
        if isinstance(decision, Dropped | Postponed):
            self._open.pop(queued.uid, None)
            if isinstance(decision, Postponed):
                self._metrics.postponed_attempts.inc()
            return
        now = perf_counter()
        attempt = self._attempt(queued.uid)
        attempt.queued, attempt.started = queued, self._began
        if isinstance(decision, Scheduled):
            attempt.waits_since = now if decision.waits else None
        elif isinstance(decision, Unschedulable):
            self._count_preemption(decision)
        elif _failed_to_find_volumes(decision):
            self._metrics.volume_stage_errors[("predicate",)].inc()
        self._observe_phases(decision, now - attempt.seconds_at(*_AFTER_CHOICE))

    def _observe_phases(self, decision: Scheduled | Unschedulable | Failed, chosen: float) -> None:
        """`chosen`: when the cycle would have ended without what comes after the choice of a node."""
        self._metrics.algorithm_seconds.observe(chosen - self._began)
        if self._evaluated is None:
            return
        points = self._metrics.point_seconds
        points["Filter", SUCCESS, decision.profile].observe(self._evaluated - self._began)
        if isinstance(decision, Scheduled):
            points["Score", SUCCESS, decision.profile].observe(chosen - self._evaluated)

    def _count_preemption(self, decision: Unschedulable) -> None:
        outcome = decision.post_filter
        if outcome is None:
            return
        report = outcome.result.report if outcome.result is not None else None
        if isinstance(report, PreemptionReport) or outcome.status.plugin == DefaultPreemption.name:
            self._metrics.preemption_attempts.inc()
        candidate = report.choice.candidate if isinstance(report, PreemptionReport) and report.choice else None
        # As upstream: in the background, a preemption whose victims are all on their way already is none; else all count.
        if candidate is not None and (candidate.victims_to_delete or not self._preempts_in_background):
            self._metrics.preemption_victims.observe(len(candidate.victims))

    def preempted(self, succeeded: bool, seconds: float) -> None:
        """A preemption was carried out, or could not be."""
        result = (PREEMPTED if succeeded else ERROR,)
        self._metrics.preemption_tasks[result].inc()
        self._metrics.preemption_task_seconds[result].observe(seconds)

    # -- plugins -----------------------------------------------------------------------------------------------------

    def plugin_ran(self, uid: str, point: str, plugin: str, status: str, seconds: float) -> None:
        attempt = self._attempt(uid)
        if point in _AFTER_PERMIT:
            self._end_wait(attempt, perf_counter() - seconds, SUCCESS)
        points = attempt.points
        points[point] = points[point][0] + seconds if point in points else seconds, status
        key = plugin, point
        calls = self._calls[key] = self._calls.get(key, 0) + 1
        if status == FAILED and key in VOLUME_STAGES:
            self._metrics.volume_stage_errors[(VOLUME_STAGES[key],)].inc()
        if calls % SAMPLE_EVERY == 1:
            self._metrics.plugin_seconds[plugin, point, status].observe(seconds)

    # -- the end of an attempt ---------------------------------------------------------------------------------------

    def bound(self, decision: Scheduled) -> None:
        pod = decision.pod
        attempt = self._open.get(pod.uid)
        if attempt is None or attempt.queued is None:
            return
        queued, metrics = attempt.queued, self._metrics
        self._end_wait(attempt, perf_counter(), SUCCESS)
        self._end(pod.uid, attempt, SCHEDULED, pod.scheduler_name)
        metrics.pod_attempts.observe(queued.attempts)
        if queued.initial_attempt != NEVER:
            waited = max(0.0, self._clock.monotonic() - queued.initial_attempt / MICROSECONDS)
            metrics.pod_seconds[(attempts_label(queued.attempts),)].observe(waited)
        if queued.was_flushed:
            metrics.scheduled_after_flush.inc()

    def failed(self, queued: QueuedPodInfo, decision: Unschedulable | Failed) -> None:
        attempt = self._attempt(queued.uid)
        if attempt.queued is None:  # the cycle itself was cancelled
            attempt.started = self._began
        rejected = isinstance(decision, Unschedulable) or decision.status.is_rejected
        self._end_wait(attempt, perf_counter(), (Code.UNSCHEDULABLE if rejected else Code.ERROR).label)
        self._end(queued.uid, attempt, UNSCHEDULABLE if rejected else ERROR, decision.profile)

    def _end(self, uid: str, attempt: Attempt, result: str, profile: str) -> None:
        metrics = self._metrics
        metrics.attempts[result, profile].inc()
        metrics.attempt_seconds[result, profile].observe(perf_counter() - attempt.started)
        for point, (seconds, status) in attempt.points.items():
            metrics.point_seconds[point, status, profile].observe(seconds)
        del self._open[uid]

    def _end_wait(self, attempt: Attempt, at: float, result: str) -> None:
        if attempt.waits_since is not None:
            self._metrics.permit_wait_seconds[(result,)].observe(at - attempt.waits_since)
            attempt.waits_since = None

    def _attempt(self, uid: str) -> Attempt:
        attempt = self._open.get(uid)
        if attempt is None:
            attempt = self._open[uid] = Attempt()
        return attempt


def _failed_to_find_volumes(decision: Failed) -> bool:
    return decision.status.message.startswith(fault_prefix("Filter", VOLUME_BINDING))


def attempts_label(attempts: int) -> str:
    return str(attempts) if attempts < MOST_ATTEMPTS else f"{MOST_ATTEMPTS}+"


# -- why pods wait -----------------------------------------------------------------------------------------------------


class PendingCauses(AttemptObserver):
    """Why pods wait, by reason code: `steersman_pending_pods{cause=…}`. Written once per failed attempt, read when somebody
    scrapes.

    A failed attempt leaves its diagnosis: which plugin objected first to how many nodes. A node to which a later filter objects
    has passed the ones before it, so the latest filter that objected is the one that decides. `steersman explain` asks every
    plugin about every node and tells more apart, such as fragmentation; nothing is evaluated for a metric.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        #: By uid, of every pod whose last attempt failed.
        self._codes: dict[str, CauseCode] = {}
        #: By profile and plugin, how late the plugin filters.
        self._order = {
            name: {call.name: position for position, call in enumerate(profile.filter)}
            for name, profile in scheduler.profiles.items()
        }

    def failed(self, queued: QueuedPodInfo, decision: Unschedulable | Failed) -> None:
        self._codes[queued.uid] = CauseCode.ERROR if isinstance(decision, Failed) else self._code(decision)
        if len(self._codes) > 2 * self._scheduler.queue.size + _SPARE_CODES:
            self._forget_others()

    def counts(self) -> Counter[CauseCode]:
        """How many pods wait for each cause: those that were tried in vain, and those that are held back."""
        self._forget_others()
        counted: Counter[CauseCode] = Counter()
        for queued in self._scheduler.queue.waiting_pods():
            if queued.is_gated:
                counted[CauseCode.HELD_BACK] += 1
            elif queued.uid in self._codes:
                counted[self._codes[queued.uid]] += 1
        return counted

    def _forget_others(self) -> None:
        codes, waiting = self._codes, self._scheduler.queue.waiting_pods()
        self._codes = {queued.uid: codes[queued.uid] for queued in waiting if queued.uid in codes}

    def _code(self, decision: Unschedulable) -> CauseCode:
        order = self._order.get(decision.profile, {})
        statuses = [(order.get(status.plugin, -1), count, status) for status, count in _rejecting_statuses(decision)]
        if not statuses:
            return CauseCode.PLUGIN if decision.diagnosis.all_nodes else CauseCode.NO_NODES
        return _code_of(max(statuses, key=lambda each: each[:2])[2])


def _rejecting_statuses(decision: Unschedulable) -> list[tuple[Status, int]]:
    """The statuses that nodes, or the pod as a whole, were rejected with."""
    statuses = decision.diagnosis.statuses
    found = [(status, count) for status, count in statuses.counts() if status.plugin]
    if not found and statuses.absent is not None and statuses.absent.plugin:
        found = [(statuses.absent, 1)]
    return found


def _code_of(status: Status) -> CauseCode:
    if status.reasons == (REASON_TOO_MANY_PODS,):
        return CauseCode.POD_LIMIT
    return code_of_plugin(status.plugin)


# -- state, and the text of all metrics --------------------------------------------------------------------------------


class Exposition:
    """Renders one scheduler's metrics."""

    def __init__(
        self,
        metrics: Metrics,
        measuring: AttemptMetrics,
        scheduler: Scheduler,
        refreshers: Sequence[Callable[[], None]] = (),
    ) -> None:
        """`refreshers` set what the host knows, whenever somebody looks."""
        self._metrics = metrics
        self._measuring = measuring
        self._scheduler = scheduler
        self._refreshers = refreshers
        self._causes = PendingCauses(scheduler)
        scheduler.observe(self._causes)
        self._incoming = CountedUp(metrics.incoming_pods)

    def text(self) -> Iterator[bytes]:
        """The metrics as last refreshed, a family at a time. Any thread may do this."""
        return texts_of(self._metrics.registry)

    def refresh(self) -> None:
        """Copies sizes and counts. Only where nobody changes the scheduler at the same time."""
        for refresh in self._refreshers:
            refresh()
        self._refresh_queue()
        self._refresh_causes()
        self._refresh_in_flight()
        self._refresh_cache()
        scheduler = self._scheduler
        self._measuring.evaluations.export(self._metrics, scheduler.profiles, scheduler.cache.nodes.node_count)
        self._metrics.tasks[("binding",)].set(self._measuring.open_attempts)

    def _refresh_queue(self) -> None:
        pending, sizes = self._metrics.pending_pods, self._scheduler.queue.statistics()
        pending[("active",)].set(sizes.active)
        pending[("backoff",)].set(sizes.backoff + sizes.error_backoff)
        pending[("unschedulable",)].set(sizes.unschedulable)
        pending[("gated",)].set(sizes.gated)
        counts = self._scheduler.queue.metrics
        if isinstance(counts, CountingQueueMetrics):
            self._incoming.to(counts.entered.items())
            for rejection, number in counts.rejections.items():
                self._metrics.unschedulable_pods[rejection].set(number)

    def _refresh_causes(self) -> None:
        """A cause that no pod waits for any more counts as 0."""
        gauges, counted = self._metrics.pending_causes, self._causes.counts()
        for label in {*map(str, counted), *(known for (known,) in gauges)}:
            gauges[(label,)].set(counted[CauseCode(label)])

    def _refresh_in_flight(self) -> None:
        """An event that is not kept any more counts as 0, so that its series does not stay as it was."""
        gauges = self._metrics.in_flight_events
        kept = Counter(_in_flight_label(entry) for entry in self._scheduler.queue.in_flight_log())
        for label in {*kept, *(known for (known,) in gauges)}:
            gauges[(label,)].set(kept[label])

    def _refresh_cache(self) -> None:
        sizes, cache = self._metrics.cache_size, self._scheduler.cache
        sizes[("nodes",)].set(cache.nodes.node_count)
        sizes[("pods",)].set(cache.pod_count)
        sizes[("assumed_pods",)].set(cache.assumed_count)
        for table, entries in self._scheduler.kept().items():
            self._metrics.kept_entries[(table.replace(" ", "_"),)].set(entries)


def _in_flight_label(entry: QueuedPodInfo | RecordedEvent) -> str:
    return POPPED if isinstance(entry, QueuedPodInfo) else entry.event.label
