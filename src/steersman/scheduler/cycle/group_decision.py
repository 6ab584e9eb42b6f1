# SPDX-License-Identifier: Apache-2.0
"""Results of the scheduling cycle of a group as values.

GroupResult ◄─ MemberResult    what the cycle decided, for each group of the tree and each member
GroupCycle ◄─ GroupAttempt     how it arrived at that, for observers
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

import msgspec

from steersman.framework import (
    Code,
    CycleState,
    GroupKey,
    Nomination,
    Placement,
    PodGroupInfo,
    PodGroupPostFilterResult,
    PodInfo,
    Status,
)
from steersman.scheduler.cycle.decision import Failed, Scheduled, Unschedulable
from steersman.scheduler.cycle.diagnosis import Diagnosis
from steersman.scheduler.engine.evaluation import NodeStatuses

GROUP_UNSCHEDULABLE = "pod group is unschedulable"


def rejected(*reasons: str) -> Status:
    """Return the rejection of a group as a whole."""
    return Status(Code.UNSCHEDULABLE, (GROUP_UNSCHEDULABLE, *reasons))


def short_message(status: Status) -> str:
    """Return the message of a status without what follows the rejection of a group as a whole."""
    return GROUP_UNSCHEDULABLE if status.reasons[:1] == (GROUP_UNSCHEDULABLE,) else status.message


# -- what was decided -----------------------------------------------------------------------------


class SharedStatus(msgspec.Struct, eq=False):
    """Status of groups, None for success. Groups that were rejected with their parent share its
    status, so that a reason added for each of them appears several times, as in upstream."""

    value: Status | None = None

    @property
    def code(self) -> Code:
        return Code.SUCCESS if self.value is None else self.value.code

    @property
    def message(self) -> str:
        return "" if self.value is None else self.value.message

    def append(self, reason: str) -> None:
        if self.value is not None:
            self.value = msgspec.structs.replace(self.value, reasons=(*self.value.reasons, reason))


class MemberResult(msgspec.Struct, eq=False):
    """Result of one member."""

    pod: PodInfo
    #: For a node that was found, the pod may no longer be assumed there.
    decision: Scheduled | Unschedulable | Failed
    #: Nomination by PodGroupPostFilter.
    nomination: Nomination | None = None


class GroupResult(msgspec.Struct, eq=False):
    """Result of one group of the tree."""

    group: PodGroupInfo
    status: SharedStatus
    #: Members in queue order; those that were not tried are missing until the cycle ends.
    members: list[MemberResult] = []
    #: Whether a member was placed, in this group or below it.
    any_scheduled: bool = False
    #: Whether the group waits for victims of preemption to terminate.
    waits_for_preemption: bool = False
    #: State of the placement that was tried; None if there was none.
    placement_state: CycleState | None = None

    @property
    def is_success(self) -> bool:
        return self.status.value is None

    def placed(self) -> list[Scheduled]:
        """Return the members for which a node was found."""
        return [member.decision for member in self.members if isinstance(member.decision, Scheduled)]


def refused_with_group(
    pod: PodInfo, profile: str, status: Status, nomination: Nomination | None = None
) -> Unschedulable | Failed:
    """Return the decision on a member that shares the status of its group: no plugin has rejected
    the pod itself."""
    if not status.is_rejected:
        return Failed(pod, profile, status)
    diagnosis = Diagnosis(0, NodeStatuses(), frozenset(), frozenset())
    return Unschedulable(pod, profile, diagnosis, status.message, nomination)


# -- how it was decided ---------------------------------------------------------------------------


class GroupOutcome(StrEnum):
    """Result of a group's cycle."""

    SCHEDULED = "scheduled"
    WAITING_ON_PREEMPTION = "waitingOnPreemption"
    UNSCHEDULABLE = "unschedulable"
    ERROR = "error"


class GroupAttempt(msgspec.Struct):
    """A trial of one group in one placement."""

    group: GroupKey
    #: None without topology-aware scheduling.
    placement: Placement | None
    #: Names of the members in the order in which they were tried, with the node that was found.
    members: list[tuple[str, str | None]] = []
    #: Last result of the PlacementFeasible plugins; None is success.
    status: Status | None = None
    #: Decision on the first member that found no node.
    refusal: Unschedulable | Failed | None = None

    @property
    def placed_count(self) -> int:
        """Number of members that found a node."""
        return sum(node is not None for _, node in self.members)


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
    #: Trials without the potential victims.
    attempts: Sequence[GroupAttempt] = ()
    #: None without success.
    result: PodGroupPostFilterResult | None = None


class GroupCycle(msgspec.Struct, frozen=True):
    """One scheduling cycle of a group or of a hierarchy of groups."""

    #: The root of the hierarchy.
    group: GroupKey
    outcome: GroupOutcome
    #: Status of the root; None is success.
    status: Status | None
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

    @classmethod
    def without_attempt(cls, root: PodGroupInfo, status: Status) -> GroupCycle:
        """Return the cycle of a group that is invalid."""
        leaves = list(root.leaves())
        pods = [pod.key for leaf in leaves for pod in leaf.unscheduled_pods]
        return cls(root.key, GroupOutcome.ERROR, status, [leaf.key for leaf in leaves], pods)
