# SPDX-License-Identifier: Apache-2.0
"""Places the members of one PodGroup in one placement, one after the other.

    PlacementFeasible ─► find a node, assume, reserve ─► PlacementFeasible ─► next member
                         └─ until the group cannot succeed any more, or all members were tried

Members stay assumed; `schedule_group` reverts them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Final, TypeAlias

import msgspec

from steersman.framework import (
    Code,
    CyclePostponed,
    PlacementProgress,
    PodGroupInfo,
    PodInfo,
    SlicedWork,
    Status,
    error,
)
from steersman.scheduler.cycle.assumed_members import AssumedMembers
from steersman.scheduler.cycle.decision import Failed, Scheduled, Unschedulable
from steersman.scheduler.cycle.group_decision import GroupAttempt, GroupResult, MemberResult, SharedStatus, rejected
from steersman.scheduler.cycle.placement_points import placement_feasible
from steersman.scheduler.cycle.schedule_one import Observer, SchedulingCycle
from steersman.scheduler.engine.evaluation import PlacementTrial
from steersman.scheduler.runtime.profile import Profile

FEASIBILITY_FAILED: Final = "failed to evaluate placement feasibility: {}"
MEMBER_FAILED: Final = "failed to schedule other pod from a pod group: {}"
#: Maximum number of members that are tried or assumed in one cycle: a few seconds of CPU time.
MAX_STEPS: Final = 250_000
OVER_BUDGET: Final = (
    "placing the members of the pod group takes more than {} steps, which exceeds the budget of a scheduling cycle; "
    "use fewer members, placements or levels of groups"
)
#: Maximum number of slices of a search for which the cycle of a pod would be postponed.
MAX_SLICES: Final = 250
#: Maximum number of replicas that are placed together.
MAX_REPLICAS: Final = 64
SEARCH_TOO_LONG: Final = "the search for devices takes too long for the cycle of a pod group"

MemberDecision: TypeAlias = Scheduled | Unschedulable | Failed


class OverBudget(Exception):
    """The cycle of a group takes too many steps."""


class MemberPlacer:
    """Places members for one cycle of a group."""

    def __init__(
        self, cycle: SchedulingCycle, profile: Profile, assumed: AssumedMembers, observer: Observer | None
    ) -> None:
        self._cycle = cycle
        self._profile = profile
        self._assumed = assumed
        self._observer = observer
        self._steps = 0
        #: The latest member that fits no node, while nothing was assumed since.
        self._refused: Unschedulable | None = None

    def count_steps(self, steps: int) -> None:
        """Count members that are tried or assumed. Raises OverBudget."""
        self._steps += steps
        if self._steps > MAX_STEPS:
            raise OverBudget

    def place(self, group: PodGroupInfo, trial: PlacementTrial, attempt: GroupAttempt, scheduled: int) -> GroupResult:
        """Try the members of a leaf that has `scheduled` running or assumed members; the attempt is
        completed."""
        pods = group.unscheduled_pods
        self._refused = None
        progress = _Progress(self._profile, group, trial, attempt, PlacementProgress(len(pods), scheduled))
        status = progress.feasible()
        if status is not None and status.code is Code.UNSCHEDULABLE:
            progress.result.status = SharedStatus(rejected(*status.reasons))
            return progress.result
        while not is_final(status) and len(progress.result.members) < len(pods):
            rest = pods[len(progress.result.members) :]
            status = progress.note_all(self._place_next(rest, trial))
        progress.result.status = SharedStatus(rejection_if_waiting(status))
        return progress.result

    def _place_next(self, pods: Sequence[PodInfo], trial: PlacementTrial) -> Sequence[MemberDecision]:
        """Place the first of the pods, or the first few if they are replicas."""
        self.count_steps(1)
        first, refused = pods[0], self._refused
        if refused is not None and refused.pod.template is first.template and self._cycle.is_alike(refused.pod, first):
            return (msgspec.structs.replace(refused, pod=first),)
        self._refused = None
        placed = self._place_replicas(pods, trial) if self._observer is None else ()
        if placed:
            return placed
        found = self._find_node(first, trial)
        if isinstance(found, Scheduled):
            return (self._assumed.assume(found),)
        if isinstance(found, Unschedulable):
            self._refused = found
        return (found,)

    def _place_replicas(self, pods: Sequence[PodInfo], trial: PlacementTrial) -> Sequence[Scheduled]:
        """Place leading pods of one template whose signature alone determines the node."""
        template = pods[0].template
        replicas = list(takewhile(lambda pod: pod.template is template, pods[:MAX_REPLICAS]))
        placed = self._cycle.schedule_replicas(replicas, without_permit=True, rows=trial.rows)
        if placed:
            self.count_steps(len(placed) - 1)
            self._assumed.add(placed)
        return placed

    def _find_node(self, pod: PodInfo, trial: PlacementTrial) -> MemberDecision:
        for _ in range(MAX_SLICES):
            try:
                return self._cycle.find_node(self._profile, pod, trial, self._observer)
            except CyclePostponed as postponed:
                if not _finishes(postponed.work):
                    break
        return Failed(pod, self._profile.name, error(SEARCH_TOO_LONG))


class _Progress:
    """Results of the members tried so far, and the status of the group."""

    def __init__(
        self,
        profile: Profile,
        group: PodGroupInfo,
        trial: PlacementTrial,
        attempt: GroupAttempt,
        progress: PlacementProgress,
    ) -> None:
        self._profile = profile
        self._group = group
        self._state = trial.state
        self._attempt = attempt
        self._progress = progress
        self.result = GroupResult(group, SharedStatus(), placement_state=trial.state)

    def feasible(self) -> Status | None:
        """Run the PlacementFeasible plugins."""
        status = placement_feasible(self._profile, self._state, self._group, self._progress)
        self._attempt.status = status
        if status is not None and status.code is Code.ERROR:
            return error(FEASIBILITY_FAILED.format(status.message))
        return status

    def note_all(self, decisions: Sequence[MemberDecision]) -> Status | None:
        """Add results up to the first final status of the group; return the last status."""
        if len(decisions) > 1 and self._profile.tolerates_placed_members:
            return self._note_placed([each for each in decisions if isinstance(each, Scheduled)])
        status: Status | None = None
        for decision in decisions:
            status = self.note(decision)
            if is_final(status):
                break
        return status

    def _note_placed(self, decisions: Sequence[Scheduled]) -> Status | None:
        """Add placed members, after which no plugin can reject the group."""
        self.result.members += [MemberResult(each.pod, each) for each in decisions]
        self._attempt.members += [(each.pod.key, each.node) for each in decisions]
        remaining, scheduled = self._progress
        self._progress = PlacementProgress(remaining - len(decisions), scheduled + len(decisions))
        self.result.any_scheduled = True
        return self.feasible()

    def note(self, decision: MemberDecision) -> Status | None:
        """Add the result of a member; return the status of the group."""
        pod = decision.pod
        is_placed = isinstance(decision, Scheduled)
        self.result.members.append(MemberResult(pod, decision))
        self._attempt.members.append((pod.key, decision.node if isinstance(decision, Scheduled) else None))
        if not isinstance(decision, Scheduled) and self._attempt.refusal is None:
            self._attempt.refusal = decision
        if isinstance(decision, Failed):
            return error(MEMBER_FAILED.format(decision.message))
        remaining, scheduled = self._progress
        self._progress = PlacementProgress(remaining - 1, scheduled + is_placed)
        status = self.feasible()
        if is_placed and not is_final(status):
            self.result.any_scheduled = True
        return status


def is_final(status: Status | None) -> bool:
    """Return whether more members cannot change the status."""
    return status is not None and status.code in (Code.UNSCHEDULABLE, Code.ERROR)


def rejection_if_waiting(status: Status | None) -> Status | None:
    """Return the status at the end of a trial: too few members is a rejection."""
    return rejected(*status.reasons) if status is not None and status.code is Code.WAIT else status


def _finishes(work: SlicedWork) -> bool:
    """Run the work; return False if it takes too long."""
    for _ in range(MAX_SLICES):
        if next(work, work) is work:
            return True
    work.close()
    return False
