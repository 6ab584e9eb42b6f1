# SPDX-License-Identifier: Apache-2.0
"""Attempts to schedule groups: what happens to a popped group, and to the result of its cycle.

popped group ─► valid? ─► cycle (`cycle.schedule_group`) ─┬─► members: commit, bind
                   └────────────────────────────────┬─────┴─► members: requeue, condition, event
                                                    └─► conditions of the PodGroups, requeue the group
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from steersman import api
from steersman.base import INTERNAL_ERROR, describe
from steersman.framework import CLEARED, ApiWriter, GroupKey, PodGroupInfo, PodGroupState, PodInfo, Status, error
from steersman.scheduler.assembly.construction import SchedulerOptions
from steersman.scheduler.assembly.observers import Observers
from steersman.scheduler.assembly.pending_pods import PendingInfos
from steersman.scheduler.binding import BindingCycle
from steersman.scheduler.cycle.assumed_members import AssumedMembers
from steersman.scheduler.cycle.decision import Decision, Failed, Scheduled, Unschedulable
from steersman.scheduler.cycle.group_decision import GroupCycle, GroupResult, MemberResult, refused_with_group, rejected
from steersman.scheduler.cycle.schedule_group import GroupScheduling, Results
from steersman.scheduler.cycle.schedule_one import SchedulingCycle
from steersman.scheduler.queue import QueuedMember, QueuedPodGroup, SchedulingQueue
from steersman.scheduler.runtime.profile import Profile
from steersman.scheduler.state.cache import Cache

GROUP_CYCLE: Final = "scheduling cycle of a pod group"
SCHEDULED: Final = "Scheduled"
UNSCHEDULABLE: Final = "Unschedulable"
SCHEDULER_ERROR: Final = "SchedulerError"

OTHER_SCHEDULER: Final = "all pods in a single pod group should have the same .spec.schedulerName set, got: {} and {}"
OTHER_PRIORITY: Final = (
    "all pods in a single pod group should have the same priority as the pod group's priority, got {} and {}"
)
OTHER_POLICY: Final = "all pods in a single pod group should have the same preemption policy, got {} and {}"
OTHER_POLICY_THAN_GROUP: Final = (
    "all pods in a single pod group should have the same preemption policy as the pod group's preemption policy, "
    "got {} and {}"
)
NO_PROFILE: Final = "profile not found for scheduler name {}"
_DEFAULT_POLICY: Final = "PreemptLowerPriority"

OnFailure = Callable[[QueuedMember, Unschedulable | Failed], None]


class GroupParts(msgspec.Struct, frozen=True):
    """The parts of a scheduler that attempts of groups use."""

    cycle: SchedulingCycle
    cache: Cache
    queue: SchedulingQueue
    binding: BindingCycle
    writer: ApiWriter
    observers: Observers
    infos: PendingInfos
    options: SchedulerOptions


class GroupAttempts:
    """Schedules groups."""

    def __init__(self, parts: GroupParts, on_failure: OnFailure, release: Callable[[QueuedMember], None]) -> None:
        """`release` cleans up an attempt after an internal error."""
        self._parts = parts
        self._on_failure = on_failure
        self._release = release
        gates = parts.options.gates
        self._has_topology = gates.enabled("TopologyAwareWorkloadScheduling")
        self._has_composites = gates.enabled("CompositePodGroup")
        self._has_policies = gates.enabled("PodGroupPreemptionPolicy")

    def schedule(self, queued: QueuedPodGroup) -> Sequence[Decision]:
        """Schedule a popped group and carry out the decisions on its members."""
        #: Uids of members whose attempt has failed or whose binding has started.
        self._settled = set[str]()
        members = list(queued.pods())
        try:
            return self._schedule(queued)
        except Exception as cause:
            return self._broken(queued, members, cause)

    def preview(self, queued: QueuedPodGroup) -> GroupCycle:
        """Return the cycle that a waiting group would have now, even if it is gated. Preemption may
        nominate nodes and delete pods, so the scheduler must be that of a fork."""
        for member in queued.pods():
            self._parts.queue.nominator.forget(member.uid)
        attempt = _Attempt(queued, self._parts.infos)
        problem = self._problem(attempt)
        if problem is not None:
            return GroupCycle.without_attempt(attempt.root, error(problem))
        scheduling = self._scheduling(self._parts.cycle.profiles[attempt.scheduler_name()], attempt)
        return scheduling.report(scheduling.run())

    def _schedule(self, queued: QueuedPodGroup) -> Sequence[Decision]:
        attempt = _Attempt(queued, self._parts.infos)
        problem = self._problem(attempt)
        if problem is not None:
            return self._reject_all(attempt, error(problem))
        profile = self._parts.cycle.profiles[attempt.scheduler_name()]
        self._skip_members(attempt)
        if not any(attempt.members.values()):
            self._parts.queue.requeue_group(queued, None)
            return ()
        scheduling = self._scheduling(profile, attempt)
        results = scheduling.run()
        self._parts.observers.group_cycle(scheduling.report(results))
        attempt.kept = scheduling.kept
        return self._carry_out(attempt, profile, results, scheduling.root_status)

    def _scheduling(self, profile: Profile, attempt: _Attempt) -> GroupScheduling:
        parts = self._parts
        assumed = AssumedMembers(parts.cycle, parts.cache, parts.queue.nominator, profile)
        return GroupScheduling(
            parts.cycle,
            parts.cache.nodes,
            profile,
            assumed,
            attempt.root,
            self._state,
            has_topology=self._has_topology,
            has_composites=self._has_composites,
            observer=parts.observers.on_evaluated,
        )

    # -- validation -------------------------------------------------------------------------------

    def _problem(self, attempt: _Attempt) -> str | None:
        """Return why the group cannot be scheduled as one; None if it can."""
        name = attempt.scheduler_name()
        root = attempt.root.group
        priority = 0 if root is None else api.group_priority(root)
        policy = self._policy_of_group(root)
        for pod in self._all_members(attempt):
            if pod.scheduler_name != name:
                return OTHER_SCHEDULER.format(_quoted(pod.scheduler_name), _quoted(name))
            if (pod.spec.priority or 0) != priority:
                return OTHER_PRIORITY.format(pod.spec.priority or 0, priority)
            own = pod.spec.preemption_policy or _DEFAULT_POLICY
            policy = policy or own
            if own != policy:
                return (OTHER_POLICY_THAN_GROUP if self._has_policies else OTHER_POLICY).format(own, policy)
        return None if name in self._parts.cycle.profiles else NO_PROFILE.format(_quoted(name))

    def _policy_of_group(self, root: api.AnyPodGroup | None) -> str:
        """Return the preemption policy of the root; "" if it does not count."""
        if not self._has_policies:
            return ""
        return _DEFAULT_POLICY if root is None else root.spec.preemption_policy or _DEFAULT_POLICY

    def _all_members(self, attempt: _Attempt) -> Iterator[api.Pod]:
        """Yield the members that are to be scheduled, then those that are running or assumed."""
        for members in attempt.members.values():
            yield from (member.pod for member in members)
        for leaf in attempt.root.leaves():
            state = self._state(leaf.key)
            yield from state.assumed.values()
            yield from state.assigned.values()

    def _state(self, leaf: GroupKey) -> PodGroupState:
        groups = self._parts.cache.pod_groups
        assert groups is not None, "no group is queued without the gate GenericWorkload"
        return groups.state(leaf.namespace, leaf.name)

    def _skip_members(self, attempt: _Attempt) -> None:
        """Leave out members that are being deleted or are assumed already."""
        for key, members in attempt.members.items():
            left = [member for member in members if not self._is_skipped(member)]
            if len(left) < len(members):
                attempt.set_members(key, left)

    def _is_skipped(self, member: QueuedMember) -> bool:
        if member.pod.metadata.deletion_timestamp is None and not self._parts.cache.is_assumed(member.uid):
            return False
        self._parts.queue.done(member.uid)
        return True

    # -- carrying out -----------------------------------------------------------------------------

    def _reject_all(self, attempt: _Attempt, status: Status) -> Sequence[Decision]:
        """Fail all members and the group before its cycle."""
        leaves = list(attempt.root.leaves())
        self._parts.observers.group_cycle(GroupCycle.without_attempt(attempt.root, status))
        decisions: list[Decision] = []
        for member, pod in attempt.pods():
            decision = Failed(pod, member.profile, status)
            decisions.append(decision)
            self._fail(member, decision)
        for leaf in leaves:
            self._set_condition(leaf, "False", SCHEDULER_ERROR, status.message)
        self._parts.queue.requeue_group(attempt.queued, status)
        return decisions

    def _carry_out(
        self, attempt: _Attempt, profile: Profile, results: Results, root_status: Status | None
    ) -> Sequence[Decision]:
        """Carry out the results group by group, in the order of the tree."""
        decisions: list[Decision] = []
        for leaf in attempt.root.leaves():
            result = results[leaf.key]
            members = attempt.members.get(leaf.key, ())
            if result.is_success:
                decisions += self._commit(attempt, members, result, profile)
            else:
                for member, of_member in zip(members, result.members, strict=True):
                    refusal = _refusal(of_member, result, profile)
                    decisions.append(refusal)
                    self._fail(member, refusal)
            self._report(leaf, result)
        self._parts.queue.requeue_group(attempt.queued, root_status)
        return decisions

    def _commit(
        self, attempt: _Attempt, members: Sequence[QueuedMember], result: GroupResult, profile: Profile
    ) -> list[Decision]:
        """Assume, reserve and permit the members that were placed, and start their bindings; reject
        the others.

        All are assumed before the first is permitted, so that none has to wait for the next one.
        """
        cycle = self._parts.cycle
        reserved: list[tuple[QueuedMember, Scheduled | Unschedulable | Failed]] = []
        for member, of_member in zip(members, result.members, strict=True):
            decision = of_member.decision
            if isinstance(decision, Scheduled):
                decision.state.group_cycle = decision.state.placement = None
                if member.uid not in attempt.kept:
                    self._parts.queue.nominator.forget(member.uid)
                    decision = cycle.assume_and_reserve(profile, decision)
            reserved.append((member, decision))
        permitted = [
            (member, cycle.permit(profile, decision) if isinstance(decision, Scheduled) else decision)
            for member, decision in reserved
        ]
        for member, decision in permitted:
            if isinstance(decision, Scheduled) and not decision.waits:
                # Before the first binding, so that its events are not recorded for the others.
                self._parts.queue.done(member.uid)
        for member, decision in permitted:
            if isinstance(decision, Scheduled):
                self._parts.observers.decided(member, decision)
                self._settled.add(member.uid)
                self._parts.binding.start(member, decision, profile)
            else:
                self._fail(member, decision)
        return [decision for _, decision in permitted]

    def _fail(self, member: QueuedMember, decision: Unschedulable | Failed) -> None:
        self._parts.observers.decided(member, decision)
        self._settled.add(member.uid)
        self._on_failure(member, decision)

    def _broken(self, queued: QueuedPodGroup, members: Sequence[QueuedMember], cause: Exception) -> Sequence[Decision]:
        """Fail the members of an attempt with an internal error, leaving nothing of the attempt.
        Raises the error if there are no `internal_errors`."""
        parts = self._parts
        errors = parts.options.internal_errors
        if errors is None:
            raise cause
        errors.survived(GROUP_CYCLE, f"Pod group {queued.root.key}", cause)
        status = error(INTERNAL_ERROR.format(describe(cause)))
        decisions: list[Decision] = []
        for member in members:
            if member.uid in self._settled:
                continue
            decision = Failed(parts.infos.bare(member.pod), member.profile, status)
            decisions.append(decision)
            try:
                self._release(member)
                self._on_failure(member, decision)
            except Exception as again:
                errors.survived(GROUP_CYCLE, f"Pod {member.key}", again)
                parts.queue.done(member.uid)
        parts.queue.requeue_group(queued, status)
        return decisions

    # -- conditions -------------------------------------------------------------------------------

    def _report(self, leaf: PodGroupInfo, result: GroupResult) -> None:
        status = result.status.value
        if status is None:
            self._set_condition(leaf, "True", SCHEDULED, "")
        else:
            reason = UNSCHEDULABLE if status.is_rejected else SCHEDULER_ERROR
            self._set_condition(leaf, "False", reason, status.message)

    def _set_condition(self, leaf: PodGroupInfo, status: str, reason: str, message: str) -> None:
        """Write the condition PodGroupInitiallyScheduled, unless it is already so or True."""
        group = leaf.group
        if not isinstance(group, api.PodGroup):
            return
        condition = api.Condition(
            type=api.INITIALLY_SCHEDULED,
            status=status,
            reason=reason,
            message=message,
            observed_generation=group.metadata.generation,
        )
        for existing in group.status.conditions:
            if existing.type == condition.type and (
                (existing.status == "True" and status != "True") or _says_the_same(existing, condition)
            ):
                return
        self._parts.writer.report_group_condition(group, condition)


class _Attempt:
    """A popped group with the members that are to be scheduled."""

    def __init__(self, queued: QueuedPodGroup, infos: PendingInfos) -> None:
        self.queued = queued
        self.root = queued.root
        #: PodGroup → its members in queue order, in the order of the tree.
        self.members: dict[GroupKey, Sequence[QueuedMember]] = {}
        #: Uids of members that the cycle left assumed.
        self.kept: set[str] = set()
        self._infos: dict[str, PodInfo] = {}
        for leaf in self.root.leaves():
            for member in queued.members.get(leaf.key, ()):
                self._infos[member.uid] = infos.take(member.pod)
            self.members[leaf.key] = queued.members.get(leaf.key, ())
            leaf.unscheduled_pods = [self._infos[member.uid] for member in self.members[leaf.key]]

    def pods(self) -> Iterator[tuple[QueuedMember, PodInfo]]:
        for members in self.members.values():
            for member in members:
                yield member, self._infos[member.uid]

    def scheduler_name(self) -> str:
        """Return the scheduler name of the first member."""
        return next((member.pod.scheduler_name for members in self.members.values() for member in members), "")

    def set_members(self, key: GroupKey, members: Sequence[QueuedMember]) -> None:
        self.members[key] = members
        for leaf in self.root.leaves():
            if leaf.key == key:
                leaf.unscheduled_pods = [self._infos[member.uid] for member in members]


def _refusal(member: MemberResult, result: GroupResult, profile: Profile) -> Unschedulable | Failed:
    """Return the decision on a member of a group that failed."""
    status, decision = result.status.value, member.decision
    assert status is not None, "the group failed"
    if not status.is_rejected:
        return decision if isinstance(decision, Failed) else Failed(member.pod, profile.name, status)
    if isinstance(decision, Scheduled):
        if result.waits_for_preemption:
            return refused_with_group(member.pod, profile.name, status, member.nomination)
        return refused_with_group(member.pod, profile.name, rejected(status.message), CLEARED)
    if isinstance(decision, Unschedulable) and member.nomination is not None:
        return msgspec.structs.replace(decision, nomination=member.nomination)
    return decision


def _says_the_same(existing: api.Condition, condition: api.Condition) -> bool:
    return (existing.status, existing.reason, existing.message, existing.observed_generation) == (
        condition.status,
        condition.reason,
        condition.message,
        condition.observed_generation,
    )


def _quoted(name: str) -> str:
    return f'"{name}"'
