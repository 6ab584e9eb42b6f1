# SPDX-License-Identifier: Apache-2.0
"""The contents of a scheduling queue as data, so that a replay can continue from a recorded state.

`SchedulingQueue.saved` makes a `SavedQueue` while no pod is in flight, `SchedulingQueue.restore`
takes one.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from steersman import api
from steersman.base import InputError
from steersman.framework import GroupKey, GroupKind
from steersman.scheduler.queue.queued_pod import NEVER, Place, QueuedPodInfo
from steersman.scheduler.queue.queued_pod_group import Queued, QueuedMember, QueuedPodGroup
from steersman.scheduler.state import group_of_pod

SAVED_PLACES = (Place.ACTIVE, Place.BACKOFF, Place.ERROR_BACKOFF, Place.UNSCHEDULABLE)


class SavedPod(msgspec.Struct, frozen=True, array_like=True):
    """A queued pod or group: the fields of `QueuedEntity` that do not follow from the object."""

    #: `namespace/name` of a pod.
    pod: str
    place: Place
    timestamp: int
    serial: int
    initial_attempt: int = NEVER
    attempts: int = 0
    unschedulable_count: int = 0
    consecutive_errors: int = 0
    backoff_until: int = NEVER
    unschedulable_plugins: tuple[str, ...] = ()
    pending_plugins: tuple[str, ...] = ()
    gating_plugin: str = ""
    was_flushed: bool = False
    flushed_at: int = NEVER
    moved_by: str = ""
    woken_by: tuple[str, str] = ("", "")

    @classmethod
    def from_queued(cls, queued: Queued) -> SavedPod:
        return cls(
            queued.key,
            queued.place,
            queued.timestamp,
            queued.serial,
            queued.initial_attempt,
            queued.attempts,
            queued.unschedulable_count,
            queued.consecutive_errors,
            queued.backoff_until,
            tuple(sorted(queued.unschedulable_plugins)),
            tuple(sorted(queued.pending_plugins)),
            queued.gating_plugin,
            queued.was_flushed,
            queued.flushed_at,
            queued.moved_by,
            queued.woken_by,
        )

    def restored(self, pods: Mapping[str, api.Pod]) -> QueuedPodInfo:
        """Return the queued pod, which is in no sub-queue yet. Raises `InputError` for a pod that
        does not exist."""
        queued = QueuedPodInfo(self._pod(pods), self.timestamp, self.serial)
        self.restore(queued)
        return queued

    def restored_member(self, pods: Mapping[str, api.Pod]) -> QueuedMember:
        """Return the member of a group, which is in no group yet. Raises `InputError`."""
        pod = self._pod(pods)
        leaf = group_of_pod(pod)
        if leaf is None:
            raise InputError("is queued in a group, but names none", object=f"Pod {self.pod}")
        queued = QueuedMember(pod, self.timestamp, self.serial, leaf)
        self.restore(queued)
        return queued

    def restore(self, queued: Queued) -> None:
        """Set the fields of a queued pod or group."""
        queued.timestamp = self.timestamp
        queued.serial = self.serial
        queued.initial_attempt = self.initial_attempt
        queued.attempts = self.attempts
        queued.unschedulable_count = self.unschedulable_count
        queued.consecutive_errors = self.consecutive_errors
        queued.backoff_until = self.backoff_until
        queued.unschedulable_plugins = frozenset(self.unschedulable_plugins)
        queued.pending_plugins = frozenset(self.pending_plugins)
        queued.gating_plugin = self.gating_plugin
        queued.was_flushed = self.was_flushed
        queued.flushed_at = self.flushed_at
        queued.woken_by = self.woken_by

    def _pod(self, pods: Mapping[str, api.Pod]) -> api.Pod:
        pod = pods.get(self.pod)
        if pod is None:
            raise InputError("is queued, but does not exist", object=f"Pod {self.pod}")
        return pod


class SavedGroup(msgspec.Struct, frozen=True, array_like=True):
    """A queued group with its members."""

    kind: GroupKind
    namespace: str
    name: str
    history: SavedPod
    #: Group by group in their order.
    members: tuple[SavedPod, ...]

    @property
    def root(self) -> GroupKey:
        return GroupKey(self.kind, self.namespace, self.name)

    @classmethod
    def from_group(cls, group: QueuedPodGroup) -> SavedGroup:
        return cls(*group.root.key, SavedPod.from_queued(group), tuple(map(SavedPod.from_queued, group.pods())))

    def restored(self, group: QueuedPodGroup, pods: Mapping[str, api.Pod]) -> QueuedPodGroup:
        """Fill a new group, which is in no sub-queue yet. Raises `InputError`."""
        for saved in self.members:
            group.add(saved.restored_member(pods), saved.moved_by)
        self.history.restore(group)
        return group


class SavedNomination(msgspec.Struct, frozen=True, array_like=True):
    """A pod that is nominated to a node."""

    node: str
    namespace: str
    name: str
    uid: str


class SavedQueue(msgspec.Struct, frozen=True):
    """The sub-queues, nominations and counters of a queue in which no pod is in flight."""

    pods: tuple[SavedPod, ...] = ()
    #: By node, the oldest nomination first.
    nominations: tuple[SavedNomination, ...] = ()
    next_serial: int = 1
    scheduling_cycle: int = 0
    groups: tuple[SavedGroup, ...] = ()
    #: Members of groups that are being scheduled or do not exist.
    members: tuple[SavedPod, ...] = ()
