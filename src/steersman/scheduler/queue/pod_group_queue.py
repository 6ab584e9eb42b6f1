# SPDX-License-Identifier: Apache-2.0
"""Members of pod groups in the queue: which group they wait in, and what happens to the group.

A member is in one of three places. Its tree is *incomplete* while a group on the way to the root
does not exist. Otherwise it waits in the queued group of the root, which moves through the
sub-queues like a pod. While that group is being scheduled, new and failed members are *pending*;
`requeue` puts them into the next queued group.

`scheduling_queue` owns the only `PodGroupQueue`, with the gate GenericWorkload. Methods return
whether a group became poppable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from steersman import api
from steersman.framework import Code, GroupKey, PodEvents, PodGroupInfo, Status
from steersman.scheduler.queue.attempts import Attempts
from steersman.scheduler.queue.hints import Strategy
from steersman.scheduler.queue.queued_pod import Place
from steersman.scheduler.queue.queued_pod_group import QueuedMember, QueuedPodGroup
from steersman.scheduler.queue.requeue import Requeuer
from steersman.scheduler.queue.saved_queue import SavedQueue
from steersman.scheduler.queue.sub_queues import PodAlreadyQueuedError, SubQueues
from steersman.scheduler.queue.waiting_members import WaitingMembers
from steersman.scheduler.state import GroupHierarchy, key_of_group

SCHEDULE_ATTEMPT_FAILURE: Final = "ScheduleAttemptFailure"

_STRATEGIES: Final = {
    Place.ACTIVE: Strategy.IMMEDIATELY,
    Place.BACKOFF: Strategy.AFTER_BACKOFF,
    Place.ERROR_BACKOFF: Strategy.AFTER_BACKOFF,
    Place.UNSCHEDULABLE: Strategy.SKIP,
}
"""Strategy with which a group returns to the place where it was changed."""


class PodGroupQueue:
    """Members of groups, and the queued groups that contain them."""

    def __init__(
        self,
        hierarchy: GroupHierarchy,
        queues: SubQueues,
        requeuer: Requeuer,
        attempts: Attempts,
        pod_events: PodEvents,
        current_time: Callable[[], int],
    ) -> None:
        self.hierarchy = hierarchy
        self._queues = queues
        self._requeuer = requeuer
        self._attempts = attempts
        self._current_time = current_time
        self._added = pod_events.unscheduled_add.label
        self._updated = pod_events.unscheduled_update.label
        self._deleted = pod_events.unscheduled_delete.label
        self.pending = WaitingMembers(Place.PENDING_GROUP)
        self.incomplete = WaitingMembers(Place.INCOMPLETE_GROUP)
        #: Groups in the sub-queues by root.
        self.queued: dict[GroupKey, QueuedPodGroup] = {}
        #: Waiting members by `namespace/name`.
        self._members: dict[str, QueuedMember] = {}
        #: Root of the tree that is being scheduled.
        self._in_cycle: GroupKey | None = None

    # -- members ----------------------------------------------------------------------------------

    def get(self, key: str) -> QueuedMember | None:
        """Return the waiting member with this `namespace/name`."""
        return self._members.get(key)

    def add(self, pod: api.Pod, leaf: GroupKey) -> bool:
        """Add a new member of a PodGroup."""
        now = self._current_time()
        return self._place(QueuedMember(pod, now, self._attempts.next_serial(), leaf), now)

    def put_back(self, member: QueuedMember) -> bool:
        """Put back a member whose attempt failed, after `record_attempt` and `done`."""
        now = self._current_time()
        self._attempts.record_failure(member, now)
        return self._place(member, now)

    def _place(self, member: QueuedMember, now: int) -> bool:
        """Put a member where it has to wait."""
        resident = self._members.get(member.key)
        if resident is not None and resident is not member:
            self.delete(resident)
        self._members[member.key] = member
        root = self.hierarchy.root(member.leaf)
        if root is None:
            self.incomplete.add(member, self._added)
            return False
        group = self.queued.get(root)
        if group is not None and group.place is Place.UNSCHEDULABLE:
            group.add(member, self._added)
            self._queues.unschedulable.update_group(group, self._added)
            return False
        if group is not None:
            came_from = self._take_out(group, self._added)
            group.add(member, self._added)
            return self._put_group_back(group, came_from, self._added, now)
        if root == self._in_cycle:
            self.pending.add(member, self._added)
            return False
        group = self._new_group(root, member.timestamp)
        group.initial_attempt = member.initial_attempt
        group.add(member, self._added)
        return self._requeuer.to_active(group, self._added, now)

    def delete(self, member: QueuedMember) -> bool:
        """Remove a deleted member, and its group if it was the last one."""
        del self._members[member.key]
        self._attempts.count_rejections(member, -1)
        group = member.group
        if group is None:
            (self.pending if member.place is Place.PENDING_GROUP else self.incomplete).remove(member)
            member.move_to(Place.OUTSIDE, self._deleted)
            return False
        came_from = self._take_out(group, self._deleted)
        group.remove(member.key)
        member.move_to(Place.OUTSIDE, self._deleted)
        return self._put_group_back(group, came_from, self._added, self._current_time())

    # -- attempts ---------------------------------------------------------------------------------

    def begin(self, group: QueuedPodGroup, event: str) -> bool:
        """Begin the attempt of a popped group. Members that are in flight are dropped; return False
        if none is left."""
        del self.queued[group.root.key]
        for member in group.pods():
            del self._members[member.key]
        if not self._attempts.begin_group(group, event):
            return False
        root = group.root.key
        tree = self.hierarchy.tree(root)
        group.root = tree[root]
        self._in_cycle = root
        return True

    def end_cycle(self) -> bool:
        """Note that no group is being scheduled any more. Members that are still pending, because
        the cycle of their group failed before `requeue`, are queued."""
        if self._in_cycle is None:
            return False
        self._in_cycle = None
        ready, now = False, self._current_time()
        for leaf in self.pending.leaves():
            for member in self.pending.clear(leaf):
                ready |= self._place(member, now)
        return ready

    def requeue(self, group: QueuedPodGroup, status: Status | None) -> bool:
        """End the attempt of a group: put pending members into a new queued group. Failed members
        must have been put back before."""
        self._in_cycle = None
        if group.place is Place.IN_FLIGHT:
            group.move_to(Place.OUTSIDE, SCHEDULE_ATTEMPT_FAILURE)
        root = group.root.key
        pending = [member for leaf in self.hierarchy.leaves(root) for member in self.pending.clear(leaf)]
        if not pending:
            return False
        if self.hierarchy.root(root) != root:
            for member in pending:
                self.incomplete.add(member, SCHEDULE_ATTEMPT_FAILURE)
            return False
        if root in self.queued:
            raise PodAlreadyQueuedError(f"pod group {root} is already present in the queue")
        return self._requeue(group, pending, status)

    def _requeue(self, earlier: QueuedPodGroup, pending: Sequence[QueuedMember], status: Status | None) -> bool:
        """Queue the members that the attempt of the earlier group left. After a success they are
        retried at once: failed ones with the old timestamp, because they may need a preemption."""
        now = self._current_time()
        group = self._new_group(earlier.root.key, now)
        added = group.serial
        group.inherit(earlier)
        attempted = {member.uid for member in earlier.pods()}
        is_success = status is None or status.code is Code.SUCCESS
        if not is_success or not any(member.uid in attempted for member in pending):
            group.timestamp, group.serial = now, added
        for member in pending:
            group.add(member, SCHEDULE_ATTEMPT_FAILURE)
        self._attempts.end_group(group, status)
        if is_success:
            return self._requeuer.to_active(group, SCHEDULE_ATTEMPT_FAILURE, now)
        return self._requeuer.requeue(group, Strategy.AFTER_BACKOFF, SCHEDULE_ATTEMPT_FAILURE, now)

    # -- group objects ----------------------------------------------------------------------------

    def add_group(self, obj: api.AnyPodGroup) -> bool:
        """Add a group object, and move the members whose tree it completes."""
        self.hierarchy.put(obj)
        key = key_of_group(obj)
        root = self.hierarchy.root(key)
        if root is None:
            return False
        self._refresh(root)
        ready, now = False, self._current_time()
        for leaf in list(self.hierarchy.leaves(key)):
            for member in self.incomplete.clear(leaf):
                ready |= self._place(member, now)
        return ready

    def update_group(self, obj: api.AnyPodGroup) -> bool:
        """Replace a group object by a new version; one with another parent is a new object."""
        old = self.hierarchy.get(key_of_group(obj))
        if old is None:
            return self.add_group(obj)
        if self.hierarchy.parent_of(old) != self.hierarchy.parent_of(obj):
            ready = self.delete_group(old)
            return self.add_group(obj) or ready
        self.hierarchy.put(obj)
        root = self.hierarchy.root(key_of_group(obj))
        if root is not None:
            self._refresh(root)
        return False

    def delete_group(self, obj: api.AnyPodGroup) -> bool:
        """Remove a group object. The members below it have to wait until it exists again."""
        key = key_of_group(obj)
        root = self.hierarchy.root(key)
        leaves = list(self.hierarchy.leaves(key))
        self.hierarchy.remove(key)
        if root is None:
            return False
        for leaf in leaves:
            for member in self.pending.clear(leaf):
                self.incomplete.add(member, self._updated)
        group = self.queued.get(root)
        if group is None:
            return False
        came_from = self._take_out(group, self._updated)
        for member in group.remove_leaves(leaves):
            self.incomplete.add(member, self._updated)
        return self._put_group_back(group, came_from, self._updated, self._current_time())

    def _refresh(self, root: GroupKey) -> None:
        """Update the queued group of the root after its object may have changed."""
        group, obj = self.queued.get(root), self.hierarchy.get(root)
        if group is not None and obj is not None and group.root.group is not obj:
            group.set_group(obj)
            self._queues.reposition(group)

    # -- queued groups ----------------------------------------------------------------------------

    def _new_group(self, root: GroupKey, timestamp: int) -> QueuedPodGroup:
        tree = PodGroupInfo(root, self.hierarchy.get(root))
        group = self.queued[root] = QueuedPodGroup(tree, timestamp, self._attempts.next_serial())
        return group

    def _take_out(self, group: QueuedPodGroup, event: str) -> Place:
        """Take a group out of its sub-queue, to change its members; return where it was."""
        place = group.place
        self._queues.remove(group.key)
        group.move_to(Place.OUTSIDE, event)
        return place

    def _put_group_back(self, group: QueuedPodGroup, came_from: Place, event: str, now: int) -> bool:
        """Return a group to its sub-queue, unless it is empty, gated, or its backoff is over."""
        if not group.size:
            del self.queued[group.root.key]
            return False
        return self._requeuer.requeue(group, _STRATEGIES[came_from], event, now)

    # -- views ------------------------------------------------------------------------------------

    @property
    def member_count(self) -> int:
        """Number of waiting members."""
        return len(self._members)

    def extra_members(self) -> Counter[Place]:
        """Return the number of members of queued groups, less one for each group, by place."""
        extra: Counter[Place] = Counter()
        for group in self.queued.values():
            extra[group.place] += group.size - 1
        return extra

    def outside_groups(self) -> Iterator[QueuedMember]:
        """Iterate over pending members and those of incomplete trees."""
        yield from self.pending
        yield from self.incomplete

    def clear(self) -> None:
        """Remove all members; queued groups have been removed already."""
        self.pending = WaitingMembers(Place.PENDING_GROUP)
        self.incomplete = WaitingMembers(Place.INCOMPLETE_GROUP)
        self.queued.clear()
        self._members.clear()
        self._in_cycle = None

    def restore(self, saved: SavedQueue, pods: Mapping[str, api.Pod]) -> None:
        """Replace all members and queued groups."""
        self.clear()
        for saved_group in saved.groups:
            root = saved_group.root
            group = saved_group.restored(QueuedPodGroup(PodGroupInfo(root, self.hierarchy.get(root)), 0, 0), pods)
            self._members.update((member.key, member) for member in group.pods())
            self.queued[root] = group
            self._queues.put(group, saved_group.history.place, saved_group.history.moved_by)
        for saved_member in saved.members:
            member = saved_member.restored_member(pods)
            self._members[member.key] = member
            (self.pending if saved_member.place is Place.PENDING_GROUP else self.incomplete).add(
                member, saved_member.moved_by
            )
        for member in self._members.values():
            self._attempts.count_rejections(member, 1)

    def problems(self, groups: Iterable[QueuedPodGroup]) -> Iterator[str]:
        """Yield violated invariants, given the groups in the sub-queues."""
        yield from self.pending.problems()
        yield from self.incomplete.problems()
        yield from self.hierarchy.problems()
        found = {member.key: member for member in self.outside_groups()}
        groups = list(groups)
        if {group.root.key: group for group in groups} != self.queued:
            yield f"{groups} are queued, not {list(self.queued.values())}"
        for group in groups:
            yield from group.problems()
            found.update((member.key, member) for member in group.pods())
            wrong = [member for member in group.pods() if self.hierarchy.root(member.leaf) != group.root.key]
            yield from (f"{member} is in {group}, which is not its root" for member in wrong)
        if found != self._members:
            yield f"members {found.keys() ^ self._members.keys()} are not found by key, or not in any place"
        for member in self.incomplete:
            if self.hierarchy.root(member.leaf) is not None:
                yield f"{member} waits although its tree is complete"
        for member in self.pending:
            if self.hierarchy.root(member.leaf) != self._in_cycle:
                yield f"{member} is pending, but its group is not being scheduled"
