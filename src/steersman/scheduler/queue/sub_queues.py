# SPDX-License-Identifier: Apache-2.0
"""The sub-queues: activeQ, the backoff queues, the unschedulable pods, the pods in flight.

`scheduling_queue` creates a `SubQueues` and passes it to `requeue` and `event_moves`, which move
pods between them; `attempts` owns the pods in flight. This module has activeQ itself, queries over
several sub-queues, and their views for reports and tests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from steersman import api
from steersman.scheduler.queue.attempts import InFlight
from steersman.scheduler.queue.backoff import BackoffQueue
from steersman.scheduler.queue.heap import QueuedPodHeap, SortKey
from steersman.scheduler.queue.hints import RecordedEvent
from steersman.scheduler.queue.queued_pod import ACTIVE, OUTSIDE, Place, QueuedPodInfo
from steersman.scheduler.queue.queued_pod_group import Queued, QueuedMember, QueuedPodGroup
from steersman.scheduler.queue.settings import QueueMetrics
from steersman.scheduler.queue.unschedulable import UnschedulablePods


class QueueStatistics(msgspec.Struct, frozen=True):
    """Numbers of pods in the sub-queues, members of groups included."""

    active: int
    backoff: int
    error_backoff: int
    unschedulable: int
    """Waiting pods that are not gated."""
    gated: int
    in_flight: int
    in_flight_events: int
    nominated: int
    scheduling_cycle: int
    pending_group: int = 0
    """Members of a group that is being scheduled."""
    incomplete_group: int = 0
    """Members of groups that do not exist."""


class QueueContents(msgspec.Struct, frozen=True):
    """Every pod in the queue; the members of a queued group follow each other."""

    active: list[QueuedPodInfo]
    """In the order in which pops will return them."""
    backoff: list[QueuedPodInfo]
    """In the order in which pops will return them if activeQ is empty."""
    error_backoff: list[QueuedPodInfo]
    """By end of backoff."""
    unschedulable: list[QueuedPodInfo]
    """Including gated pods; by the end of their maximum waiting time."""
    pending_group: list[QueuedPodInfo]
    """Members of a group that is being scheduled."""
    incomplete_group: list[QueuedPodInfo]
    """Members of groups that do not exist."""
    in_flight: list[QueuedPodInfo | RecordedEvent]
    """Pops and events in the order in which they happened."""


class PendingPods(NamedTuple):
    """The waiting pods, with a one-line summary of the sub-queues."""

    pods: list[api.Pod]
    summary: str


class ActiveQueue:
    """Pods in the order of the QueueSort plugin."""

    __slots__ = ("_metrics", "pods")

    def __init__(self, sort_key: SortKey, metrics: QueueMetrics) -> None:
        self.pods = QueuedPodHeap(sort_key)
        self._metrics = metrics

    def add(self, queued: Queued, event: str) -> None:
        """Add a pod; it replaces another object with its key."""
        if queued.key in self.pods.entries:
            self.pods.entries[queued.key][-1].move_to(OUTSIDE, event)
        queued.move_to(ACTIVE, event)
        self.pods.add(queued)
        self._metrics.pod_entered(queued, "active", event)

    def problems(self) -> Iterator[str]:
        yield from self.pods.problems()
        for queued in self.pods:
            if queued.place is not ACTIVE or queued.is_gated:
                yield f"{queued} is in activeQ, gated by {queued.gating_plugin!r}"


class PodAlreadyQueuedError(RuntimeError):
    """A failed pod was put back, but the queue already has a pod of that name."""


class SubQueues:
    """All sub-queues. A pod is in at most one of them; a pod with the same UID may be in flight at
    the same time."""

    __slots__ = ("active", "backoff", "in_flight", "unschedulable")

    def __init__(self, active: ActiveQueue, backoff: BackoffQueue, unschedulable: UnschedulablePods) -> None:
        self.active = active
        self.backoff = backoff
        self.unschedulable = unschedulable
        self.in_flight = InFlight()

    def get(self, key: str) -> Queued | None:
        """Return the pod or group with this key, wherever it is queued."""
        return self.active.pods.get(key) or self.backoff.get(key) or self.unschedulable.pods.get(key)

    def get_pod(self, key: str) -> QueuedPodInfo | None:
        """Return the pod with this `namespace/name`, unless it is the member of a group."""
        found = self.get(key)
        return None if isinstance(found, QueuedPodGroup) else found

    def remove(self, key: str) -> None:
        """Remove a pod or group; the caller moves it."""
        self.active.pods.remove(key) or self.backoff.remove(key) or self.unschedulable.remove(key)

    def reposition(self, queued: Queued) -> None:
        """Restore the order after a queued pod or group has changed."""
        if queued.place is ACTIVE:
            self.active.pods.add(queued)
        elif queued.place is not Place.UNSCHEDULABLE:
            self.backoff.reposition(queued)

    def clear(self) -> None:
        """Remove all pods that are not in flight."""
        for queued in list(self.entities()):
            self.remove(queued.key)

    def put(self, queued: Queued, place: Place, event: str) -> None:
        """Add a pod to the sub-queue of the place."""
        if place is ACTIVE:
            self.active.add(queued, event)
        elif place is Place.UNSCHEDULABLE:
            self.unschedulable.add(queued, event)
        else:
            self.backoff.add(queued, event)

    def require_absent(self, key: str) -> None:
        """Raise PodAlreadyQueuedError if a pod with this key is queued."""
        if key in self.unschedulable.pods.entries:
            raise PodAlreadyQueuedError(f"Pod {key} is already present in unschedulable queue")
        if key in self.active.pods.entries:
            raise PodAlreadyQueuedError(f"Pod {key} is already present in the active queue")
        if key in self.backoff:
            raise PodAlreadyQueuedError(f"Pod {key} is already present in the backoff queue")

    def pending_pods(self, outside_groups: Iterable[QueuedMember]) -> PendingPods:
        pods = [queued.pod for some in (self.pods(), outside_groups) for queued in some]
        active, backoff, unschedulable = len(self.active.pods), len(self.backoff), len(self.unschedulable.pods)
        return PendingPods(pods, f"activeQ:{active}; backoffQ:{backoff}; unschedulablePods:{unschedulable}")

    @property
    def size(self) -> int:
        return sum(map(len, self._heaps()))

    def entities(self) -> Iterator[Queued]:
        """Iterate over all pods and groups, in no particular order."""
        return (queued for heap in self._heaps() for queued in heap)

    def groups(self) -> Iterator[QueuedPodGroup]:
        return (queued for queued in self.entities() if isinstance(queued, QueuedPodGroup))

    def pods(self) -> Iterator[QueuedPodInfo]:
        """Iterate over all pods, members of groups included, in no particular order."""
        return expanded(self.entities())

    def ordered(self) -> Iterator[Queued]:
        """Iterate over all pods and groups, each sub-queue in its order."""
        return (queued for heap in self._heaps() for queued in heap.ordered())

    def contents(self, pending: Iterable[QueuedMember] = (), incomplete: Iterable[QueuedMember] = ()) -> QueueContents:
        return QueueContents(
            active=list(expanded(self.active.pods.ordered())),
            backoff=list(expanded(self.backoff.rejected.ordered())),
            error_backoff=list(expanded(self.backoff.failed.ordered())),
            unschedulable=list(expanded(self.unschedulable.pods.ordered())),
            pending_group=list(pending),
            incomplete_group=list(incomplete),
            in_flight=self.in_flight.log(),
        )

    def problems(self) -> Iterator[str]:
        """Yield violated invariants of the sub-queues."""
        for place in (self.active, self.backoff, self.unschedulable, self.in_flight):
            yield from place.problems()
        found = Counter(queued.key for queued in self.entities())
        yield from (f"{key} is in {places} sub-queues" for key, places in found.items() if places > 1)

    def _heaps(self) -> tuple[QueuedPodHeap, ...]:
        return self.active.pods, self.backoff.rejected, self.backoff.failed, self.unschedulable.pods


def expanded(entities: Iterable[Queued]) -> Iterator[QueuedPodInfo]:
    """Yield the pods, and the members of groups in place of the groups."""
    for queued in entities:
        if isinstance(queued, QueuedPodGroup):
            yield from queued.pods()
        else:
            yield queued
