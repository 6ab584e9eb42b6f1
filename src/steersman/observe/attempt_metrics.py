# SPDX-License-Identifier: Apache-2.0
"""Turns what happens to a pod into metrics: when an attempt began, what its phases took, and how it ended.

An observer of the scheduler; `plugin_timing` tells it of plugins. Everything about an attempt that is under way is kept by
the pod's uid, because bindings of many pods overlap.
"""

from __future__ import annotations

from time import perf_counter
from typing import Final

from steersman.assembly.observers import AttemptObserver
from steersman.clock import Clock
from steersman.cycle.decision import Decision, Dropped, Failed, Postponed, Scheduled, Unschedulable
from steersman.engine.evaluation import Evaluation
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Code, fault_prefix
from steersman.observe.evaluations import Evaluations
from steersman.observe.metrics import ERROR, SCHEDULED, UNSCHEDULABLE, Metrics
from steersman.observe.plugin_timing import FAILED, SUCCESS, MeasuredQueueMetrics, timed
from steersman.preemption import DefaultPreemption
from steersman.preemption.candidates import PreemptionReport
from steersman.queue import MICROSECONDS, NEVER, QueuedPodInfo
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
