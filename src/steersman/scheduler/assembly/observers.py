# SPDX-License-Identifier: Apache-2.0
"""Observers of a scheduler: metrics, logs, decision records, explanations. They change nothing.

    begins ─► evaluated ─► decided ─► carried out          the scheduling cycle
                              └────────► bound, or failed  the attempt, which may end later
    placed ─► bound, or failed, each ─► all carried out    replicas that are scheduled together

An `AttemptObserver` defines the methods that it needs; `Scheduler.observe` attaches it.
`Instruments` are built in when a scheduler is created: they count in the queue and time single
plugins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from steersman.base import InternalErrors
from steersman.framework import PodInfo
from steersman.scheduler.cycle.decision import Decision, Failed, Scheduled, Unschedulable
from steersman.scheduler.cycle.group_decision import GroupCycle
from steersman.scheduler.engine.evaluation import Evaluation
from steersman.scheduler.engine.phase_clock import PhaseClock
from steersman.scheduler.engine.totals_digest import DigestedTotals
from steersman.scheduler.queue import QueuedPodInfo, QueueMetrics
from steersman.scheduler.runtime.profile import Profile

OBSERVER = "observer"


class AttemptObserver:
    """Observes scheduling attempts. Subclasses define the methods they need; others are not
    called."""

    def begins(self) -> None:
        """Called before the next pod is taken from the queue."""

    def evaluated(self, pod: PodInfo, evaluation: Evaluation) -> None:
        """Called after PreFilter and Filter, before anything is assumed. The evaluation computes
        other values on demand."""

    def decided(self, queued: QueuedPodInfo, decision: Decision) -> None:
        """Called at the end of the cycle; `bound` or `failed` follows unless the pod was dropped or
        postponed."""

    def group_cycle(self, cycle: GroupCycle) -> None:
        """Called after the cycle of a group, before `decided` for each of its members."""

    def carried_out(self, decision: Decision) -> None:
        """Called after the decision was carried out, or binding has started. After an internal
        error the decision is that error."""

    def placed(
        self, queued: Sequence[QueuedPodInfo], decisions: Sequence[Scheduled], totals: Sequence[DigestedTotals | None]
    ) -> None:
        """Called for replicas that were scheduled together, with the digests of their totals,
        instead of the calls for single pods. Replicas are scheduled together only if all observers
        implement this."""

    def all_carried_out(self) -> None:
        """Called when all replicas scheduled together are bound or have failed."""

    def failed(self, queued: QueuedPodInfo, decision: Unschedulable | Failed) -> None:
        """Called when an attempt fails, in the scheduling cycle or in the binding cycle."""

    def bound(self, decision: Scheduled) -> None:
        """Called after the API server has accepted the binding and PostBind plugins have run."""


class EvaluationObserver(AttemptObserver):
    """Passes every evaluation to a function."""

    def __init__(self, see: Callable[[PodInfo, Evaluation], None]) -> None:
        self._see = see

    def evaluated(self, pod: PodInfo, evaluation: Evaluation) -> None:
        self._see(pod, evaluation)


class Instruments(Protocol):
    """Metrics that are built into a scheduler at its creation."""

    @property
    def queue_metrics(self) -> QueueMetrics: ...

    def instrumented(self, profile: Profile) -> Profile:
        """Return the profile with timed calls of the same plugins in the same order."""

    @property
    def observer(self) -> AttemptObserver: ...

    @property
    def phase_clock(self) -> PhaseClock: ...


Hook = Callable[..., None]


class Observers:
    """All observers of one scheduler. If there are `internal_errors`, an exception of one affects
    neither the others nor the pod."""

    def __init__(self, internal_errors: InternalErrors | None) -> None:
        self._internal_errors = internal_errors
        #: In call order.
        self.all: tuple[AttemptObserver, ...] = ()
        self._begins: Sequence[Hook] = ()
        self._evaluated: Sequence[Hook] = ()
        self._decided: Sequence[Hook] = ()
        self._group_cycle: Sequence[Hook] = ()
        self._carried_out: Sequence[Hook] = ()
        self._failed: Sequence[Hook] = ()
        self._bound: Sequence[Hook] = ()
        self._placed: Sequence[Hook] = ()
        self._all_carried_out: Sequence[Hook] = ()
        #: Called with every evaluation, if any observer wants it.
        self.on_evaluated: Callable[[PodInfo, Evaluation], None] | None = None

    def add(self, observer: AttemptObserver) -> None:
        self.all = (*self.all, observer)
        self._begins = self._hooks_for("begins")
        self._evaluated = self._hooks_for("evaluated")
        self._decided = self._hooks_for("decided")
        self._group_cycle = self._hooks_for("group_cycle")
        self._carried_out = self._hooks_for("carried_out")
        self._failed = self._hooks_for("failed")
        self._bound = self._hooks_for("bound")
        self._placed = self._hooks_for("placed")
        self._all_carried_out = self._hooks_for("all_carried_out")
        self.on_evaluated = self._notify_evaluated if self._evaluated else None

    @property
    def support_replicas(self) -> bool:
        """Whether all observers support replicas that are scheduled together."""
        return len(self._placed) == len(self.all)

    def placed(
        self, queued: Sequence[QueuedPodInfo], decisions: Sequence[Scheduled], totals: Sequence[DigestedTotals | None]
    ) -> None:
        self._notify(self._placed, queued[0].key, queued, decisions, totals)

    def all_carried_out(self) -> None:
        self._notify(self._all_carried_out, "replicas")

    def begins(self) -> None:
        self._notify(self._begins, "the next pod")

    def decided(self, queued: QueuedPodInfo, decision: Decision) -> None:
        self._notify(self._decided, queued.key, queued, decision)

    def group_cycle(self, cycle: GroupCycle) -> None:
        self._notify(self._group_cycle, str(cycle.group), cycle)

    def carried_out(self, decision: Decision) -> None:
        self._notify(self._carried_out, decision.pod.key, decision)

    def failed(self, queued: QueuedPodInfo, decision: Unschedulable | Failed) -> None:
        self._notify(self._failed, queued.key, queued, decision)

    def bound(self, decision: Scheduled) -> None:
        self._notify(self._bound, decision.pod.key, decision)

    def _notify_evaluated(self, pod: PodInfo, evaluation: Evaluation) -> None:
        self._notify(self._evaluated, pod.key, pod, evaluation)

    def _hooks_for(self, name: str) -> list[Hook]:
        nothing = getattr(AttemptObserver, name)
        return [getattr(one, name) for one in self.all if getattr(type(one), name) is not nothing]

    def _notify(self, hooks: Sequence[Hook], pod: str, *given: Any) -> None:
        for hook in hooks:
            try:
                hook(*given)
            except Exception as error:
                if self._internal_errors is None:
                    raise
                self._internal_errors.survived(OBSERVER, f"Pod {pod}", error)
