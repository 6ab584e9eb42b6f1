# SPDX-License-Identifier: Apache-2.0
"""The contents of a scheduling queue as data, so that a replay can continue from a recorded state.

`SchedulingQueue.saved` makes a `SavedQueue` while no pod is in flight, `SchedulingQueue.restore` takes one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from steersman import api
from steersman.base import InputError
from steersman.scheduler.queue.queued_pod import NEVER, Place, QueuedPodInfo

SAVED_PLACES = (Place.ACTIVE, Place.BACKOFF, Place.ERROR_BACKOFF, Place.UNSCHEDULABLE)


class SavedPod(msgspec.Struct, frozen=True, array_like=True):
    """A queued pod: the fields of `QueuedPodInfo` that do not follow from the pod."""

    #: `namespace/name`.
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
    def of(cls, queued: QueuedPodInfo) -> SavedPod:
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
        """Return the queued pod, which is in no sub-queue yet. Raises `InputError` for a pod that does not exist."""
        pod = pods.get(self.pod)
        if pod is None:
            raise InputError("is queued, but does not exist", object=f"Pod {self.pod}")
        queued = QueuedPodInfo(pod, self.timestamp, self.serial)
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
        return queued


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


def saved_pods(queues: Iterable[Iterable[QueuedPodInfo]]) -> tuple[SavedPod, ...]:
    """Return the pods of these sub-queues."""
    return tuple(SavedPod.of(queued) for pods in queues for queued in pods)
