# SPDX-License-Identifier: Apache-2.0
"""The last decisions of a scheduler: a ring of short records, and explanations on demand.

Observes a scheduler, for `/debug/decisions`. A record is a small object without references to pods,
states or evaluations. An explanation has the *current* verdicts of nodes and plugins.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from steersman.scheduler.assembly import AttemptObserver, Scheduler
from steersman.scheduler.cycle import Decision, Dropped, Failed, Postponed, Scheduled, Unschedulable
from steersman.scheduler.diagnosis import Explanation, Outcome, explain_now

DEFAULT_CAPACITY: Final = 4096
_replace = msgspec.structs.replace


class DecisionRecord(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Summary of one decision."""

    pod: str
    uid: str
    profile: str
    outcome: Outcome
    #: Seconds since the Unix epoch.
    at: float
    node: str = ""
    #: Number of nodes with the best score, and number of feasible nodes.
    ties: int = 0
    feasible_nodes: int = 0
    message: str = ""
    #: Plugins that reject the pod.
    rejected_by: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return plain


class DecisionLog(AttemptObserver):
    """The latest `capacity` decisions of one scheduler."""

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
        """Add decisions made elsewhere, oldest first."""
        self._ring.extend(records)

    def decisions_on(self, pod: str) -> list[DecisionRecord]:
        """Return the recorded decisions on the pod `namespace/name`, latest first."""
        return [record for record in reversed(self._ring) if record.pod == pod]

    def recent(self, count: int) -> list[DecisionRecord]:
        """Return at most `count` decisions, latest first."""
        return [record for record, _ in zip(reversed(self._ring), range(count), strict=False)]

    def explain(self, pod: str) -> Explanation | None:
        """Explain the pod now; None if it does not exist or has another scheduler."""
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
