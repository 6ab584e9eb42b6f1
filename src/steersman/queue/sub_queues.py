"""The places where pods are kept, together: activeQ, the backoff queues, the unschedulable pods, the pods in flight.

`scheduling_queue` makes one of these and lends it to `requeue`, `waking` and `attempts`, which move pods between the
places. Here are the questions that concern several places at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from steersman.queue.active import ActiveQueue
from steersman.queue.backoff import BackoffQueue
from steersman.queue.contents import PendingPods, QueueContents
from steersman.queue.heap import QueuedPodHeap
from steersman.queue.in_flight import InFlight
from steersman.queue.queued_pod import QueuedPodInfo
from steersman.queue.unschedulable import UnschedulablePods


class PodAlreadyQueuedError(RuntimeError):
    """A failed pod was to be put back, but the queue already has a pod of that name."""


class SubQueues:
    """Every pod is in at most one of the sub-queues; a pod with the same UID may be in flight at the same time."""

    __slots__ = ("active", "backoff", "in_flight", "unschedulable")

    def __init__(self, active: ActiveQueue, backoff: BackoffQueue, unschedulable: UnschedulablePods) -> None:
        self.active = active
        self.backoff = backoff
        self.unschedulable = unschedulable
        self.in_flight = InFlight()

    def get(self, key: str) -> QueuedPodInfo | None:
        """The pod with that `namespace/name`, wherever it is queued."""
        return self.active.pods.get(key) or self.backoff.get(key) or self.unschedulable.pods.get(key)

    def require_absent(self, key: str) -> None:
        """Raise if a pod with that key is queued."""
        if key in self.unschedulable.pods.entries:
            raise PodAlreadyQueuedError(f"Pod {key} is already present in unschedulable queue")
        if key in self.active.pods.entries:
            raise PodAlreadyQueuedError(f"Pod {key} is already present in the active queue")
        if key in self.backoff:
            raise PodAlreadyQueuedError(f"Pod {key} is already present in the backoff queue")

    def pending_pods(self) -> PendingPods:
        pods = [queued.pod for heap in self._heaps() for queued in heap]
        active, backoff, unschedulable = len(self.active.pods), len(self.backoff), len(self.unschedulable.pods)
        return PendingPods(pods, f"activeQ:{active}; backoffQ:{backoff}; unschedulablePods:{unschedulable}")

    def contents(self) -> QueueContents:
        return QueueContents(
            active=self.active.pods.ordered(),
            backoff=self.backoff.rejected.ordered(),
            error_backoff=self.backoff.failed.ordered(),
            unschedulable=self.unschedulable.pods.ordered(),
            in_flight=self.in_flight.log(),
        )

    def problems(self) -> Iterator[str]:
        """What contradicts the invariants of the places, each by itself and all together."""
        for place in (self.active, self.backoff, self.unschedulable, self.in_flight):
            yield from place.problems()
        found = Counter(queued.key for heap in self._heaps() for queued in heap)
        yield from (f"{key} is in {places} sub-queues" for key, places in found.items() if places > 1)

    def _heaps(self) -> tuple[QueuedPodHeap, ...]:
        return self.active.pods, self.backoff.rejected, self.backoff.failed, self.unschedulable.pods
