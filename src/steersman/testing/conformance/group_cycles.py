# SPDX-License-Identifier: Apache-2.0
"""Scheduling cycles of pod groups as the corpus describes them: what a cycle has tried and chosen.

A scheduler reports each cycle of a group as a `GroupCycle`; `cycle_document` turns it into JSON. The results of the
members come from the writes of the scheduler: bindings and PodScheduled conditions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol

import msgspec

from steersman.framework import GroupKey, GroupKind, Placement, Status

Document = dict[str, Any]


class GroupOutcome(StrEnum):
    """Result of a group's cycle."""

    SCHEDULED = "scheduled"
    WAITING_ON_PREEMPTION = "waitingOnPreemption"
    UNSCHEDULABLE = "unschedulable"
    ERROR = "error"


class GroupAttempt(msgspec.Struct, frozen=True):
    """A simulation of one group in one placement."""

    group: GroupKey
    #: None without topology-aware scheduling.
    placement: Placement | None
    #: Names of the members in the order in which they were tried, with the node that was found.
    members: Sequence[tuple[str, str | None]]
    #: Last result of the PlacementFeasible plugins; None is success.
    status: Status | None


class PlacementPluginScores(msgspec.Struct, frozen=True):
    """Scores of one PlacementScore plugin by name of placement."""

    name: str
    weight: int
    raw: Mapping[str, int]
    normalised: Mapping[str, int]


class PlacementChoice(msgspec.Struct, frozen=True):
    """A choice among at least two placements in which a group can be scheduled."""

    group: GroupKey
    placement: str
    plugins: Sequence[PlacementPluginScores]
    total: Mapping[str, int]


class GroupPreemption(msgspec.Struct, frozen=True):
    """Result of the PodGroupPostFilter plugins."""

    status: Status
    #: Simulations without the potential victims.
    attempts: Sequence[GroupAttempt] = ()
    #: Names of the victims; empty without a successful preemption.
    victims: Sequence[str] = ()
    pdb_violations: int = 0
    groups_disrupted: int = 0
    #: Node by name of the nominated pod.
    nominated: Mapping[str, str] = {}


class GroupCycle(msgspec.Struct, frozen=True):
    """One scheduling cycle of a group or of a hierarchy of groups."""

    #: The root of the hierarchy.
    group: GroupKey
    outcome: GroupOutcome
    #: Leaf groups of a hierarchy, in the order of the tree.
    leaves: Sequence[GroupKey]
    #: Names of the members of this cycle: by leaf, in queue order.
    pods: Sequence[str]
    attempts: Sequence[GroupAttempt] = ()
    #: Groups without placements, with the reason.
    placement_statuses: Sequence[tuple[GroupKey, Status]] = ()
    #: The placement chosen for the root; None if there was none.
    placement: str | None = None
    choices: Sequence[PlacementChoice] = ()
    preemption: GroupPreemption | None = None


class GroupCycleObserver(Protocol):
    """Receives the cycles of groups from a scheduler."""

    def group_cycle(self, cycle: GroupCycle) -> None: ...


class GroupObserverHost(Protocol):
    """A scheduler that schedules groups: reports their cycles, and where a pod waits."""

    def observe_groups(self, observer: GroupCycleObserver) -> None: ...

    def place_of(self, pod: str) -> str:
        """Return the part of the queue in which the pod with this name waits, as named in the corpus."""


def cycle_document(cycle: GroupCycle, pods: Sequence[Document], conditions: Mapping[str, Document | None]) -> Document:
    """Return the cycle with the results of its members and the conditions of its leaf groups by name."""
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
    if preemption.nominated:
        document.update(
            victims=sorted(preemption.victims),
            pdbViolations=preemption.pdb_violations,
            groupsDisrupted=preemption.groups_disrupted,
            nominated=dict(preemption.nominated),
        )
    return document
