# SPDX-License-Identifier: Apache-2.0
"""Observers that convert decisions and bindings, simulated or live, to record bodies."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from steersman.base.graph_copy import copied_attributes, no_value
from steersman.framework import PodInfo
from steersman.record.frames import BindingBody, DecisionBody, Frame, FrameKind, encoded
from steersman.scheduler.assembly import AttemptObserver
from steersman.scheduler.cycle import Decision, Dropped, Failed, Postponed, Scheduled, Unschedulable
from steersman.scheduler.diagnosis import Outcome
from steersman.scheduler.engine import DigestedTotals, Evaluation
from steersman.scheduler.preemption import PreemptionReport
from steersman.scheduler.queue import QueuedPodInfo

Tell = Callable[[DecisionBody | BindingBody], None]


@copied_attributes(_tell=no_value, _now=no_value, _evaluation=no_value, _evaluated=no_value)
class DecisionObserver(AttemptObserver):
    """Observer that passes every decision and binding to `tell`. Copies in forks report nothing."""

    def __init__(self, now: Callable[[], float], tell: Tell) -> None:
        """`now` returns the Unix time of a decision."""
        self._now: Callable[[], float] | None = now
        self._tell: Tell | None = tell
        #: The last evaluation, and its pod.
        self._evaluation: Evaluation | None = None
        self._evaluated: PodInfo | None = None
        self._last: Decision | None = None

    def evaluated(self, pod: PodInfo, evaluation: Evaluation) -> None:
        self._evaluated, self._evaluation = pod, evaluation

    def decided(self, queued: QueuedPodInfo, decision: Decision) -> None:
        evaluation, self._evaluation = self._evaluation, None
        if self._tell is None or self._now is None or isinstance(decision, Postponed):
            return
        self._last = decision
        totals = None
        if evaluation is not None and isinstance(decision, Scheduled) and self._evaluated is decision.pod:
            totals = evaluation.digested_totals(decision.choice.node)
        self._tell(decision_body(decision, self._now(), queued.attempts, totals))

    def placed(
        self, queued: Sequence[QueuedPodInfo], decisions: Sequence[Scheduled], totals: Sequence[DigestedTotals | None]
    ) -> None:
        if self._tell is not None and self._now is not None:
            for pod, decision, digested in zip(queued, decisions, totals, strict=True):
                self._tell(decision_body(decision, self._now(), pod.attempts, digested))

    def failed(self, queued: QueuedPodInfo, decision: Unschedulable | Failed) -> None:
        if self._tell is not None and decision is not self._last:  # reported by `decided`
            self._tell(BindingBody(queued.key, queued.uid, "", decision.message))

    def bound(self, decision: Scheduled) -> None:
        if self._tell is not None:
            self._tell(BindingBody(decision.pod.key, decision.pod.uid, decision.node))


@copied_attributes(_tell=no_value, _now=no_value, _evaluation=no_value, _evaluated=no_value, _collected=no_value)
class DecisionCollector(DecisionObserver):
    """Observer that collects decisions. Copies in forks collect nothing."""

    def __init__(self, now: Callable[[], float]) -> None:
        super().__init__(now, self._collect)
        self._collected: list[DecisionBody] = []

    def _collect(self, body: DecisionBody | BindingBody) -> None:
        if isinstance(body, DecisionBody):
            self._collected.append(body)

    def take(self) -> list[DecisionBody]:
        """Return the decisions since the last call."""
        collected, self._collected = self._collected, []
        return collected


def decision_body(
    decision: Scheduled | Unschedulable | Failed | Dropped, at: float, attempt: int, totals: DigestedTotals | None
) -> DecisionBody:
    """Return the decision for the record."""
    pod = decision.pod
    if isinstance(decision, Scheduled):
        choice = decision.choice
        return DecisionBody(
            pod.key,
            pod.uid,
            pod.scheduler_name,
            Outcome.SCHEDULED,
            at,
            choice.node,
            choice.ties,
            decision.feasible_nodes,
            attempt=attempt,
            total=None if totals is None else totals.total,
            digest="" if totals is None else totals.digest,
        )
    if isinstance(decision, Unschedulable):
        plugins = decision.diagnosis.unschedulable_plugins | decision.diagnosis.pending_plugins
        return DecisionBody(
            pod.key,
            pod.uid,
            pod.scheduler_name,
            Outcome.UNSCHEDULABLE,
            at,
            message=decision.message,
            rejected_by=tuple(sorted(plugins)),
            attempt=attempt,
            nominated_node="" if decision.nomination is None else decision.nomination.node,
            victims=_victims(decision),
        )
    outcome = Outcome.ERROR if isinstance(decision, Failed) else Outcome.NOT_TRIED
    message = decision.message if isinstance(decision, Failed) else decision.reason
    return DecisionBody(pod.key, pod.uid, pod.scheduler_name, outcome, at, message=message, attempt=attempt)


def decision_frame(body: DecisionBody | BindingBody, time: float, number: int = -1) -> Frame:
    """Return the frame of a decision or binding, indexed by its pod, nodes and victims."""
    kind = FrameKind.DECISION if isinstance(body, DecisionBody) else FrameKind.BINDING
    return encoded(kind, time, body, subjects_of(body), number)


def subjects_of(body: DecisionBody | BindingBody) -> tuple[str, ...]:
    """Return the subjects of a decision or binding."""
    own = (f"pod/{body.pod}", f"node/{body.node}") if body.node else (f"pod/{body.pod}",)
    if isinstance(body, BindingBody) or not (body.nominated_node or body.victims):
        return own
    nominated = (f"node/{body.nominated_node}",) if body.nominated_node else ()
    return (*own, *nominated, *(f"pod/{victim}" for victim in body.victims))


def _victims(decision: Unschedulable) -> tuple[str, ...]:
    result = None if decision.post_filter is None else decision.post_filter.result
    report = None if result is None else result.report
    if not isinstance(report, PreemptionReport) or report.choice is None:
        return ()
    return tuple(victim.key for victim in report.choice.candidate.victims_to_delete)
