# SPDX-License-Identifier: Apache-2.0
"""Counts of the queue. Sizes are not counted but read off `SchedulingQueue.statistics()` when somebody asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from steersman.framework.events import ClusterEvent, HintFn
from steersman.queue.queued_pod import QueuedPodInfo


class QueueMetrics(Protocol):
    """Receives the queue's counts; `observe` exports them under upstream's names."""

    def pod_entered(self, queued: QueuedPodInfo, queue: str, event: str, /) -> None:
        """A pod entered `active`, `backoff` or `unschedulable` because of an event (queue_incoming_pods_total)."""

    def rejection_changed(self, plugin: str, profile: str, by: int, /) -> None:
        """The number of waiting pods that a plugin stands in the way of changed (unschedulable_pods)."""

    def measured_hint(self, plugin: str, event: ClusterEvent, hint: HintFn, /) -> HintFn:
        """A plugin's hint for a kind of event, as it is to be called; asked once per kind of event."""


class CountingQueueMetrics:
    """Keeps the counts in memory."""

    def __init__(self) -> None:
        #: (queue, event label) → pods that entered.
        self.entered: dict[tuple[str, str], int] = {}
        #: (plugin, profile) → pods waiting because of it.
        self.rejections: dict[tuple[str, str], int] = {}
        #: Told of every pod that enters a queue, as `pod_entered` is; None: nobody wants to know.
        self.on_entered: Callable[[QueuedPodInfo, str, str], None] | None = None

    def pod_entered(self, queued: QueuedPodInfo, queue: str, event: str, /) -> None:
        key = queue, event
        self.entered[key] = self.entered.get(key, 0) + 1
        if self.on_entered is not None:
            self.on_entered(queued, queue, event)

    def rejection_changed(self, plugin: str, profile: str, by: int, /) -> None:
        key = plugin, profile
        self.rejections[key] = self.rejections.get(key, 0) + by

    def measured_hint(self, plugin: str, event: ClusterEvent, hint: HintFn, /) -> HintFn:
        return hint
