"""activeQ: the pods that are ready for an attempt, best first."""

from __future__ import annotations

from collections.abc import Iterator

from steersman.queue.heap import QueuedPodHeap, SortKey
from steersman.queue.metrics import QueueMetrics
from steersman.queue.queued_pod import ACTIVE, OUTSIDE, QueuedPodInfo


class ActiveQueue:
    """Pods in the order of the QueueSort plugin."""

    __slots__ = ("_metrics", "pods")

    def __init__(self, sort_key: SortKey, metrics: QueueMetrics) -> None:
        self.pods = QueuedPodHeap(sort_key)
        self._metrics = metrics

    def add(self, queued: QueuedPodInfo, event: str) -> None:
        """Take in a pod from elsewhere; it takes the place of another object with its key."""
        if queued.key in self.pods.entries:
            self.pods.entries[queued.key][-1].move_to(OUTSIDE, event)
        queued.move_to(ACTIVE, event)
        self.pods.add(queued)
        self._metrics.pod_entered("active", event)

    def problems(self) -> Iterator[str]:
        yield from self.pods.problems()
        for queued in self.pods:
            if queued.place is not ACTIVE or queued.is_gated:
                yield f"{queued} is in activeQ, gated by {queued.gating_plugin!r}"
