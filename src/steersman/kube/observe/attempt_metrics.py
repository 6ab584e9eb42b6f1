# SPDX-License-Identifier: Apache-2.0
"""Metrics of scheduling attempts, and of the scheduler's state.

    attempts ─► AttemptMetrics ─► Metrics ◄─ Exposition.refresh ◄─ queue, cache, AttemptCauses
                                     └─► Exposition.text ─► `/metrics`

`AttemptMetrics` observes the start, phases and end of attempts; `plugin_metrics` reports plugins to
it. Data of running attempts are stored by pod uid, because bindings overlap.

`AttemptCauses` has the causes of failed attempts. `Exposition` copies state into the metrics,
quickly and in the scheduling loop: sizes of queue and cache, counts of the queue. The text is then
rendered family by family, maybe in another thread.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Final

from steersman.base import Clock
from steersman.framework import Code, PodInfo, Status, fault_prefix
from steersman.kube.observe.device_metrics import measure_devices
from steersman.kube.observe.metrics import ERROR, SCHEDULED, UNSCHEDULABLE, Metrics
from steersman.kube.observe.plugin_metrics import (
    FAILED,
    SUCCESS,
    Evaluations,
    MeasuredQueueMetrics,
    status_label,
    timed,
)
from steersman.kube.observe.series import ExternalCounters, texts_of
from steersman.scheduler.assembly import AttemptObserver, Scheduler
from steersman.scheduler.cycle import Decision, Dropped, Failed, Postponed, Scheduled, Unschedulable
from steersman.scheduler.diagnosis import AttemptCauses, CauseCode
from steersman.scheduler.engine import Evaluation, PhaseClock
from steersman.scheduler.preemption import DefaultPreemption, PreemptionReport
from steersman.scheduler.queue import MICROSECONDS, NEVER, CountingQueueMetrics, QueuedPodInfo, RecordedEvent
from steersman.scheduler.runtime import Profile

VOLUME_BINDING: Final = "VolumeBinding"
#: Share of the scheduling cycles in which single plugins are timed.
SAMPLED_SHARE: Final = 0.1
#: Higher numbers share one value of the label `attempts`.
MAX_ATTEMPTS: Final = 15
#: Value of the label `result` of preemptions that succeeded.
PREEMPTED: Final = "success"
#: VolumeBinding's points and kube-scheduler's names of their stages; Filter is "predicate".
VOLUME_STAGES: Final = {(VOLUME_BINDING, "Reserve"): "assume", (VOLUME_BINDING, "PreBind"): "bind"}
#: Points after the choice of a node: not part of the scheduling algorithm.
_AFTER_CHOICE: Final = ("Reserve", "Unreserve", "Permit")
#: Points that every bound pod passes, in order, with the status if no plugin applies.
_BINDING_POINTS: Final = {
    "Reserve": SUCCESS,
    "Permit": SUCCESS,
    "PreBindPreFlight": Code.SKIP.label,
    "PreBind": SUCCESS,
    "Bind": SUCCESS,
    "PostBind": SUCCESS,
}
#: Points after Permit.
_AFTER_PERMIT: Final = ("PreBind", "Bind", "PostBind")
#: Label of pods in flight among the events.
POPPED: Final = "PodPopped"


# -- attempts ----------------------------------------------------------------------------------------------------------


class Attempt:
    """One running attempt to schedule a pod."""

    __slots__ = ("is_sampled", "points", "queued", "started", "waits_since")

    def __init__(self, is_sampled: bool) -> None:
        self.is_sampled = is_sampled
        self.started = 0.0
        self.queued: QueuedPodInfo | None = None
        #: Start of the wait in Permit; None if the pod does not wait.
        self.waits_since: float | None = None
        #: Extension point → seconds spent there and the last status.
        self.points: dict[str, tuple[float, str]] = {}

    def seconds_at(self, *points: str) -> float:
        if not self.points:
            return 0.0
        return sum(self.points[point][0] for point in points if point in self.points)


class AttemptMetrics(AttemptObserver):
    """`Instruments` of one scheduler, which runs one scheduling cycle at a time."""

    def __init__(self, metrics: Metrics, clock: Clock, chance: Callable[[], float] = random.random) -> None:
        """`chance` returns a number from 0 to 1 that decides which cycles are sampled."""
        self._metrics = metrics
        self._clock = clock
        self._chance = chance
        self.phase_clock = PhaseClock(self.report_plugin)
        #: (Point, profile) → observations of attempts that failed in PreFilter or after the choice
        #: of a node.
        self._failed_at: Counter[tuple[str, str]] = Counter()
        self._refusal: Status | None = None
        self.queue_metrics = MeasuredQueueMetrics(metrics, self._draws_sample)
        self.evaluations = Evaluations()
        self._open: dict[str, Attempt] = {}
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
        measure_devices(self._metrics, profile)
        return timed(profile, self)

    @property
    def open_attempts(self) -> int:
        """Number of pods that have a decision and are being bound."""
        return len(self._open)

    # -- the scheduling cycle ----------------------------------------------------------------------------------------

    def begins(self) -> None:
        self.phase_clock.is_sampled = self._draws_sample()
        self._began = perf_counter()
        self._evaluated = None

    def evaluated(self, pod: PodInfo, evaluation: Evaluation) -> None:
        """Record the evaluation with minimal access, because evaluations are lazy."""
        self._evaluated = perf_counter()
        self._refusal = evaluation.pre_filter.status if evaluation.feasible_count == 0 else None
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
        self._observe_phases(decision, now - attempt.seconds_at(*_AFTER_CHOICE), attempt)

    def _observe_phases(self, decision: Scheduled | Unschedulable | Failed, chosen: float, attempt: Attempt) -> None:
        """Observe the phases; `chosen` is the current time minus the phases after the choice of a
        node."""
        self._metrics.algorithm_seconds.observe(chosen - self._began)
        if self._evaluated is None:
            self._observe_broken_phase(decision, chosen - self._began)
            return
        points, profile, clock = self._metrics.point_seconds, decision.profile, self.phase_clock
        points["Sign", SUCCESS, profile].observe(clock.sign_seconds)
        refusal = self._refusal
        if clock.pre_filter_seconds:
            points["PreFilter", status_label(refusal), profile].observe(clock.pre_filter_seconds)
        if refusal is not None:
            self._failed_at["PreFilter", profile] += 1
        else:
            seconds = self._evaluated - self._began - clock.sign_seconds - clock.pre_filter_seconds
            points["Filter", SUCCESS, profile].observe(seconds)
        if isinstance(decision, Scheduled) and decision.feasible_nodes > 1:
            seconds, status = attempt.points.pop("PreScore", (0.0, SUCCESS)) if attempt.points else (0.0, SUCCESS)
            if seconds:
                points["PreScore", status, profile].observe(seconds)
            points["Score", SUCCESS, profile].observe(chosen - self._evaluated - seconds)

    def _observe_broken_phase(self, decision: Scheduled | Unschedulable | Failed, seconds: float) -> None:
        """Observe the phase in which a plugin failed, so that the evaluation did not end."""
        if not isinstance(decision, Failed):
            return
        points, status = self._metrics.point_seconds, decision.status
        is_filter = status.message.startswith(fault_prefix("Filter", status.plugin))
        if is_filter or status.message.startswith(fault_prefix("PreFilter", status.plugin)):
            points["Filter" if is_filter else "PreFilter", FAILED, decision.profile].observe(seconds)
            self._failed_at["PreFilter", decision.profile] += not is_filter

    def _count_preemption(self, decision: Unschedulable) -> None:
        outcome = decision.post_filter
        if outcome is None:
            return
        report = outcome.result.report if outcome.result is not None else None
        if isinstance(report, PreemptionReport) or outcome.status.plugin == DefaultPreemption.name:
            self._metrics.preemption_attempts.inc()
        candidate = report.choice.candidate if isinstance(report, PreemptionReport) and report.choice else None
        # As upstream, an asynchronous preemption counts only if it has victims to delete.
        if candidate is not None and (candidate.victims_to_delete or not self._preempts_in_background):
            self._metrics.preemption_victims.observe(len(candidate.victims))

    def preempted(self, succeeded: bool, seconds: float) -> None:
        """Count a preemption that was executed or failed."""
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
        if status == FAILED and (plugin, point) in VOLUME_STAGES:
            self._metrics.volume_stage_errors[(VOLUME_STAGES[plugin, point],)].inc()
        if attempt.is_sampled:
            self._metrics.plugin_seconds[plugin, point, status].observe(seconds)

    def _draws_sample(self) -> bool:
        return self._chance() < SAMPLED_SHARE

    @property
    def is_sampled(self) -> bool:
        return self.phase_clock.is_sampled

    def report_plugin(self, plugin: str, point: str, answer: object, seconds: float) -> None:
        status = SUCCESS if answer is None else status_label(answer)
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
        if attempt.queued is None:  # cancelled within the cycle
            attempt.started = self._began
        rejected = isinstance(decision, Unschedulable) or decision.status.is_rejected
        self._end_wait(attempt, perf_counter(), (Code.UNSCHEDULABLE if rejected else Code.ERROR).label)
        self._end(queued.uid, attempt, UNSCHEDULABLE if rejected else ERROR, decision.profile)

    def _end(self, uid: str, attempt: Attempt, result: str, profile: str) -> None:
        metrics = self._metrics
        metrics.attempts[result, profile].inc()
        metrics.attempt_seconds[result, profile].observe(perf_counter() - attempt.started)
        if result != SCHEDULED:
            _add_passed_points(attempt.points)
        for point, (seconds, status) in attempt.points.items():
            metrics.point_seconds[point, status, profile].observe(seconds)
            if result != SCHEDULED:
                self._failed_at[point, profile] += 1
        del self._open[uid]

    def count_passed_points(self) -> None:
        """Add the pods for which no plugin ran at a point, with a duration of zero."""
        for (result, profile), attempts in list(self._metrics.attempts.items()):
            refused = self._failed_at["PreFilter", profile]
            self._fill("PreFilter", SUCCESS, profile, self._observed("Filter", profile) + refused)
            self._fill("PreScore", SUCCESS, profile, self._observed("Score", profile))
            for point, status in _BINDING_POINTS.items() if result == SCHEDULED else ():
                self._fill(point, status, profile, attempts.value + self._failed_at[point, profile])

    def _fill(self, point: str, status: str, profile: str, due: int) -> None:
        missing = due - self._observed(point, profile)
        if missing > 0:
            self._metrics.point_seconds[point, status, profile].counts[0] += missing

    def _observed(self, point: str, profile: str) -> int:
        series = self._metrics.point_seconds.items()
        return sum(sum(one.counts) for key, one in list(series) if key[0] == point and key[2] == profile)

    def _end_wait(self, attempt: Attempt, at: float, result: str) -> None:
        if attempt.waits_since is not None:
            self._metrics.permit_wait_seconds[(result,)].observe(at - attempt.waits_since)
            attempt.waits_since = None

    def _attempt(self, uid: str) -> Attempt:
        attempt = self._open.get(uid)
        if attempt is None:
            attempt = self._open[uid] = Attempt(self.phase_clock.is_sampled)
        return attempt


def _add_passed_points(points: dict[str, tuple[float, str]]) -> None:
    """Add the points that a failed attempt passed without a plugin, and Unreserve."""
    order = list(_BINDING_POINTS)
    reached = max((order.index(point) for point in points if point in _BINDING_POINTS), default=-1)
    for point in order[: max(reached, 0)]:
        points.setdefault(point, (0.0, _BINDING_POINTS[point]))
    if reached >= 0:
        points.setdefault("Unreserve", (0.0, SUCCESS))


def _failed_to_find_volumes(decision: Failed) -> bool:
    return decision.status.message.startswith(fault_prefix("Filter", VOLUME_BINDING))


def attempts_label(attempts: int) -> str:
    return str(attempts) if attempts < MAX_ATTEMPTS else f"{MAX_ATTEMPTS}+"


# -- state, and the text of all metrics --------------------------------------------------------------------------------


class Exposition:
    """Renders one scheduler's metrics."""

    def __init__(
        self,
        metrics: Metrics,
        measuring: AttemptMetrics,
        scheduler: Scheduler,
        refreshers: Sequence[Callable[[], None]] = (),
        is_leading: Callable[[], bool] = lambda: True,
    ) -> None:
        """`refreshers` update the host's metrics on every scrape. Unless `is_leading`, no waiting
        pods are shown: on a standby all are in activeQ, and sums over replicas are to be the
        leader's."""
        self._is_leading = is_leading
        self._metrics = metrics
        self._measuring = measuring
        self._scheduler = scheduler
        self._refreshers = refreshers
        self._causes = AttemptCauses(scheduler)
        scheduler.observe(self._causes)
        self._incoming = ExternalCounters(metrics.incoming_pods)

    def text(self) -> Iterator[bytes]:
        """Yield the metrics as last refreshed, family by family. Thread-safe."""
        return texts_of(self._metrics.registry)

    def refresh(self) -> None:
        """Copy sizes and counts; call it in the scheduling loop."""
        for refresh in self._refreshers:
            refresh()
        self._refresh_queue()
        self._refresh_causes()
        self._refresh_in_flight()
        self._refresh_cache()
        scheduler = self._scheduler
        self._measuring.count_passed_points()
        self._measuring.evaluations.export(self._metrics, scheduler.profiles, scheduler.cache.nodes.node_count)
        self._metrics.tasks[("binding",)].set(self._measuring.open_attempts)

    def _refresh_queue(self) -> None:
        pending, sizes, leads = self._metrics.pending_pods, self._scheduler.queue.statistics(), self._is_leading()
        pending[("active",)].set(sizes.active * leads)
        pending[("backoff",)].set((sizes.backoff + sizes.error_backoff) * leads)
        pending[("unschedulable",)].set(sizes.unschedulable * leads)
        pending[("gated",)].set(sizes.gated * leads)
        counts = self._scheduler.queue.metrics
        if isinstance(counts, CountingQueueMetrics):
            self._incoming.update(counts.entered.items(), leads)
            for rejection, number in counts.rejections.items():
                self._metrics.unschedulable_pods[rejection].set(number * leads)

    def _refresh_causes(self) -> None:
        """Update the causes; those without waiting pods become 0."""
        gauges = self._metrics.pending_causes
        counted = self._causes.counts() if self._is_leading() else Counter[CauseCode]()
        for label in {*map(str, counted), *(known for (known,) in gauges)}:
            gauges[(label,)].set(counted[CauseCode(label)])

    def _refresh_in_flight(self) -> None:
        """Update the in-flight events; labels without events become 0."""
        gauges = self._metrics.in_flight_events
        kept = Counter(_in_flight_label(entry) for entry in self._scheduler.queue.in_flight_log())
        for label in {*kept, *(known for (known,) in gauges)}:
            gauges[(label,)].set(kept[label])

    def _refresh_cache(self) -> None:
        sizes, cache = self._metrics.cache_size, self._scheduler.cache
        sizes[("nodes",)].set(cache.nodes.node_count)
        sizes[("pods",)].set(cache.pod_count)
        sizes[("assumed_pods",)].set(cache.assumed_count)
        for table, entries in self._scheduler.cache_sizes().items():
            self._metrics.kept_entries[(table.replace(" ", "_"),)].set(entries)


def _in_flight_label(entry: QueuedPodInfo | RecordedEvent) -> str:
    return POPPED if isinstance(entry, QueuedPodInfo) else entry.event.label
