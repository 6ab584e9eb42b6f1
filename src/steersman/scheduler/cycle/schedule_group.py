# SPDX-License-Identifier: Apache-2.0
"""The scheduling cycle of a group of pods or of a tree of groups, synchronous and without I/O.

    root ─► PlacementGenerate ─► for each placement: children, or members one by one ─► PlacementFeasible
         ─► PlacementScore, choose ─┬─► results of all groups and members
                                    └─► PodGroupPostFilter ─► the same, waiting for preemption

Members are placed by ordinary filters and scores; each sees those before it as placed, because it
is assumed after them. Everything is reverted at the end of a trial, so that the next placement
begins with the same cluster. `submit` in `assembly.group_attempts` carries the results out.

A tree may be deep, so nothing here is recursive: a step that needs the result of a child group
yields it, and `_run` sends the result.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Final, TypeAlias

import msgspec
import numpy as np

from steersman.framework import (
    Code,
    CycleState,
    GroupKey,
    Nomination,
    Placement,
    PlacementProgress,
    PodGroupAssignments,
    PodGroupInfo,
    PodGroupState,
    ProposedAssignment,
    Status,
    error,
)
from steersman.scheduler.cycle.assumed_members import AssumedMembers
from steersman.scheduler.cycle.decision import Scheduled
from steersman.scheduler.cycle.group_decision import (
    GroupAttempt,
    GroupCycle,
    GroupOutcome,
    GroupPreemption,
    GroupResult,
    MemberResult,
    PlacementChoice,
    SharedStatus,
    refused_with_group,
    rejected,
    short_message,
)
from steersman.scheduler.cycle.place_members import (
    MAX_STEPS,
    OVER_BUDGET,
    MemberPlacer,
    OverBudget,
    is_final,
    rejection_if_waiting,
)
from steersman.scheduler.cycle.placement_points import (
    UNKNOWN_NODE,
    TriedPlacement,
    choose_placement,
    generate_placements,
    placement_feasible,
    pod_group_post_filter,
)
from steersman.scheduler.cycle.schedule_one import Observer, SchedulingCycle
from steersman.scheduler.engine.evaluation import PlacementTrial
from steersman.scheduler.runtime.profile import Profile
from steersman.scheduler.state.node_table import NodeTable

CHILD_FAILED: Final = "composite pod group evaluation failed due to child error: {}"
ASSUMING_FAILED: Final = "failed to assume the subtree: {}"
PLACEMENT_FAILED: Final = "failed to assume pod group placement: {}"
NO_PLACEMENT_FITS: Final = "0/{} placements are available, first placement status: {}"
Results: TypeAlias = dict[GroupKey, GroupResult]
"""Results of the groups of a tree, in the order in which they were tried."""


class ChildTrial(msgspec.Struct, frozen=True, eq=False):
    """A child group that is tried within the placement of its parent."""

    group: PodGroupInfo
    trial: PlacementTrial
    results: Results


Step: TypeAlias = Generator[ChildTrial, GroupResult, GroupResult]
"""A step of the algorithm; it yields child groups and receives their results."""


class GroupScheduling:
    """The cycle of one group. `members` are the pods to schedule by leaf, in queue order."""

    def __init__(
        self,
        cycle: SchedulingCycle,
        table: NodeTable,
        profile: Profile,
        assumed: AssumedMembers,
        root: PodGroupInfo,
        state_of: Callable[[GroupKey], PodGroupState],
        *,
        has_topology: bool,
        has_composites: bool,
        observer: Observer | None = None,
    ) -> None:
        """`has_topology` and `has_composites` are the gates TopologyAwareWorkloadScheduling and
        CompositePodGroup. `state_of` returns the known members of a leaf."""
        self._cycle = cycle
        self._table = table
        self._profile = profile
        self._assumed = assumed
        self._root = root
        self._state_of = state_of
        self._has_topology = has_topology
        self._has_composites = has_composites
        self._placer = MemberPlacer(cycle, profile, assumed, observer)
        self._state = CycleState()
        self._attempts: list[GroupAttempt] = []
        self._placement_statuses: list[tuple[GroupKey, Status]] = []
        self._choices: list[PlacementChoice] = []
        self._placement: str | None = None
        self._preemption: GroupPreemption | None = None
        #: Uids of members that stay assumed on their nodes.
        self.kept: set[str] = set()
        #: Status of the root before PodGroupPostFilter; None is success.
        self.root_status: Status | None = None

    # -- the whole cycle --------------------------------------------------------------------------

    def run(self) -> Results:
        """Return the results of all groups of the tree, with all members. Only members in `kept`
        stay assumed."""
        try:
            results = self._try_root(self._state)
            if results[self._root.key].is_success:
                self.kept = self._assumed.keep()
        finally:
            self._assumed.revert_to(0)
        self.root_status = results[self._root.key].status.value
        self._complete(results)
        if self.root_status is not None and self.root_status.code is Code.UNSCHEDULABLE:
            self._run_post_filter(results)
        return results

    def report(self, results: Results) -> GroupCycle:
        """Return the cycle for observers."""
        leaves = list(self._root.leaves())
        root = results[self._root.key]
        return GroupCycle(
            self._root.key,
            _outcome(root),
            root.status.value,
            [leaf.key for leaf in leaves],
            [pod.key for leaf in leaves for pod in leaf.unscheduled_pods],
            self._attempts,
            self._placement_statuses,
            self._placement,
            self._choices,
            self._preemption,
        )

    def _try_root(self, state: CycleState) -> Results:
        """Try the tree once; a success without any placed member is a rejection."""
        results: Results = {}
        try:
            root = self._run(self._group_step(self._root, state, None, results))
        except OverBudget:
            root = _failed(self._root, error(OVER_BUDGET.format(MAX_STEPS)))
        results[self._root.key] = root
        if root.is_success and not root.any_scheduled:
            root.status = SharedStatus(rejected())
        return results

    def _run(self, first: Step) -> GroupResult:
        """Run steps until the first one returns."""
        running, result = [first], None
        while True:
            try:
                child = running[-1].send(result)  # type: ignore[arg-type]
            except StopIteration as end:
                running.pop()
                if not running:
                    return end.value  # type: ignore[no-any-return]
                result = end.value
            else:
                state = CycleState(placement=child.trial.state)
                running.append(self._group_step(child.group, state, child.trial, child.results))
                result = None

    # -- one group --------------------------------------------------------------------------------

    def _group_step(
        self, group: PodGroupInfo, state: CycleState, parent: PlacementTrial | None, results: Results
    ) -> Step:
        if self._has_topology:
            result = yield from self._try_placements(group, state, parent, results)
        else:
            trial = PlacementTrial(state, CycleState(group_cycle=state))
            result = self._try_members(group, trial, None)
        results[group.key] = result
        return result

    def _try_placements(
        self, group: PodGroupInfo, state: CycleState, parent: PlacementTrial | None, results: Results
    ) -> Step:
        """Try the group in every placement and choose the best one. Its members stay assumed if
        there is one placement; with the gate CompositePodGroup they are assumed again otherwise,
        for the groups that follow."""
        placements = generate_placements(self._profile, state, group, self._parent_placement(parent))
        if isinstance(placements, Status):
            self._placement_statuses.append((group.key, placements))
            return _failed(group, placements)
        successful: dict[str, tuple[TriedPlacement, Results]] = {}
        first: Results | None = None
        for placement in placements:
            trial = self._trial(state, placement)
            if isinstance(trial, Status):
                return _failed(group, trial)
            tried: Results = {}
            mark = len(self._assumed)
            result = yield from self._try_placement(group, trial, placement, tried)
            if len(placements) > 1 or not result.is_success:
                self._assumed.revert_to(mark)
            if result.status.code is Code.ERROR:
                return result
            first = tried if first is None else first
            if result.is_success:
                assignments = PodGroupAssignments(placement, tuple(_proposed(_successful_leaves(group, tried))))
                successful[placement.name] = TriedPlacement(assignments, trial.state), tried
        if not successful:
            assert first is not None, "there is at least one placement"
            return self._no_placement_fits(group, len(placements), first, results)
        chosen = self._choose(group, state, [one for one, _ in successful.values()])
        if isinstance(chosen, Status):
            return _failed(group, chosen)
        best = successful[chosen][1]
        if self._has_composites and len(placements) > 1:
            refused = self._assume_again(group, best)
            if refused is not None:
                return _failed(group, error(ASSUMING_FAILED.format(refused)))
        if group is self._root:
            self._placement = chosen
        results.update(best)
        return best[group.key]

    def _try_placement(
        self, group: PodGroupInfo, trial: PlacementTrial, placement: Placement, results: Results
    ) -> Step:
        if group.is_composite:
            result = yield from self._try_children(group, trial, placement, results)
        else:
            result = self._try_members(group, trial, placement)
        results[group.key] = result
        return result

    def _no_placement_fits(self, group: PodGroupInfo, count: int, first: Results, results: Results) -> GroupResult:
        """Return the result in the first placement, whose members have the reasons why they do not
        fit."""
        result = first[group.key]
        assert result.status.value is not None, "the first placement failed"
        message = NO_PLACEMENT_FITS.format(count, short_message(result.status.value))
        result.status = SharedStatus(rejected(message))
        results.update(first)
        return result

    def _choose(self, group: PodGroupInfo, state: CycleState, tried: Sequence[TriedPlacement]) -> str | Status:
        if len(tried) == 1:
            return tried[0].name
        choice = choose_placement(self._profile, state, group, tried, self._cycle.rng)
        if isinstance(choice, Status):
            return choice
        self._choices.append(choice)
        return choice.placement

    def _assume_again(self, group: PodGroupInfo, results: Results) -> str | None:
        """Assume the members of a chosen placement; return the message of a rejection."""
        mark = len(self._assumed)
        for leaf in _successful_leaves(group, results):
            for found in leaf.placed():
                self._placer.count_steps(1)
                reserved = self._assumed.assume(found)
                if not isinstance(reserved, Scheduled):
                    self._assumed.revert_to(mark)
                    return reserved.message
        return None

    # -- placements -------------------------------------------------------------------------------

    def _parent_placement(self, parent: PlacementTrial | None) -> Placement:
        table = self._table
        names = (table.names[row] for row in table.live_rows())
        if parent is None or parent.node_names is None:
            return Placement("", tuple(names))
        return Placement("", tuple(name for name in names if name in parent.node_names))

    def _trial(self, state: CycleState, placement: Placement) -> PlacementTrial | Status:
        """Return the trial of a placement, or the error if it names an unknown node."""
        table = self._table
        of_placement = CycleState(group_cycle=state)
        if len(placement.node_names) == table.node_count:
            return PlacementTrial(state, of_placement)
        nodes = self._cycle.node_sets.get(placement.node_names)
        if nodes.unknown:
            return error(PLACEMENT_FAILED.format(UNKNOWN_NODE.format(nodes.unknown)))
        outside = np.ones(table.capacity, np.bool_)
        outside[nodes.rows] = False
        return PlacementTrial(state, of_placement, nodes.names, outside, nodes.rows)

    # -- the children of a composite group --------------------------------------------------------

    def _try_children(self, group: PodGroupInfo, trial: PlacementTrial, placement: Placement, results: Results) -> Step:
        """Try the children one by one, until the group cannot succeed any more."""
        attempt = self._begin_attempt(group, placement)
        mark = len(self._assumed)
        progress = PlacementProgress(len(group.children), 0)
        status = attempt.status = placement_feasible(self._profile, trial.state, group, progress)
        if is_final(status):
            return GroupResult(group, SharedStatus(status), placement_state=trial.state)
        any_scheduled = False
        for child in group.children:
            result = yield ChildTrial(child, trial, results)
            if result.status.code is Code.ERROR:
                self._assumed.revert_to(mark)
                return _failed(group, error(CHILD_FAILED.format(result.status.message)), trial.state)
            any_scheduled |= result.any_scheduled
            progress = PlacementProgress(progress.remaining - 1, progress.scheduled + result.is_success)
            status = attempt.status = placement_feasible(self._profile, trial.state, group, progress)
            if is_final(status):
                break
        status = rejection_if_waiting(status)
        if status is not None:
            self._assumed.revert_to(mark)
        return GroupResult(
            group,
            SharedStatus(status),
            any_scheduled=any_scheduled and status is None,
            placement_state=trial.state,
        )

    # -- the members of a leaf --------------------------------------------------------------------

    def _try_members(self, group: PodGroupInfo, trial: PlacementTrial, placement: Placement | None) -> GroupResult:
        """Place the members one by one, until the group cannot succeed any more."""
        mark = len(self._assumed)
        attempt = self._begin_attempt(group, placement)
        result = self._placer.place(group, trial, attempt, self._state_of(group.key).scheduled_count)
        if not result.is_success:
            self._assumed.revert_to(mark)
            result.any_scheduled = False
        return result

    def _begin_attempt(self, group: PodGroupInfo, placement: Placement | None) -> GroupAttempt:
        attempt = GroupAttempt(group.key, placement)
        self._attempts.append(attempt)
        return attempt

    # -- afterwards -------------------------------------------------------------------------------

    def _complete(self, results: Results) -> None:
        """Reject groups below rejected ones, and add the members that were not tried."""
        waiting: list[tuple[PodGroupInfo, GroupResult | None]] = [(self._root, None)]
        while waiting:
            group, parent = waiting.pop()
            result = results.get(group.key)
            if result is None or (parent is not None and not parent.is_success and result.is_success):
                result = results[group.key] = GroupResult(group, SharedStatus() if parent is None else parent.status)
            self._complete_members(group, result)
            waiting += [(child, result) for child in reversed(group.children)]

    def _complete_members(self, group: PodGroupInfo, result: GroupResult) -> None:
        untried = group.unscheduled_pods[len(result.members) :]
        if untried:
            status = result.status.value or rejected()
            result.members += (
                MemberResult(pod, refused_with_group(pod, self._profile.name, status)) for pod in untried
            )

    def _run_post_filter(self, results: Results) -> None:
        """Run PodGroupPostFilter, and add its outcome to the results."""
        begun = len(self._attempts)
        kept = self._placement_statuses, self._choices, self._placement
        self._placement_statuses, self._choices = [], []
        result, status = pod_group_post_filter(self._profile, self._state, self._root, self._simulate)
        self._placement_statuses, self._choices, self._placement = kept
        attempts = self._attempts[begun:]
        del self._attempts[begun:]
        self._preemption = GroupPreemption(status, attempts, result)
        is_success = status.code is Code.SUCCESS
        nominated = {} if result is None or not is_success else result.nominated_nodes
        for group in results.values():
            group.waits_for_preemption = is_success
            for member in group.members:
                node = nominated.get(member.pod.key)
                if node is not None:
                    member.nomination = Nomination(node)
        for group in list(results.values()):
            if status.code is Code.ERROR:
                group.status = SharedStatus(status)
            else:
                group.status.append(status.message)

    def _simulate(self) -> tuple[PodGroupAssignments, Status]:
        """Schedule the tree on the current cluster, for plugins that have changed it."""
        try:
            results = self._try_root(CycleState())
        finally:
            self._assumed.revert_to(0)
        status = results[self._root.key].status.value
        return PodGroupAssignments(None, tuple(_proposed(results.values()))), status or Status(Code.SUCCESS)


def _failed(group: PodGroupInfo, status: Status, state: CycleState | None = None) -> GroupResult:
    return GroupResult(group, SharedStatus(status), placement_state=state)


def _successful_leaves(group: PodGroupInfo, results: Results) -> list[GroupResult]:
    """Return the results of the leaves that succeeded with all their ancestors, in the order of the
    tree."""
    found: list[GroupResult] = []
    waiting = [group]
    while waiting:
        one = waiting.pop()
        result = results.get(one.key)
        if result is None or not result.is_success:
            continue
        if result.members:
            found.append(result)
        waiting += reversed(one.children)
    return found


def _proposed(results: Iterable[GroupResult]) -> list[ProposedAssignment]:
    return [ProposedAssignment(found.pod, found.node, found.state) for result in results for found in result.placed()]


def _outcome(root: GroupResult) -> GroupOutcome:
    status = root.status.value
    if status is None:
        return GroupOutcome.SCHEDULED
    if not status.is_rejected:
        return GroupOutcome.ERROR
    return GroupOutcome.WAITING_ON_PREEMPTION if root.waits_for_preemption else GroupOutcome.UNSCHEDULABLE
