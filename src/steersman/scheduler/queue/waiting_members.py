# SPDX-License-Identifier: Apache-2.0
"""Members of groups that wait outside of any queued group, by PodGroup in the order of arrival."""

from __future__ import annotations

from collections.abc import Iterator

from steersman.framework import GroupKey
from steersman.scheduler.queue.queued_pod import Place
from steersman.scheduler.queue.queued_pod_group import QueuedMember


class WaitingMembers:
    """Members in one place."""

    __slots__ = ("_by_leaf", "place")

    def __init__(self, place: Place) -> None:
        self.place = place
        #: PodGroup → its members by `namespace/name`. No empty values.
        self._by_leaf: dict[GroupKey, dict[str, QueuedMember]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._by_leaf.values()))

    def __iter__(self) -> Iterator[QueuedMember]:
        return (member for members in self._by_leaf.values() for member in members.values())

    def leaves(self) -> list[GroupKey]:
        """Return the PodGroups that have members here."""
        return list(self._by_leaf)

    def add(self, member: QueuedMember, event: str) -> None:
        member.move_to(self.place, event)
        self._by_leaf.setdefault(member.leaf, {})[member.key] = member

    def remove(self, member: QueuedMember) -> None:
        """Remove a member; the caller moves it."""
        members = self._by_leaf[member.leaf]
        del members[member.key]
        if not members:
            del self._by_leaf[member.leaf]

    def clear(self, leaf: GroupKey) -> list[QueuedMember]:
        """Remove and return the members of a PodGroup; the caller moves them."""
        return list(self._by_leaf.pop(leaf, {}).values())

    def problems(self) -> Iterator[str]:
        for leaf, members in self._by_leaf.items():
            for key, member in members.items():
                if (member.key, member.leaf, member.place, member.group) != (key, leaf, self.place, None):
                    yield f"{member} of {member.leaf} is at {key} of {leaf}, in {self.place.name}"
            if not members:
                yield f"{leaf} has no members in {self.place.name}"
