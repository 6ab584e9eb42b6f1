# SPDX-License-Identifier: Apache-2.0
"""The two ends of an attempt to schedule a pod: a pop puts it in flight, a failure brings it back.

`scheduling_queue` takes the pod out of a sub-queue before the first, and puts it into one (with `requeue`) after the
second. Counters, timestamps and the count of rejections change here and nowhere else.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from steersman.queue.hints import HintTable, Strategy
from steersman.queue.metrics import QueueMetrics
from steersman.queue.queued_pod import ACTIVE, NEVER, OUTSIDE, QueuedPodInfo
from steersman.queue.sub_queues import SubQueues

logger = logging.getLogger(__name__)


class Attempts:
    """Begins and ends attempts."""

    def __init__(self, queues: SubQueues, hints: HintTable, metrics: QueueMetrics, serials: Iterator[int]) -> None:
        self._queues = queues
        self._hints = hints
        self._metrics = metrics
        self._serials = serials
        #: How many attempts have begun.
        self.begun = 0

    def begin(self, queued: QueuedPodInfo, event: str) -> bool:
        """Hand out a pod that was just popped, unless an object with its UID is in flight: this one is dropped then."""
        queued.attempts += 1
        if not self._queues.in_flight.add(queued, event):
            logger.error("Pod %s is dropped: it is already being scheduled", queued.key)
            queued.move_to(OUTSIDE, event)
            return False
        self.begun += 1
        if queued.unschedulable_plugins or queued.pending_plugins:
            self.count_rejections(queued, -1)
        return True

    def begin_and_end(self, queued: QueuedPodInfo, event: str) -> None:
        """Counts the attempt of a pod that has already got a node: it never was in flight."""
        queued.attempts += 1
        self.begun += 1
        if queued.unschedulable_plugins or queued.pending_plugins:
            self.count_rejections(queued, -1)
        if queued.place is ACTIVE:
            # The usual move, as `move_to` would make it.
            queued.place = OUTSIDE
            queued.moved_by = event
        else:
            queued.move_to(OUTSIDE, event)

    def end_in_failure(self, queued: QueuedPodInfo, now: int) -> Strategy:
        """Note that the attempt failed, and say what is to become of the pod in view of what it missed meanwhile."""
        if queued.rejectors:
            queued.unschedulable_count += 1
            queued.consecutive_errors = 0
        else:
            queued.consecutive_errors += 1
        queued.timestamp = now
        queued.serial = next(self._serials)
        queued.backoff_until = self._queues.backoff.end_of_backoff(queued)
        queued.was_flushed = False
        queued.flushed_at = NEVER
        self.count_rejections(queued, 1)
        return self._strategy(queued)

    def _strategy(self, queued: QueuedPodInfo) -> Strategy:
        in_flight = self._queues.in_flight
        if not queued.rejectors or queued.uid not in in_flight.pods:
            return Strategy.AFTER_BACKOFF
        return self._hints.strategy_after_flight(queued, in_flight.events_since_pop(queued.uid))

    def count_rejections(self, queued: QueuedPodInfo, by: int) -> None:
        """The pod begins (+1) or ceases (-1) to wait because of its rejectors."""
        for plugin in queued.rejectors:
            self._metrics.rejection_changed(plugin, queued.profile, by)
