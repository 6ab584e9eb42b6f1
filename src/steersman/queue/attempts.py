# SPDX-License-Identifier: Apache-2.0
"""An attempt to schedule a pod: the pop that begins it, what the pod misses meanwhile, the failure that brings it back.

`scheduling_queue` takes a pod out of a sub-queue before `Attempts.begin`, and puts it into one (with `requeue`) after
`Attempts.end_in_failure`. Counters, timestamps and the count of rejections change here and nowhere else.

While a pod is being scheduled, events pass it by: they could have woken it if it had already been waiting. So `InFlight`
keeps events as long as some pod is in flight that was popped before them. When a pod comes back rejected, the events
since its pop are played back to it.
"""

from __future__ import annotations

import logging
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from itertools import islice

from steersman.framework.events import ClusterEvent
from steersman.queue.backoff import BackoffQueue
from steersman.queue.hints import HintTable, RecordedEvent, Strategy
from steersman.queue.queued_pod import ACTIVE, IN_FLIGHT, NEVER, OUTSIDE, QueuedPodInfo
from steersman.queue.settings import QueueMetrics

logger = logging.getLogger(__name__)

# -- pods in flight ----------------------------------------------------------------------------------------------------


class InFlight:
    """The pods that were popped and are not done, with the events since the first of these pops."""

    def __init__(self) -> None:
        #: Pod UID → (pod, number of events recorded before its pop), oldest pop first. Others only look.
        self.pods: OrderedDict[str, tuple[QueuedPodInfo, int]] = OrderedDict()
        #: Events since the oldest pop, oldest first; empty when nothing is in flight.
        self._events: deque[RecordedEvent] = deque()
        #: How many events were recorded, ever; and how many of them have been forgotten.
        self._recorded = 0
        self._forgotten = 0

    def __len__(self) -> int:
        return len(self.pods)

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        """The pods, oldest pop first."""
        return (queued for queued, _ in self.pods.values())

    @property
    def event_count(self) -> int:
        return len(self._events)

    def add(self, queued: QueuedPodInfo, event: str) -> bool:
        """Take in a pod that was just popped; False: a pod with its UID is in flight already."""
        if queued.uid in self.pods:
            return False
        if queued.place is ACTIVE:
            # The usual move, as `move_to` would make it.
            queued.place = IN_FLIGHT
            queued.moved_by = event
        else:
            queued.move_to(IN_FLIGHT, event)
        self.pods[queued.uid] = queued, self._recorded
        return True

    def record(self, event: ClusterEvent, old: object, new: object) -> None:
        """Remember an event for the pods in flight, if there are any."""
        if self.pods:
            self._events.append(RecordedEvent(event, old, new))
            self._recorded += 1

    def events_since_pop(self, uid: str) -> Iterable[RecordedEvent]:
        """The events since the pod was popped, oldest first; the pod must be in flight."""
        _, recorded_before = self.pods[uid]
        return islice(self._events, recorded_before - self._forgotten, None)

    def done(self, uid: str, event: str) -> None:
        """The attempt has ended: forget the pod, if it is known, and the events that only it could have needed."""
        found = self.pods.pop(uid, None)
        if found is None:
            return
        queued = found[0]
        if queued.place is IN_FLIGHT:
            queued.place = OUTSIDE
            queued.moved_by = event
        if self._events:
            self._forget_unneeded_events()

    def _forget_unneeded_events(self) -> None:
        needed_from = next((before for _, before in self.pods.values()), self._recorded)
        for _ in range(needed_from - self._forgotten):
            self._events.popleft()
        self._forgotten = needed_from

    def clear(self, event: str) -> None:
        """Every attempt counts as ended."""
        for uid in list(self.pods):
            self.done(uid, event)

    def log(self) -> list[QueuedPodInfo | RecordedEvent]:
        """Pops and events in the order in which they happened."""
        entries: list[QueuedPodInfo | RecordedEvent] = list(self._events)
        for queued, recorded_before in reversed(self.pods.values()):
            entries.insert(recorded_before - self._forgotten, queued)
        return entries

    def problems(self) -> Iterator[str]:
        positions = [before for _, before in self.pods.values()]
        if self._recorded != self._forgotten + len(self._events):
            yield f"{self._recorded} events were recorded, {self._forgotten} forgotten, and {len(self._events)} are left"
        if positions != sorted(positions) or any(p > self._recorded for p in positions):
            yield f"pods in flight are out of order: {positions}"
        if positions and positions[0] != self._forgotten:
            yield f"events are kept that happened before the oldest pop: {self._forgotten} < {positions[0]}"
        if self._events and not positions:
            yield f"{len(self._events)} events are kept although nothing is in flight"
        for uid, (queued, _) in self.pods.items():
            if queued.uid != uid:
                yield f"{uid} leads to {queued} with uid {queued.uid}"


# -- beginnings and ends -----------------------------------------------------------------------------------------------


class Attempts:
    """Begins and ends attempts."""

    def __init__(
        self,
        in_flight: InFlight,
        backoff: BackoffQueue,
        hints: HintTable,
        metrics: QueueMetrics,
        serials: Iterator[int],
    ) -> None:
        self._in_flight = in_flight
        self._backoff = backoff
        self._hints = hints
        self._metrics = metrics
        self._serials = serials
        #: How many attempts have begun.
        self.begun = 0

    def begin(self, queued: QueuedPodInfo, event: str) -> bool:
        """Hand out a pod that was just popped, unless an object with its UID is in flight: this one is dropped then."""
        queued.attempts += 1
        if not self._in_flight.add(queued, event):
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
        queued.backoff_until = self._backoff.end_of_backoff(queued)
        queued.was_flushed = False
        queued.flushed_at = NEVER
        self.count_rejections(queued, 1)
        return self._strategy(queued)

    def _strategy(self, queued: QueuedPodInfo) -> Strategy:
        if not queued.rejectors or queued.uid not in self._in_flight.pods:
            return Strategy.AFTER_BACKOFF
        return self._hints.strategy_after_flight(queued, self._in_flight.events_since_pop(queued.uid))

    def count_rejections(self, queued: QueuedPodInfo, by: int) -> None:
        """The pod begins (+1) or ceases (-1) to wait because of its rejectors."""
        for plugin in queued.rejectors:
            self._metrics.rejection_changed(plugin, queued.profile, by)
