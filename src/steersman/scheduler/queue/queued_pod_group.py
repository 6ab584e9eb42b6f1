# SPDX-License-Identifier: Apache-2.0
"""A group of pods in the queue: the tree of a PodGroup or CompositePodGroup without parent, with
the members that wait for a node.

A group has one place, one timestamp and one backoff. Members have a history of their own (attempts,
plugins that rejected or gate them), because they return from an attempt one by one.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import ClassVar

from steersman import api
from steersman.framework import GroupKey, PodGroupInfo
from steersman.scheduler.queue.queued_pod import NEVER, NO_PLUGINS, Place, QueuedEntity, QueuedPodInfo

Order = tuple[int, int, int, str]
"""Order of members: priority, attempts, timestamp, name. Attempts come before timestamps, because a
failed attempt renews the timestamp."""

_order = attrgetter("order")


class QueuedMember(QueuedPodInfo):
    """A pod that is a member of a group."""

    __slots__ = ("counted", "group", "leaf", "order")

    def __init__(self, pod: api.Pod, timestamp: int, serial: int, leaf: GroupKey) -> None:
        super().__init__(pod, timestamp, serial)
        #: The PodGroup that the pod names.
        self.leaf = leaf
        #: The queued group that contains the pod, if any.
        self.group: QueuedPodGroup | None = None
        #: Position in the queued group.
        self.order: Order = (0, 0, 0, "")
        #: Rejectors as counted by the group.
        self.counted = NO_PLUGINS

    @property
    def sub_queue(self) -> Place:
        return self.place if self.group is None else self.group.place

    def current_order(self) -> Order:
        return -(self.pod.spec.priority or 0), -self.attempts, self.timestamp, self.pod.metadata.name


class QueuedPodGroup(QueuedEntity):
    """A tree of groups with its waiting members."""

    __slots__ = (
        "_gated",
        "_members_by_key",
        "_pending",
        "_rejections",
        "_unchecked",
        "_unentered",
        "_unrejected",
        "members",
        "root",
    )

    noun: ClassVar[str] = "pod group"

    def __init__(self, root: PodGroupInfo, timestamp: int, serial: int) -> None:
        super().__init__(_stand_in(root), timestamp, serial)
        self.key = self.uid = str(root.key)
        #: The root of the tree. Its descendants are filled in when the group is popped.
        self.root = root
        #: PodGroup → its members in the order in which they are scheduled. No empty values.
        self.members: dict[GroupKey, list[QueuedMember]] = {}
        self._members_by_key: dict[str, QueuedMember] = {}
        #: Plugin → number of members that it rejects or gates.
        self._rejections: Counter[str] = Counter()
        #: Number of members that no plugin rejects, and of those with pending plugins.
        self._unrejected = 0
        self._pending = 0
        #: Gated members in their order.
        self._gated: list[QueuedMember] = []
        #: Members for which PreEnqueue has not run in this group.
        self._unchecked: dict[str, QueuedMember] = {}
        #: Members that have never entered activeQ.
        self._unentered: dict[str, QueuedMember] = {}

    def __lt__(self, other: object) -> bool:
        """Compare with an outdated entry of the same group in a heap: equal."""
        return False

    @property
    def size(self) -> int:
        return len(self._members_by_key)

    def pods(self) -> Iterator[QueuedMember]:
        """Iterate over the members, group by group."""
        for members in self.members.values():
            yield from members

    def get(self, key: str) -> QueuedMember | None:
        """Return the member with this `namespace/name`."""
        return self._members_by_key.get(key)

    # -- members ----------------------------------------------------------------------------------

    def add(self, member: QueuedMember, event: str) -> None:
        """Add a member at its position."""
        member.move_to(Place.IN_GROUP, event)
        member.group = self
        member.order = member.current_order()
        self.profile = member.profile
        insort(self.members.setdefault(member.leaf, []), member, key=_order)
        self._members_by_key[member.key] = self._unchecked[member.key] = member
        if member.initial_attempt == NEVER:
            self._unentered[member.key] = member
        self._count(member)
        if member.is_gated:
            insort(self._gated, member, key=_order)

    def remove(self, key: str) -> QueuedMember | None:
        """Remove and return a member; the caller moves it."""
        member = self._members_by_key.pop(key, None)
        if member is None:
            return None
        _take_out(self.members[member.leaf], member)
        if not self.members[member.leaf]:
            del self.members[member.leaf]
        self._released(member)
        return member

    def remove_leaves(self, leaves: Iterable[GroupKey]) -> list[QueuedMember]:
        """Remove and return the members of some PodGroups; the caller moves them."""
        removed = [member for leaf in leaves for member in self.members.pop(leaf, ())]
        for member in removed:
            del self._members_by_key[member.key]
            self._released(member)
        return removed

    def _released(self, member: QueuedMember) -> None:
        member.group = None
        self._unchecked.pop(member.key, None)
        self._unentered.pop(member.key, None)
        self._uncount(member)
        if member.is_gated:
            _take_out(self._gated, member)

    # -- what rejects the members -----------------------------------------------------------------

    @property
    def rejectors(self) -> frozenset[str]:
        """Plugins that reject or gate a member."""
        return frozenset(self._rejections)

    @property
    def has_unrejected_pods(self) -> bool:
        return self._unrejected > 0

    @property
    def has_pending_plugins(self) -> bool:
        """Whether a plugin returned Pending for a member."""
        return self._pending > 0

    def rejections_by(self, plugin: str) -> int:
        return self._rejections[plugin]

    def recount(self, member: QueuedMember, was_gated: bool) -> None:
        """Update the counts after PreEnqueue ran for a member."""
        if member.counted != member.rejectors:
            self._uncount(member)
            self._count(member)
        if member.is_gated and not was_gated:
            insort(self._gated, member, key=_order)
        elif was_gated and not member.is_gated:
            _take_out(self._gated, member)

    def take_unchecked(self) -> list[QueuedMember]:
        """Return the members for which PreEnqueue has not run in this group, and assume that it
        will."""
        unchecked, self._unchecked = list(self._unchecked.values()), {}
        return unchecked

    @property
    def gated(self) -> list[QueuedMember]:
        """Return the gated members in their order."""
        return self._gated.copy()

    @property
    def last_gated(self) -> QueuedMember | None:
        """The last gated member, whose gate is the group's."""
        return self._gated[-1] if self._gated else None

    def _count(self, member: QueuedMember) -> None:
        member.counted = member.rejectors
        self._rejections.update(member.counted)
        self._unrejected += not member.counted
        self._pending += bool(member.pending_plugins)

    def _uncount(self, member: QueuedMember) -> None:
        for plugin in member.counted:
            self._rejections[plugin] -= 1
            if not self._rejections[plugin]:
                del self._rejections[plugin]
        self._unrejected -= not member.counted
        self._pending -= bool(member.pending_plugins)

    # -- time -------------------------------------------------------------------------------------

    def enter_active(self, now: int) -> None:
        """Record the time at which new members have entered activeQ."""
        for member in self._unentered.values():
            member.initial_attempt = now
        self._unentered.clear()

    def mark_flushed(self, was_flushed: bool) -> None:
        """Set `was_flushed` of the group and of its members."""
        if self.was_flushed is not was_flushed:
            self.was_flushed = was_flushed
            for member in self.pods():
                member.was_flushed = was_flushed

    def inherit(self, earlier: QueuedPodGroup) -> None:
        """Continue the history of the group that was popped."""
        for name in _HISTORY:
            setattr(self, name, getattr(earlier, name))

    def set_group(self, group: api.AnyPodGroup) -> None:
        """Replace the object of the root by a new version."""
        self.root.group = group
        self.pod = _stand_in(self.root)

    def problems(self) -> Iterator[str]:
        """Yield inconsistencies, for `validate_state`."""
        members = list(self.pods())
        if {member.key: member for member in members} != self._members_by_key or not all(self.members.values()):
            yield f"{self} has other members by key than in order"
        for leaf, ordered in self.members.items():
            if ordered != sorted(ordered, key=_order) or any(member.leaf != leaf for member in ordered):
                yield f"the members of {leaf} are out of order"
        for member in members:
            if member.place is not Place.IN_GROUP or member.group is not self:
                yield f"{member} is in {self}"
            if member.counted != member.rejectors:
                yield f"{member} is counted for {sorted(member.counted)}"
        rejections = Counter(plugin for member in members for plugin in member.rejectors)
        counts = sum(not m.rejectors for m in members), sum(bool(m.pending_plugins) for m in members)
        if self._rejections != rejections or (self._unrejected, self._pending) != counts:
            yield f"{self} counts {dict(self._rejections)} {self._unrejected} {self._pending}"
        if self._gated != sorted((member for member in members if member.is_gated), key=_order):
            yield f"{self} has other gated members than {self._gated}"


Queued = QueuedPodInfo | QueuedPodGroup
"""What the sub-queues contain."""

_HISTORY = (
    "timestamp",
    "serial",
    "initial_attempt",
    "attempts",
    "unschedulable_count",
    "consecutive_errors",
    "backoff_until",
    "gating_plugin",
    "woken_by",
)


def _take_out(members: list[QueuedMember], member: QueuedMember) -> None:
    """Remove the member from a list in the order of members."""
    index = bisect_left(members, member.order, key=_order)
    while members[index] is not member:
        index += 1
    del members[index]


def _stand_in(root: PodGroupInfo) -> api.Pod:
    """Return a pod with the metadata and the priority of the group."""
    group = root.group
    if group is None:
        return api.Pod(metadata=api.ObjectMeta(name=root.key.name, namespace=root.key.namespace))
    return api.Pod(metadata=group.metadata, spec=api.PodSpec(priority=api.group_priority(group)))
