# SPDX-License-Identifier: Apache-2.0
"""Pod groups with their members: implements `framework.PodGroups`.

`ingest` writes group objects and members without a node, `Cache` assumed and bound members. A group
may have members before its object exists.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from steersman import api
from steersman.base.graph_copy import copied_attributes, finished_by, shallow, shared_by_copies
from steersman.framework import GroupKey, GroupKind
from steersman.scheduler.state.group_hierarchy import GroupHierarchy, group_of_pod, key_of_group


class AssumedMembers(Mapping[str, api.Pod]):
    """Assumed members by uid, as if they were bound to their nodes."""

    __slots__ = ("_placed",)

    def __init__(self, placed: dict[str, tuple[api.Pod, str]]) -> None:
        self._placed = placed

    def __getitem__(self, uid: str) -> api.Pod:
        pod, node = self._placed[uid]
        return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=node))

    def __contains__(self, uid: object) -> bool:
        return uid in self._placed

    def __iter__(self) -> Iterator[str]:
        return iter(self._placed)

    def __len__(self) -> int:
        return len(self._placed)


@shared_by_copies
class GroupMembers:
    """Members of one PodGroup: implements `framework.PodGroupState`.

    Forks of a simulation share these objects; a table copies a shared one before it changes it.
    """

    __slots__ = ("_placed", "assigned", "owner", "unscheduled")

    def __init__(self, owner: object) -> None:
        #: Token of the table that may change this object.
        self.owner = owner
        self.unscheduled: dict[str, api.Pod] = {}
        #: Assumed members with their nodes.
        self._placed: dict[str, tuple[api.Pod, str]] = {}
        self.assigned: dict[str, api.Pod] = {}

    @property
    def assumed(self) -> AssumedMembers:
        return AssumedMembers(self._placed)

    @property
    def scheduled_count(self) -> int:
        return len(self._placed) + len(self.assigned)

    @property
    def count(self) -> int:
        return len(self.unscheduled) + len(self._placed) + len(self.assigned)

    def copy(self, owner: object) -> GroupMembers:
        made = GroupMembers(owner)
        made.unscheduled = self.unscheduled.copy()
        made._placed = self._placed.copy()
        made.assigned = self.assigned.copy()
        return made

    def put(self, pod: api.Pod) -> None:
        """Add a member or replace it by a new version; an assumed one stays assumed until it has a
        node."""
        uid = pod.metadata.uid
        if pod.spec.node_name:
            self.unscheduled.pop(uid, None)
            self._placed.pop(uid, None)
            self.assigned[uid] = pod
        elif uid in self._placed:
            self._placed[uid] = pod, self._placed[uid][1]
        else:
            self.unscheduled[uid] = pod

    def remove(self, uid: str) -> None:
        self.unscheduled.pop(uid, None)
        self._placed.pop(uid, None)
        self.assigned.pop(uid, None)

    def assume(self, uid: str, node: str) -> None:
        pod = self.unscheduled.pop(uid, None)
        if pod is not None:
            self._placed[uid] = pod, node

    def forget(self, uid: str) -> None:
        placed = self._placed.pop(uid, None)
        if placed is not None:
            self.unscheduled[uid] = placed[0]


_NO_MEMBERS = GroupMembers(None)


def _disown(original: PodGroupTable, made: PodGroupTable) -> None:
    """Mark all members as shared: neither table may change existing ones."""
    original._owner, made._owner = object(), object()


@finished_by(_disown)
@copied_attributes(_members=shallow)
class PodGroupTable:
    """All groups and their members."""

    def __init__(self, *, has_composites: bool = True) -> None:
        self.hierarchy = GroupHierarchy(has_composites=has_composites)
        #: PodGroup → its members; a group without members may be missing.
        self._members: dict[GroupKey, GroupMembers] = {}
        self._owner = object()
        #: Increases with every change of groups and members.
        self.version = 0

    # -- reading ----------------------------------------------------------------------------------

    def pod_group(self, namespace: str, name: str) -> api.PodGroup | None:
        found = self.hierarchy.get(GroupKey(GroupKind.POD_GROUP, namespace, name))
        return found if isinstance(found, api.PodGroup) else None

    def composite(self, namespace: str, name: str) -> api.CompositePodGroup | None:
        found = self.hierarchy.get(GroupKey(GroupKind.COMPOSITE, namespace, name))
        return found if isinstance(found, api.CompositePodGroup) else None

    def group(self, key: GroupKey) -> api.AnyPodGroup | None:
        return self.hierarchy.get(key)

    def state(self, namespace: str, name: str) -> GroupMembers:
        return self._members.get(GroupKey(GroupKind.POD_GROUP, namespace, name), _NO_MEMBERS)

    def children(self, key: GroupKey) -> Sequence[GroupKey]:
        return self.hierarchy.children(key)

    def root(self, key: GroupKey) -> GroupKey | None:
        return self.hierarchy.root(key)

    def members(self) -> Iterator[tuple[GroupKey, GroupMembers]]:
        """Iterate over the groups that have members."""
        return iter(self._members.items())

    # -- writing ----------------------------------------------------------------------------------

    def set_group(self, group: api.AnyPodGroup) -> None:
        """Add or replace a group object."""
        self.version += 1
        self.hierarchy.put(group)

    def remove_group(self, group: api.AnyPodGroup) -> None:
        """Remove a group object; its members stay."""
        self.version += 1
        self.hierarchy.remove(key_of_group(group))

    def put(self, pod: api.Pod) -> None:
        """Add a pod or replace it by a new version. No effect on a pod without a group."""
        key = group_of_pod(pod)
        if key is not None:
            members = self._own(key)
            if members is None:
                members = self._members[key] = GroupMembers(self._owner)
            members.put(pod)

    def remove(self, pod: api.Pod) -> None:
        """Remove a deleted pod."""
        key = group_of_pod(pod)
        members = None if key is None else self._own(key)
        if key is not None and members is not None:
            members.remove(pod.metadata.uid)
            if not members.count:
                del self._members[key]

    def assume(self, pod: api.Pod, node: str) -> None:
        """Mark a member as assumed. No effect on a pod that was deleted in the meantime."""
        key = group_of_pod(pod)
        members = None if key is None else self._own(key)
        if members is not None:
            members.assume(pod.metadata.uid, node)

    def forget(self, pod: api.Pod) -> None:
        """Mark an assumed member as unscheduled again."""
        key = group_of_pod(pod)
        members = None if key is None else self._own(key)
        if members is not None:
            members.forget(pod.metadata.uid)

    def _own(self, key: GroupKey) -> GroupMembers | None:
        """Return the members of a group for a change, copying those that a fork shares."""
        self.version += 1
        members = self._members.get(key)
        if members is not None and members.owner is not self._owner:
            members = self._members[key] = members.copy(self._owner)
        return members
