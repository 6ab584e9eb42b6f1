# SPDX-License-Identifier: Apache-2.0
"""Observers of a scheduler at work: metrics, logs, decision records, explanations. They see everything and change nothing.

    begins ─► evaluated ─► decided ─► carried out          the scheduling cycle
                              └────────► bound, or failed  the attempt, which may end later
    placed ─► bound, or failed, each ─► all carried out    replicas that are placed together

An `AttemptObserver` says what it wants to be told by defining the method; `Scheduler.observe` attaches it. `Instruments` are
built in when a scheduler is made: they count in the queue and time single plugins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from steersman.cycle.decision import Decision, Failed, Scheduled, Unschedulable
from steersman.engine.evaluation import Evaluation
from steersman.engine.totals_digest import DigestedTotals
from steersman.framework.pod_info import PodInfo
from steersman.internal_errors import InternalErrors
from steersman.queue import QueuedPodInfo, QueueMetrics
from steersman.runtime.profile import Profile

OBSERVER = "observer"


class AttemptObserver:
    """Follows the attempts to schedule pods. Whatever is not defined is not told."""

    def begins(self) -> None:
        """The next pod is about to be taken from the queue, if there is one."""

    def evaluated(self, pod: PodInfo, evaluation: Evaluation) -> None:
        """PreFilter and Filter have ended, and nothing is assumed yet. The evaluation works out what it is asked for."""

    def decided(self, queued: QueuedPodInfo, decision: Decision) -> None:
        """The cycle has ended; `bound` or `failed` follows unless the pod was dropped or its cycle postponed."""

    def carried_out(self, decision: Decision) -> None:
        """The decision has been carried out, or that has begun. After an internal error the decision is that error."""

    def placed(
        self, queued: Sequence[QueuedPodInfo], decisions: Sequence[Scheduled], totals: Sequence[DigestedTotals | None]
    ) -> None:
        """Replicas have got nodes, one after the other, by these totals. Told instead of what is told of a scheduling cycle.
        Replicas are placed together only where all observers want to be told so."""

    def all_carried_out(self) -> None:
        """All replicas that were placed are bound, or have failed."""

    def failed(self, queued: QueuedPodInfo, decision: Unschedulable | Failed) -> None:
        """The attempt has failed, in the scheduling cycle or in the binding cycle."""

    def bound(self, decision: Scheduled) -> None:
        """The API server has the binding, and PostBind plugins have been told."""


class EvaluationObserver(AttemptObserver):
    """Hands every evaluation to a function."""

    def __init__(self, see: Callable[[PodInfo, Evaluation], None]) -> None:
        self._see = see

    def evaluated(self, pod: PodInfo, evaluation: Evaluation) -> None:
        self._see(pod, evaluation)


class Instruments(Protocol):
    """Measuring devices that a scheduler is made with."""

    @property
    def queue_metrics(self) -> QueueMetrics: ...

    def instrumented(self, profile: Profile) -> Profile:
        """The profile with calls that are timed: the same plugins in the same order."""

    @property
    def observer(self) -> AttemptObserver: ...


Hook = Callable[..., None]


class Observers:
    """All observers of one scheduler. One that breaks disturbs neither the others nor the pod, if errors are survived."""

    def __init__(self, internal_errors: InternalErrors | None) -> None:
        self._internal_errors = internal_errors
        #: In the order in which they are told.
        self.all: tuple[AttemptObserver, ...] = ()
        self._begins: Sequence[Hook] = ()
        self._evaluated: Sequence[Hook] = ()
        self._decided: Sequence[Hook] = ()
        self._carried_out: Sequence[Hook] = ()
        self._failed: Sequence[Hook] = ()
        self._bound: Sequence[Hook] = ()
        self._placed: Sequence[Hook] = ()
        self._all_carried_out: Sequence[Hook] = ()
        #: Told every evaluation; None: nobody wants to know.
        self.on_evaluated: Callable[[PodInfo, Evaluation], None] | None = None

    def add(self, observer: AttemptObserver) -> None:
        self.all = (*self.all, observer)
        self._begins = self._wanting("begins")
        self._evaluated = self._wanting("evaluated")
        self._decided = self._wanting("decided")
        self._carried_out = self._wanting("carried_out")
        self._failed = self._wanting("failed")
        self._bound = self._wanting("bound")
        self._placed = self._wanting("placed")
        self._all_carried_out = self._wanting("all_carried_out")
        self.on_evaluated = self._tell_evaluated if self._evaluated else None

    @property
    def follow_replicas(self) -> bool:
        """Whether all observers want to be told of replicas that are placed together."""
        return len(self._placed) == len(self.all)

    def placed(
        self, queued: Sequence[QueuedPodInfo], decisions: Sequence[Scheduled], totals: Sequence[DigestedTotals | None]
    ) -> None:
        self._tell(self._placed, queued[0].key, queued, decisions, totals)

    def all_carried_out(self) -> None:
        self._tell(self._all_carried_out, "replicas")

    def begins(self) -> None:
        self._tell(self._begins, "the next pod")

    def decided(self, queued: QueuedPodInfo, decision: Decision) -> None:
        self._tell(self._decided, queued.key, queued, decision)

    def carried_out(self, decision: Decision) -> None:
        self._tell(self._carried_out, decision.pod.key, decision)

    def failed(self, queued: QueuedPodInfo, decision: Unschedulable | Failed) -> None:
        self._tell(self._failed, queued.key, queued, decision)

    def bound(self, decision: Scheduled) -> None:
        self._tell(self._bound, decision.pod.key, decision)

    def _tell_evaluated(self, pod: PodInfo, evaluation: Evaluation) -> None:
        self._tell(self._evaluated, pod.key, pod, evaluation)

    def _wanting(self, name: str) -> list[Hook]:
        nothing = getattr(AttemptObserver, name)
        return [getattr(one, name) for one in self.all if getattr(type(one), name) is not nothing]

    def _tell(self, hooks: Sequence[Hook], pod: str, *told: Any) -> None:
        for hook in hooks:
            try:
                hook(*told)
            except Exception as error:
                if self._internal_errors is None:
                    raise
                self._internal_errors.survived(OBSERVER, f"Pod {pod}", error)
