# SPDX-License-Identifier: Apache-2.0
"""A queue with pod groups for tests."""

from __future__ import annotations

from collections.abc import Iterable

from tests.queue.queues import PROFILE, Gate, QueueUnderTest

from steersman.framework import ClusterEventWithHint, GroupKey, GroupKind, PodEvents, Status, unschedulable
from steersman.scheduler.queue import (
    PodGroupSettings,
    QueuedMember,
    QueuedPodGroup,
    QueueProfile,
    QueueSettings,
)

POD_EVENTS = PodEvents(by_role=True)
REJECTED = unschedulable("no node fits")


def leaf(name: str) -> GroupKey:
    return GroupKey(GroupKind.POD_GROUP, "default", name)


def composite(name: str) -> GroupKey:
    return GroupKey(GroupKind.COMPOSITE, "default", name)


class GroupQueue(QueueUnderTest):
    """A queue of v1.37 with the gate GenericWorkload."""

    def __init__(
        self,
        *rows: tuple[str, ClusterEventWithHint],
        gates: Iterable[Gate] = (),
        has_composites: bool = True,
        settings: QueueSettings | None = None,
    ) -> None:
        super().__init__(
            profiles={PROFILE: QueueProfile(tuple(gates), rows)},
            settings=settings
            or QueueSettings(
                pod_events=POD_EVENTS,
                nominates_on_add=True,
                uncounts_deleted_pods=True,
                pod_groups=PodGroupSettings(has_composites),
            ),
        )

    def place_of(self, name: str) -> str | None:
        return self.queue.place_of(f"default/{name}")

    def group_of(self, key: GroupKey) -> QueuedPodGroup:
        group = self.queue.group(key)
        assert group is not None
        return group

    def end(self, group: QueuedPodGroup, status: Status | None = None, *, failed: Iterable[str] = ()) -> None:
        """End the cycle of a group: the named members fail, the others are bound."""
        names = set(failed)
        for member in list(group.pods()):
            if member.pod.metadata.name in names:
                self.fail_member(member, "Fit")
            else:
                self.queue.done(member.uid)
        self.queue.requeue_group(group, status)

    def fail_member(self, member: QueuedMember, *plugins: str) -> None:
        member.record_attempt(plugins)
        self.queue.add_unschedulable_if_not_present(member)

    def reject(self, group: QueuedPodGroup) -> None:
        """End the cycle of a group with a rejection of all members."""
        self.end(group, REJECTED, failed=names(group))


def names(group: QueuedPodGroup) -> list[str]:
    return [member.pod.metadata.name for member in group.pods()]
