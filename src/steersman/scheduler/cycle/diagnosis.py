# SPDX-License-Identifier: Apache-2.0
"""Why a pod could not be scheduled: the rejecting plugins, and the message of the event.

The text is upstream's: ``0/5 nodes are available: 2 Insufficient cpu, 3 node(s) had untolerated
taint(s). …``.
"""

from __future__ import annotations

from collections import Counter

import msgspec

from steersman.framework import Code, Status
from steersman.scheduler.engine.evaluation import Evaluation, NodeStatuses

NO_NODES_MESSAGE = "no nodes available to schedule pods"


class Diagnosis(msgspec.Struct):
    """Reasons for the failure of one cycle."""

    all_nodes: int
    statuses: NodeStatuses
    unschedulable_plugins: frozenset[str]
    pending_plugins: frozenset[str]
    pre_filter_message: str = ""
    post_filter_message: str = ""

    def message(self) -> str:
        parts = [f"0/{self.all_nodes} nodes are available:"]
        if self.pre_filter_message:
            parts.append(f"{self.pre_filter_message}.")
        else:
            reasons = reason_histogram(self.statuses, self.all_nodes)
            if reasons:
                parts.append(f"{', '.join(reasons)}.")
        if self.post_filter_message:
            parts.append(self.post_filter_message)
        return " ".join(parts)


def diagnose(evaluation: Evaluation, all_nodes: int) -> Diagnosis:
    """Return the diagnosis of an evaluation without feasible nodes."""
    outcome = evaluation.pre_filter
    statuses = evaluation.statuses()
    unschedulable = set(outcome.restricting)
    pending: set[str] = set()
    for status, _ in statuses.counts():
        _note(status, unschedulable, pending)
    rejected = outcome.status
    if rejected is not None:
        _note(rejected, unschedulable, pending)
    return Diagnosis(
        all_nodes=all_nodes,
        statuses=statuses,
        unschedulable_plugins=frozenset(unschedulable),
        pending_plugins=frozenset(pending),
        pre_filter_message=rejected.message if rejected is not None else "",
    )


def reason_histogram(statuses: NodeStatuses, all_nodes: int) -> list[str]:
    """Return ``<count> <reason>`` for each reason, sorted as text."""
    reasons: Counter[str] = Counter()
    for status, count in statuses.counts():
        for reason in status.reasons:
            reasons[reason] += count
    examined = len(statuses)
    if statuses.absent is not None and examined < all_nodes:
        for reason in statuses.absent.reasons:
            reasons[reason] += all_nodes - examined
    return sorted(f"{count} {reason}" for reason, count in reasons.items())


def _note(status: Status, unschedulable: set[str], pending: set[str]) -> None:
    if not status.plugin:
        return
    if status.is_rejected:
        unschedulable.add(status.plugin)
    if status.code is Code.PENDING:
        pending.add(status.plugin)
