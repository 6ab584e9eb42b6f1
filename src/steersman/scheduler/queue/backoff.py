# SPDX-License-Identifier: Apache-2.0
"""backoffQ: pods and groups that must wait after a failed attempt.

Two heaps: rejected pods, which a pop may take early if activeQ is empty, and pods whose attempt
ended with an error, which always wait to protect the API server. As in upstream, a group is always
among the latter, because plugins reject its members. Backoff ends at whole seconds;
within such a window pods are in the order of activeQ, and a window that has begun is not over yet.
If pods are not popped early (gate SchedulerPopFromBackoffQ), ends are exact, and pods leave in that
order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

from steersman.scheduler.queue.heap import QueuedPodHeap, SortKey
from steersman.scheduler.queue.queued_pod import MICROSECONDS, NEVER, IllegalMoveError, Place, QueuedPodInfo
from steersman.scheduler.queue.queued_pod_group import Queued, QueuedPodGroup
from steersman.scheduler.queue.settings import QueueMetrics

WINDOW: Final = MICROSECONDS


class BackoffQueue:
    """Pods in backoff, and the computation of its duration."""

    def __init__(
        self, initial: int, maximum: int, sort_key: SortKey, metrics: QueueMetrics, is_popped_early: bool = True
    ) -> None:
        self._initial = initial
        self._maximum = maximum
        self._metrics = metrics
        self.is_popped_early = is_popped_early
        #: Backoff ends are multiples of this.
        self._window = WINDOW if is_popped_early else 1

        def end_then_active_order(queued: Queued) -> tuple[Any, ...]:
            return queued.backoff_until, *sort_key(queued)

        #: Rejected pods.
        self.rejected = QueuedPodHeap(end_then_active_order if is_popped_early else _end_of_backoff)
        #: Pods whose attempt ended with an error: they have no rejectors.
        self.failed = QueuedPodHeap(_end_of_backoff)

    def __len__(self) -> int:
        return len(self.rejected) + len(self.failed)

    def __contains__(self, key: str) -> bool:
        return key in self.rejected.entries or key in self.failed.entries

    def end_of_backoff(self, queued: Queued) -> int:
        """Return the end of the backoff after the last failure; NEVER without backoff."""
        failures = queued.consecutive_errors or queued.unschedulable_count
        if not failures or not self._maximum:
            return NEVER
        end = queued.timestamp + self._duration(failures, queued.size)
        return end - end % self._window

    def _duration(self, failures: int, size: int) -> int:
        """Return the backoff; the maximum grows with the square root of a group's size."""
        maximum = self._maximum if size == 1 else int(self._maximum * math.sqrt(size))
        doublings = failures - 1
        # Shifts the maximum instead of the initial duration, to avoid huge numbers after many
        # failures.
        if self._initial > maximum >> doublings:
            return maximum
        return self._initial << doublings

    def is_backing_off(self, queued: Queued, now: int) -> bool:
        return queued.backoff_until >= now - now % self._window

    def add(self, queued: Queued, event: str) -> None:
        if queued.unschedulable_plugins or queued.pending_plugins:
            queued.move_to(Place.BACKOFF, event)
            self.rejected.add(queued)
        else:
            queued.move_to(Place.ERROR_BACKOFF, event)
            self.failed.add(queued)
        self._metrics.pod_entered(queued, "backoff", event)

    def get(self, key: str) -> Queued | None:
        return self.rejected.get(key) or self.failed.get(key)

    def remove(self, key: str) -> Queued | None:
        return self.rejected.remove(key) or self.failed.remove(key)

    def reposition(self, queued: Queued) -> None:
        """Restore the order after a pod in the queue has changed."""
        (self.rejected if queued.place is Place.BACKOFF else self.failed).add(queued)

    def pop_rejected(self) -> QueuedPodInfo | None:
        """Remove and return the first rejected pod, or None."""
        queued = self.rejected.pop()
        if isinstance(queued, QueuedPodGroup):
            raise IllegalMoveError(f"{queued} is among the rejected pods in backoffQ")
        return queued

    def pop_completed(self, now: int) -> Iterator[Queued]:
        """Remove and yield all pods whose backoff is over."""
        for heap in (self.rejected, self.failed):
            while (first := heap.peek()) is not None and not self.is_backing_off(first, now):
                heap.pop()
                yield first

    def next_completion(self) -> int | None:
        """Return the time at which the next backoff is over, at the end of its window."""
        ends = [first.backoff_until + self._window for heap in (self.rejected, self.failed) if (first := heap.peek())]
        return min(ends, default=None)

    def problems(self) -> Iterator[str]:
        for heap, place in ((self.rejected, Place.BACKOFF), (self.failed, Place.ERROR_BACKOFF)):
            yield from heap.problems()
            for queued in heap:
                if queued.place is not place or (queued.is_gated and self.is_popped_early):
                    yield f"{queued} is in {place.name}, gated by {queued.gating_plugin!r}"
                if isinstance(queued, QueuedPodGroup):
                    continue  # whatever rejects its members; its size may have changed
                if bool(queued.rejectors) is (place is Place.ERROR_BACKOFF):
                    yield f"{queued} is in {place.name}, rejected by {sorted(queued.rejectors)}"
                if queued.backoff_until != self.end_of_backoff(queued):
                    yield f"{queued} backs off until {queued.backoff_until}, not {self.end_of_backoff(queued)}"


def _end_of_backoff(queued: Queued) -> tuple[Any, ...]:
    return (queued.backoff_until,)
