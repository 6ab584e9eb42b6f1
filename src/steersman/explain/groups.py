# SPDX-License-Identifier: Apache-2.0
"""Why a group of pods is pending: which members are missing, and how far each placement comes.

    cluster ─► members of the PodGroup ─► the cycle of its tree now, on a fork ─► GroupExplanation

The answer is about the PodGroup that a pod names. The cycle also runs for a group that is gated, so
that it says whether the members that exist would fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from steersman import api
from steersman.base import counted
from steersman.framework import GroupKey, PodGroups
from steersman.scheduler.cycle import GroupAttempt, GroupCycle, GroupOutcome
from steersman.scheduler.state import group_of_pod
from steersman.simulation import Simulation

MAX_PLACEMENTS: Final = 5
"""Maximum number of placements that a text describes."""


class PlacementAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """Trial of a group in one placement."""

    #: Value of the topology key; "" for the whole cluster.
    placement: str
    nodes: int
    #: Number of members that found a node before the trial ended.
    placed: int
    #: The first member that found none, and why; "" if every member did.
    refused: str = ""
    message: str = ""


class GroupExplanation(msgspec.Struct, frozen=True, rename="camel"):
    """State of the PodGroup of a pod, and of its placements now."""

    #: `namespace/name`.
    group: str
    exists: bool
    #: The root of its tree if that is another group, as `kind/namespace/name`.
    root: str
    #: Number of members that have to be scheduled together; None for the basic policy.
    min_count: int | None
    running: int
    waiting: int
    #: Number of members that have to be created before the group is tried.
    missing: int
    #: Label by which the nodes are divided into placements; "" without a constraint.
    topology_key: str
    #: Placements, those with most members placed first.
    placements: tuple[PlacementAnswer, ...]
    #: Result of preemption by the group, or the error that ended the cycle; "" for none.
    result: str
    fits: bool
    #: All of this in a sentence.
    sentence: str


def explain_group(simulation: Simulation, pod: api.Pod) -> GroupExplanation | None:
    """Return the state of the pod's group; None if the pod has none or groups are not scheduled."""
    key, groups = group_of_pod(pod), simulation.scheduler.cache.pod_groups
    if key is None or groups is None:
        return None
    with simulation.fork() as trial:
        cycle = trial.scheduler.preview_group(api.key(pod))
    return _explanation(key, groups, cycle)


def _explanation(key: GroupKey, groups: PodGroups, cycle: GroupCycle | None) -> GroupExplanation:
    group, members, root = groups.pod_group(key.namespace, key.name), groups.state(*key[1:]), groups.root(key)
    gang = None if group is None else group.spec.scheduling_policy.gang
    min_count = None if gang is None else gang.min_count
    placements = () if cycle is None else tuple(_placements(key, cycle.attempts))
    found = GroupExplanation(
        group=f"{key.namespace}/{key.name}",
        exists=group is not None,
        root="" if root is None or root == key else str(root),
        min_count=min_count,
        running=members.scheduled_count,
        waiting=len(members.unscheduled),
        missing=max(0, (min_count or 0) - members.count),
        topology_key="" if group is None else api.topology_key(group) or "",
        placements=placements,
        result="" if cycle is None else _result(cycle),
        fits=cycle is not None and cycle.outcome is GroupOutcome.SCHEDULED,
        sentence="",
    )
    return msgspec.structs.replace(found, sentence=_sentence(found, root))


def _placements(key: GroupKey, attempts: Sequence[GroupAttempt]) -> list[PlacementAnswer]:
    answers = [_placement(attempt) for attempt in attempts if attempt.group == key]
    return sorted(answers, key=lambda answer: (-answer.placed, answer.placement))


def _placement(attempt: GroupAttempt) -> PlacementAnswer:
    placement, refusal = attempt.placement, attempt.refusal
    return PlacementAnswer(
        placement="" if placement is None else placement.name,
        nodes=0 if placement is None else len(placement.node_names),
        placed=attempt.placed_count,
        refused="" if refusal is None else refusal.pod.key,
        message="" if refusal is None else refusal.message,
    )


def _result(cycle: GroupCycle) -> str:
    if cycle.outcome is GroupOutcome.ERROR:
        return "" if cycle.status is None else cycle.status.message
    if cycle.placement_statuses:
        return cycle.placement_statuses[0][1].message
    return "" if cycle.preemption is None else cycle.preemption.status.message


# -- sentences -------------------------------------------------------------------------------------


def _sentence(found: GroupExplanation, root: GroupKey | None) -> str:
    if not found.exists:
        return f"PodGroup {found.group} does not exist, and its {counted(found.waiting, 'pod')} cannot be tried."
    if root is None:
        return f"PodGroup {found.group} has an ancestor that does not exist, and cannot be tried."
    if found.missing:
        have, verb = found.running + found.waiting, "has" if found.missing == 1 else "have"
        lacks = f"{counted(found.missing, 'more pod')} {verb} to be created"
        return f"{_name(found)} needs {counted(found.min_count or 0, 'pod')} and has {have}: {lacks}."
    if found.fits:
        return f"{_name(found)} fits now."
    if not found.placements:
        return f"{_name(found)} has no placement: {found.result or 'it was not tried'}."
    return f"{_name(found)} {_needs(found)}{_closest(found)}"


def _name(found: GroupExplanation) -> str:
    kind = "PodGroup" if found.min_count is None else "Gang"
    return f"{kind} {found.group}" + (f" of {found.root}" if found.root else "")


def _needs(found: GroupExplanation) -> str:
    if found.min_count is None:
        return "fits nowhere: "
    running = f", and {found.running} run" if found.running else ""
    where = f" in one domain of {found.topology_key}" if found.topology_key else ""
    return f"needs {counted(found.min_count, 'pod')} at the same time{where}{running}: "


def _closest(found: GroupExplanation) -> str:
    best = found.placements[0]
    placed = f"{best.placed} of {counted(found.waiting, 'waiting pod')} found a node"
    if found.topology_key:
        placed = f"{found.topology_key}={best.placement} comes closest, where {placed}"
    return f"{placed}; {best.refused} did not: {best.message}" if best.refused else f"{placed}."


def group_sentences(found: GroupExplanation) -> Iterator[str]:
    """Yield what is known about the members and placements, one sentence each."""
    need = "any number" if found.min_count is None else f"at least {found.min_count}"
    yield f"{found.running} members with a node, {found.waiting} waiting; {need} together."
    if found.topology_key:
        for each in found.placements[:MAX_PLACEMENTS]:
            yield _placement_sentence(found, each)
        left = len(found.placements) - MAX_PLACEMENTS
        if left > 0:
            yield f"{counted(left, 'other placement')} with no more members placed."
    if found.result and not found.missing:
        yield f"{found.result}."
    if found.placements and not found.fits:
        yield "The nodes below are those for the pod alone."


def _placement_sentence(found: GroupExplanation, each: PlacementAnswer) -> str:
    where = f"{found.topology_key}={each.placement} ({counted(each.nodes, 'node')})"
    placed = f"{where}: {each.placed} of {found.waiting} found a node"
    return f"{placed}; {each.refused} did not: {each.message}" if each.refused else f"{placed}."
