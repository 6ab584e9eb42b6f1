# SPDX-License-Identifier: Apache-2.0
"""The decision of a preemption by a group of pods.

    may preempt? ─► victims of lower priority in the whole cluster ─► remove them ─► simulate the group once
        ─► add victims back, most important first (`group_reprieve`) ─► GroupPreemptionReport

If the group is not schedulable without all of these victims, nothing is evicted. The cluster is the
same afterwards; `executor` carries the decision out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from steersman import api
from steersman.framework import (
    Code,
    CycleAborted,
    PlacedPod,
    PodGroupInfo,
    PodInfo,
    PostFilterHandle,
    ScheduleGroup,
    Status,
    error,
    unresolvable,
    unschedulable,
)
from steersman.scheduler.preemption.evaluator import NEVER, REASON_NEVER, CurrentBudgets, is_being_preempted
from steersman.scheduler.preemption.group_reprieve import Reprieve, members_of
from steersman.scheduler.preemption.victims import GroupedPods, Rank, UnknownNode, Victim, grouped_pods

PREEMPTION_POLICY_GATE = "PodGroupPreemptionPolicy"
REASON_NO_VICTIMS = "No preemption victims found for incoming preemptor"
DOMAIN_ERROR = "failed to create domain: {}"


class GroupPreemptionReport(msgspec.Struct, frozen=True):
    """Details of the preemption by a group."""

    preemptor: str
    #: The evicted units, most important first; none if earlier victims are still terminating.
    units: tuple[Victim, ...]
    #: Number of pods whose eviction violates a disruption budget.
    pdb_violations: int
    #: Node by key of the members that were placed.
    nominated: Mapping[str, str]
    #: Number of units of lower priority in the cluster.
    potential_victims: int
    #: Number of times that the group was simulated.
    simulations: int
    #: Whether the group waits for the victims of an earlier preemption.
    is_ongoing: bool = False

    @property
    def victims(self) -> tuple[PodInfo, ...]:
        return tuple(pod for unit in self.units for pod in unit.pods)

    @property
    def groups_disrupted(self) -> int:
        """Number of evicted units that are groups, or pods of groups."""
        return sum(unit.rank is not Rank.POD for unit in self.units)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data with Kubernetes' JSON names."""
        return {
            "victims": sorted(pod.key for pod in self.victims),
            "pdbViolations": self.pdb_violations,
            "groupsDisrupted": self.groups_disrupted,
            "nominated": dict(self.nominated),
            "potentialVictims": self.potential_victims,
            "simulations": self.simulations,
        }


class GroupEvaluator:
    """Decides the preemptions by groups of one plugin instance."""

    def __init__(self, handle: PostFilterHandle, budgets: CurrentBudgets) -> None:
        self._handle = handle
        self._budgets = budgets
        self._reads_policy_of_groups = handle.gates.enabled(PREEMPTION_POLICY_GATE)

    def decide(self, group: PodGroupInfo, schedule: ScheduleGroup) -> GroupPreemptionReport | Status:
        """Return the victims and nominations, or why there are none."""
        groups = self._handle.pod_groups
        assert groups is not None, "no group is scheduled without the gate GenericWorkload"
        units = grouped_pods(self._handle, groups)
        priority = 0 if group.group is None else api.group_priority(group.group)
        if self._policy(group) == NEVER:
            return unschedulable(REASON_NEVER)
        if self._waits_for_victims(group, units, priority):
            nominated = {pod.key: pod.pod.status.nominated_node_name for pod in group.pods()}
            return GroupPreemptionReport(str(group.key), (), 0, nominated, 0, 0, is_ongoing=True)
        try:
            victims = units.victims_on_all(self._handle.nodes.all(), priority)
        except UnknownNode as unknown:
            return error(DOMAIN_ERROR.format(unknown))
        if not victims:
            return unresolvable(REASON_NO_VICTIMS)
        try:
            return self._among(victims, units, group, schedule)
        except CycleAborted as abort:
            return error(abort.status.message)

    def _policy(self, group: PodGroupInfo) -> str | None:
        if self._reads_policy_of_groups:
            return None if group.group is None else group.group.spec.preemption_policy
        return NEVER if any(pod.spec.preemption_policy == NEVER for pod in group.pods()) else None

    def _waits_for_victims(self, group: PodGroupInfo, units: GroupedPods, priority: int) -> bool:
        """Return whether victims of an earlier preemption still terminate on nominated nodes."""
        names = {pod.pod.status.nominated_node_name for pod in group.pods()}
        nodes = filter(None, map(self._handle.nodes.get, filter(None, names)))
        return any(
            is_being_preempted(pod.pod) and units.priority(pod) < priority for node in nodes for pod in node.pods
        )

    def _among(
        self, potential: Sequence[Victim], units: GroupedPods, group: PodGroupInfo, schedule: ScheduleGroup
    ) -> GroupPreemptionReport | Status:
        handle, what_if = self._handle, self._handle.what_if
        placed = [PlacedPod(pod, node.name) for victim in potential for pod, node in victim.placed()]
        with what_if.without(placed):
            assignments, status = schedule()
            if status.code is not Code.SUCCESS:
                return status
            members = members_of(what_if, assignments.assignments)
            lost, violations = self._evicted(potential, units, Reprieve(what_if, members, handle.nodes.get).take)
        return GroupPreemptionReport(
            preemptor=str(group.key),
            units=tuple(lost),
            pdb_violations=violations,
            nominated={member.pod.key: member.node_name for member in members},
            potential_victims=len(potential),
            simulations=1,
        )

    def _evicted(
        self, potential: Sequence[Victim], units: GroupedPods, stays: Callable[[Victim], bool]
    ) -> tuple[list[Victim], int]:
        """Return the victims that cannot stay, most important first, and the number of their pods
        that violate a budget."""
        now, order = self._handle.clock.now(), units.by_importance
        violating, others = self._budgets.get().split_victims(order(potential, now))
        lost = [violation for violation in violating if not stays(violation.victim)]
        victims = [violation.victim for violation in lost]
        victims += [victim for victim in others if not stays(victim)]
        return order(victims, now), sum(violation.pods for violation in lost)
