# SPDX-License-Identifier: Apache-2.0
"""The last decisions of a scheduler: a bounded ring of short records, and explanations made when somebody asks.

Observes a scheduler; `/debug/decisions` shows it. A record costs a small object and keeps no
reference to pods, states or evaluations. An explanation says what every node and plugin say *now*.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from steersman import api
from steersman.assembly import AttemptObserver, Scheduler
from steersman.cycle.decision import Decision, Dropped, Failed, Postponed, Scheduled, Unschedulable
from steersman.cycle.diagnosis import NO_NODES_MESSAGE, diagnose
from steersman.engine.evaluation import Evaluation
from steersman.engine.scalar import ScalarEvaluation
from steersman.explain import Explanation, Outcome, explain
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_info import PodInfo
from steersman.framework.postponement import CyclePostponed
from steersman.framework.status import CycleAborted
from steersman.runtime.profile import Profile

DEFAULT_CAPACITY: Final = 4096
TAKES_TOO_LONG: Final = "the search for devices takes too long to be explained beside the scheduling"
BEING_DELETED: Final = "the pod is being deleted"
_replace = msgspec.structs.replace


class DecisionRecord(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One decision, in short."""

    pod: str
    uid: str
    profile: str
    outcome: Outcome
    #: Wall-clock seconds since the Unix epoch.
    at: float
    node: str = ""
    #: How many nodes had the best score, and how many fitted at all.
    ties: int = 0
    feasible_nodes: int = 0
    message: str = ""
    #: Plugins that stand in the way.
    rejected_by: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return plain


class DecisionLog(AttemptObserver):
    """The latest decisions of one scheduler; `capacity` records are kept."""

    def __init__(self, scheduler: Scheduler, capacity: int = DEFAULT_CAPACITY) -> None:
        self._scheduler = scheduler
        self._ring: deque[DecisionRecord] = deque(maxlen=capacity)

    def __len__(self) -> int:
        return len(self._ring)

    def carried_out(self, decision: Decision) -> None:
        if isinstance(decision, Postponed):
            return
        self._ring.append(record_of(decision, self._scheduler.clock.now()))

    def extend(self, records: Iterable[DecisionRecord]) -> None:
        """Decisions that were made elsewhere, oldest first."""
        self._ring.extend(records)

    def of(self, pod: str) -> list[DecisionRecord]:
        """The decisions on the pod with that namespace/name that are still known, latest first."""
        return [record for record in reversed(self._ring) if record.pod == pod]

    def recent(self, count: int) -> list[DecisionRecord]:
        """Latest first."""
        return [record for record, _ in zip(reversed(self._ring), range(count), strict=False)]

    def explain(self, pod: str) -> Explanation | None:
        """An explanation of the pod as things are now; None when there is no such pod, or it is another scheduler's."""
        current = self._scheduler.pods.get(pod)
        return None if current is None else explain_now(self._scheduler, current)


def record_of(decision: Scheduled | Unschedulable | Failed | Dropped, at: float) -> DecisionRecord:
    pod = decision.pod
    record = DecisionRecord(pod.key, pod.uid, pod.scheduler_name, Outcome.NOT_TRIED, at)
    if isinstance(decision, Scheduled):
        choice, fitted = decision.choice, decision.feasible_nodes
        return _replace(record, outcome=Outcome.SCHEDULED, node=choice.node, ties=choice.ties, feasible_nodes=fitted)
    if isinstance(decision, Unschedulable):
        plugins = decision.diagnosis.unschedulable_plugins | decision.diagnosis.pending_plugins
        rejected_by = tuple(sorted(plugins))
        return _replace(record, outcome=Outcome.UNSCHEDULABLE, message=decision.message, rejected_by=rejected_by)
    if isinstance(decision, Failed):
        return _replace(record, outcome=Outcome.ERROR, message=decision.message)
    return _replace(record, message=decision.reason)


def explain_now(scheduler: Scheduler, pod: api.Pod) -> Explanation | None:
    """Explains the pod by the plain engine, so that nothing changes by it. A pod that has a node is taken as if it had none."""
    info = scheduler.cache.shapes.info(_replace(pod, spec=_replace(pod.spec, node_name="")))
    profile = scheduler.profiles.get(info.scheduler_name)
    if profile is None:
        return None
    with scheduler.cache.without(info.uid):
        return _explained(scheduler, profile, info, pod.spec.node_name)


def _explained(scheduler: Scheduler, profile: Profile, pod: PodInfo, placed: str) -> Explanation:
    """`placed` is the node that the pod has, which is not looked at; "": none."""
    table = scheduler.cache.nodes
    nodes: dict[str, NodeInfo] = {table.names[row]: table.info(row) for row in table.live_rows()}
    try:
        evaluation = ScalarEvaluation(profile, pod, nodes, scheduler.nominations().by_node)
        explanation = explain(profile, pod, evaluation, list(nodes.values()))
    except CyclePostponed as postponed:
        postponed.work.close()
        return Explanation(pod.key, profile.name, Outcome.ERROR, message=TAKES_TOO_LONG)
    except CycleAborted as abort:
        return Explanation(pod.key, profile.name, Outcome.ERROR, message=abort.status.message)
    if placed:
        return _replace(explanation, node=placed, outcome=Outcome.SCHEDULED)
    if explanation.outcome is not Outcome.UNDECIDED:
        return explanation
    return _foreseen(profile, pod, evaluation, explanation)


def _foreseen(profile: Profile, pod: PodInfo, evaluation: Evaluation, explanation: Explanation) -> Explanation:
    """The explanation of a pending pod with what its cycle would come to now. Whether making room would help is not asked."""
    held_back = _held_back(profile, pod)
    if held_back:
        return _replace(explanation, outcome=Outcome.NOT_TRIED, message=held_back)
    if evaluation.feasible_count:
        table = evaluation.scores()
        best = evaluation.feasible() if table is None else table.best()
        return _replace(explanation, node=best[0], ties=len(best))
    count = len(explanation.nodes)
    message = diagnose(evaluation, count).message() if count else NO_NODES_MESSAGE
    return _replace(explanation, outcome=Outcome.UNSCHEDULABLE, message=message)


def _held_back(profile: Profile, pod: PodInfo) -> str:
    """Why the pod is not tried at all; "" when it is."""
    if pod.is_terminating:
        return BEING_DELETED
    for call in profile.pre_enqueue:
        status = call.run(pod)
        if status is not None:
            return f"held back by {call.name}: {status.message}"
    return ""
