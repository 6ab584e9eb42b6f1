"""What the queue counts. Sizes are not counted but read off `SchedulingQueue.statistics()` when somebody asks."""

from __future__ import annotations

from collections import Counter
from typing import Protocol


class QueueMetrics(Protocol):
    """Receives the queue's counts; `observe` exports them under upstream's names."""

    def pod_entered(self, queue: str, event: str, /) -> None:
        """A pod entered `active`, `backoff` or `unschedulable` because of an event (queue_incoming_pods_total)."""

    def rejection_changed(self, plugin: str, profile: str, by: int, /) -> None:
        """The number of waiting pods that a plugin stands in the way of changed (unschedulable_pods)."""


class CountingQueueMetrics:
    """Keeps the counts in memory."""

    def __init__(self) -> None:
        #: (queue, event label) → pods that entered.
        self.entered: Counter[tuple[str, str]] = Counter()
        #: (plugin, profile) → pods waiting because of it.
        self.rejections: Counter[tuple[str, str]] = Counter()

    def pod_entered(self, queue: str, event: str, /) -> None:
        self.entered[queue, event] += 1

    def rejection_changed(self, plugin: str, profile: str, by: int, /) -> None:
        self.rejections[plugin, profile] += by
