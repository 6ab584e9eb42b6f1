# SPDX-License-Identifier: Apache-2.0
"""Scheduling cycles of pod groups in the format of the corpus: attempts and choices of a cycle.

`cycle_document` turns a `GroupCycle`, which observers of the scheduler receive, into JSON. The
results of the members come from the writes of the scheduler: bindings and PodScheduled conditions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steersman.framework import GroupKey, GroupKind, Status
from steersman.scheduler.cycle import GroupAttempt, GroupCycle, GroupPreemption, PlacementChoice
from steersman.scheduler.preemption import GroupPreemptionReport

Document = dict[str, Any]


def cycle_document(cycle: GroupCycle, pods: Sequence[Document], conditions: Mapping[str, Document | None]) -> Document:
    """Return the cycle with the results of its members and the conditions of its leaf groups by
    name."""
    is_tree = cycle.group.kind is GroupKind.COMPOSITE
    document: Document = {
        "entity": cycle.group.kind.value,
        "group": name_of(cycle.group),
        "outcome": cycle.outcome.value,
        "attempts": [_attempt_document(attempt, is_tree) for attempt in cycle.attempts],
        "pods": list(pods),
    }
    if cycle.preemption is not None:
        document["preemption"] = _preemption_document(cycle.preemption, is_tree)
    if is_tree:
        known = [(name_of(leaf), conditions.get(name_of(leaf))) for leaf in cycle.leaves]
        document["conditions"] = [{"group": group, "condition": condition} for group, condition in known if condition]
        return document | _tree_choices(cycle)
    if condition := conditions.get(name_of(cycle.group)):
        document["condition"] = condition
    return document | _choice(cycle)


def status_document(status: Status | None) -> Document:
    """Return the status without empty parts."""
    if status is None:
        return {"code": "Success"}
    parts = {"code": status.code.label, "plugin": status.plugin, "reasons": list(status.reasons)}
    return {name: part for name, part in parts.items() if part}


def name_of(group: GroupKey) -> str:
    return f"{group.namespace}/{group.name}"


def _attempt_document(attempt: GroupAttempt, is_tree: bool) -> Document:
    document: Document = {"group": name_of(attempt.group)} if is_tree else {}
    if attempt.placement is not None:
        document.update(placement=attempt.placement.name, nodes=sorted(attempt.placement.node_names))
    if attempt.group.kind is GroupKind.POD_GROUP:
        document["pods"] = [{"pod": pod, "node": node} if node else {"pod": pod} for pod, node in attempt.members]
    return {**document, "status": status_document(attempt.status)}


def _choice(cycle: GroupCycle) -> Document:
    document: Document = {}
    if cycle.placement_statuses:
        document["placementStatus"] = status_document(cycle.placement_statuses[0][1])
    if cycle.placement is not None:
        document["placement"] = cycle.placement
    if cycle.choices:
        document["placementScores"] = _scores_document(cycle.choices[0])
    return document


def _tree_choices(cycle: GroupCycle) -> Document:
    document: Document = {}
    if cycle.placement_statuses:
        document["placementStatuses"] = [
            {"group": name_of(group), "status": status_document(status)} for group, status in cycle.placement_statuses
        ]
    if cycle.choices:
        document["choices"] = [
            {"group": name_of(choice.group), "placement": choice.placement, **_scores_document(choice)}
            for choice in cycle.choices
        ]
    return document


def _scores_document(choice: PlacementChoice) -> Document:
    plugins = [
        {"name": one.name, "weight": one.weight, "raw": dict(one.raw), "norm": dict(one.normalised)}
        for one in choice.plugins
    ]
    return {"plugins": plugins, "total": dict(choice.total)}


def _preemption_document(preemption: GroupPreemption, is_tree: bool) -> Document:
    document: Document = {"status": status_document(preemption.status)}
    if preemption.attempts:
        document["attempts"] = [_attempt_document(attempt, is_tree) for attempt in preemption.attempts]
    report = None if preemption.result is None else preemption.result.report
    if isinstance(report, GroupPreemptionReport):
        document.update(
            victims=sorted(pod.key for pod in report.victims),
            pdbViolations=report.pdb_violations,
            groupsDisrupted=report.groups_disrupted,
            nominated=dict(report.nominated),
        )
    return document
