# SPDX-License-Identifier: Apache-2.0
"""Read access to the scheduling queue, for reports, metrics, records and tests.

`SchedulingQueue` derives from `QueueViews`. Members of groups are shown as pods, in the place of
their group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from steersman import api
from steersman.framework import GroupKey
from steersman.scheduler.queue.attempts import Attempts
from steersman.scheduler.queue.hints import RecordedEvent
from steersman.scheduler.queue.nominator import Nominator
from steersman.scheduler.queue.pod_group_queue import PodGroupQueue
from steersman.scheduler.queue.queued_pod import MICROSECONDS, Place, QueuedPodInfo
from steersman.scheduler.queue.queued_pod_group import Queued, QueuedMember, QueuedPodGroup
from steersman.scheduler.queue.sub_queues import PendingPods, QueueContents, QueueStatistics, SubQueues, expanded

NO_GROUPS: Final[Counter[Place]] = Counter()

_PLACE_NAMES: Final = {
    Place.ACTIVE: "active",
    Place.BACKOFF: "backoff",
    Place.ERROR_BACKOFF: "backoff",
    Place.UNSCHEDULABLE: "unschedulable",
    Place.PENDING_GROUP: "pendingGroup",
    Place.INCOMPLETE_GROUP: "incompleteGroup",
}


class QueueInvariantError(AssertionError):
    """`validate_state` found the queue in an inconsistent state."""


class QueueViews:
    """The readers of a queue."""

    nominator: Nominator
    _queues: SubQueues
    _groups: PodGroupQueue | None
    _attempts: Attempts
    _now: Callable[[], int]

    @property
    def scheduling_cycle(self) -> int:
        """Number of attempts begun."""
        return self._attempts.begun

    def get(self, key: str) -> QueuedPodInfo | None:
        """Return the waiting pod with this `namespace/name`."""
        found = self._queues.get_pod(key)
        return self._groups.get(key) if found is None and self._groups is not None else found

    def group(self, key: GroupKey) -> QueuedPodGroup | None:
        """Return the queued group with this root."""
        return None if self._groups is None else self._groups.queued.get(key)

    def place_of(self, key: str) -> str | None:
        """Return the part of the queue with the pod `namespace/name`: active, backoff,
        unschedulable, pendingGroup (its group is being scheduled) or incompleteGroup (its group
        does not exist). None if the pod does not wait."""
        queued = self.get(key)
        return None if queued is None else _PLACE_NAMES[queued.sub_queue]

    def next_attempt(self, pod: QueuedPodInfo) -> float | None:
        """Return the monotonic time at which a queued pod becomes active without an event, or None
        if only an event moves it."""
        queued: Queued = pod
        if isinstance(pod, QueuedMember):
            if pod.group is None:
                return None
            queued = pod.group
        if queued.place in (Place.BACKOFF, Place.ERROR_BACKOFF):
            return queued.backoff_until / MICROSECONDS
        if queued.place is Place.UNSCHEDULABLE:
            return None if queued.is_gated else self._queues.unschedulable.deadline(queued) / MICROSECONDS
        return self._now() / MICROSECONDS

    def in_flight_pods(self) -> list[api.Pod]:
        """Return the pods in flight, oldest pop first."""
        return [queued.pod for queued in self._queues.in_flight]

    def in_flight_log(self) -> list[QueuedPodInfo | RecordedEvent]:
        """Return the pops of the pods in flight and the events recorded for them, in order."""
        return self._queues.in_flight.log()

    def pending_pods(self) -> PendingPods:
        """Return every waiting pod, and the number of pods per sub-queue."""
        return self._queues.pending_pods(() if self._groups is None else self._groups.outside_groups())

    def contents(self) -> QueueContents:
        """Return every pod in the queue, in order; slow, for reports and tests."""
        groups = self._groups
        return self._queues.contents() if groups is None else self._queues.contents(groups.pending, groups.incomplete)

    def statistics(self) -> QueueStatistics:
        """Return the numbers of pods in the sub-queues; cheap."""
        queues, groups = self._queues, self._groups
        in_groups = NO_GROUPS if groups is None else groups.extra_members()
        return QueueStatistics(
            active=len(queues.active.pods) + in_groups[Place.ACTIVE],
            backoff=len(queues.backoff.rejected),
            error_backoff=len(queues.backoff.failed) + in_groups[Place.ERROR_BACKOFF],
            unschedulable=len(queues.unschedulable.pods) - len(queues.unschedulable.gated),
            gated=len(queues.unschedulable.gated) + in_groups[Place.UNSCHEDULABLE],
            in_flight=len(queues.in_flight),
            in_flight_events=queues.in_flight.event_count,
            nominated=len(self.nominator),
            scheduling_cycle=self.scheduling_cycle,
            pending_group=0 if groups is None else len(groups.pending),
            incomplete_group=0 if groups is None else len(groups.incomplete),
        )

    def rejections(self) -> dict[str, int]:
        """Return the number of unschedulable pods that each plugin rejects or gates; cheap."""
        return self._queues.unschedulable.rejections()

    @property
    def size(self) -> int:
        """Number of waiting pods; cheap."""
        groups = self._groups
        return self._queues.size if groups is None else self._queues.size - len(groups.queued) + groups.member_count

    def waiting_pods(self) -> Iterator[QueuedPodInfo]:
        """Iterate over the waiting pods, in no particular order."""
        yield from self._queues.pods()
        if self._groups is not None:
            yield from self._groups.outside_groups()

    def unschedulable_pods(self) -> Iterator[QueuedPodInfo]:
        """Iterate over the unschedulable pods, including gated ones, in no particular order."""
        return expanded(self._queues.unschedulable.pods)

    def validate_state(self) -> None:
        """Raise `QueueInvariantError` if the queue is inconsistent; slow, for tests and
        debugging."""
        problems = [*self._queues.problems(), *self.nominator.problems()]
        if self._groups is not None:
            problems += self._groups.problems(self._queues.groups())
        if problems:
            raise QueueInvariantError("; ".join(problems))
