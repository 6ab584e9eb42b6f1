# SPDX-License-Identifier: Apache-2.0
"""An attempt to schedule a pod: the pop, the events missed during the attempt, and the requeue
after a failure.

`scheduling_queue` takes a pod out of a sub-queue before `Attempts.begin`, and puts it into one
(with `requeue`) after `Attempts.end_in_failure`. Counters, timestamps and rejection counts change
only here.

Events that arrive while a pod is being scheduled could have requeued it if it had been waiting.
`InFlight` therefore records events while a pod popped before them is in flight. When a pod is
rejected, the events since its pop are replayed.
"""

from __future__ import annotations

import logging
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from itertools import islice

from steersman.framework import ClusterEvent, Code, Status
from steersman.scheduler.queue.backoff import BackoffQueue
from steersman.scheduler.queue.hints import HintTable, RecordedEvent, Strategy
from steersman.scheduler.queue.queued_pod import ACTIVE, IN_FLIGHT, NEVER, OUTSIDE, QueuedPodInfo
from steersman.scheduler.queue.queued_pod_group import QueuedPodGroup
from steersman.scheduler.queue.settings import QueueMetrics

logger = logging.getLogger(__name__)

# -- pods in flight -------------------------------------------------------------------------------


class InFlight:
    """Popped pods whose attempt has not ended, and the events since the first of these pops."""

    def __init__(self) -> None:
        #: Pod UID → (pod, number of events recorded before its pop), oldest pop first. Read-only
        #: for other modules.
        self.pods: OrderedDict[str, tuple[QueuedPodInfo, int]] = OrderedDict()
        #: Events since the oldest pop, oldest first; empty if nothing is in flight.
        self._events: deque[RecordedEvent] = deque()
        #: Number of events ever recorded, and number of these already dropped.
        self._recorded = 0
        self._forgotten = 0

    def __len__(self) -> int:
        return len(self.pods)

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        """Iterate over the pods, oldest pop first."""
        return (queued for queued, _ in self.pods.values())

    @property
    def event_count(self) -> int:
        return len(self._events)

    def add(self, queued: QueuedPodInfo, event: str) -> bool:
        """Add a popped pod; return False if a pod with its UID is already in flight."""
        if queued.uid in self.pods:
            return False
        if queued.place is ACTIVE:
            # Inlined `move_to` for the common case.
            queued.place = IN_FLIGHT
            queued.moved_by = event
        else:
            queued.move_to(IN_FLIGHT, event)
        self.pods[queued.uid] = queued, self._recorded
        return True

    def record(self, event: ClusterEvent, old: object, new: object) -> None:
        """Record an event if pods are in flight."""
        if self.pods:
            self._events.append(RecordedEvent(event, old, new))
            self._recorded += 1

    def events_since_pop(self, uid: str) -> Iterable[RecordedEvent]:
        """Yield the events since the pod, which is in flight, was popped; oldest first."""
        _, recorded_before = self.pods[uid]
        return islice(self._events, recorded_before - self._forgotten, None)

    def done(self, uid: str, event: str) -> None:
        """End the attempt: remove the pod, if present, and the events that no other pod needs."""
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
        """End all attempts."""
        for uid in list(self.pods):
            self.done(uid, event)

    def log(self) -> list[QueuedPodInfo | RecordedEvent]:
        """Return pops and events in the order in which they happened."""
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
            yield f"there are events from before the oldest pop: {self._forgotten} < {positions[0]}"
        if self._events and not positions:
            yield f"{len(self._events)} events are recorded although nothing is in flight"
        for uid, (queued, _) in self.pods.items():
            if queued.uid != uid:
                yield f"{uid} leads to {queued} with uid {queued.uid}"


# -- begin and end --------------------------------------------------------------------------------


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
        #: Number of attempts begun.
        self.begun = 0

    def resume(self, begun: int, serials: Iterator[int]) -> None:
        """Continue the counters of another queue."""
        self.begun = begun
        self._serials = serials

    def begin(self, queued: QueuedPodInfo, event: str) -> bool:
        """Begin the attempt of a popped pod. If an object with its UID is already in flight, drop
        the pod and return False."""
        queued.attempts += 1
        if not self._in_flight.add(queued, event):
            logger.error("Pod %s is dropped: it is already being scheduled", queued.key)
            queued.move_to(OUTSIDE, event)
            return False
        self.begun += 1
        if queued.unschedulable_plugins or queued.pending_plugins:
            self.count_rejections(queued, -1)
        return True

    def begin_group(self, group: QueuedPodGroup, event: str) -> bool:
        """Begin the attempt of a popped group. Members whose UID is already in flight are dropped;
        return False if none is left."""
        group.attempts += 1
        for member in list(group.pods()):
            member.attempts += 1
            if not self._in_flight.add(member, event):
                logger.error("Pod %s is dropped: it is already being scheduled", member.key)
                group.remove(member.key)
                member.move_to(OUTSIDE, event)
                continue
            member.group = None
            self.count_rejections(member, -1)
        group.move_to(IN_FLIGHT if group.size else OUTSIDE, event)
        self.begun += group.size > 0
        return group.size > 0

    def end_group(self, group: QueuedPodGroup, status: Status | None) -> None:
        """Record the result of a group's attempt."""
        if status is None or status.code is Code.SUCCESS:
            group.unschedulable_count = group.consecutive_errors = 0
        elif status.is_rejected:
            group.unschedulable_count += 1
            group.consecutive_errors = 0
        else:
            group.consecutive_errors += 1
        group.backoff_until = self._backoff.end_of_backoff(group)

    def begin_and_end(self, queued: QueuedPodInfo, event: str) -> None:
        """Count the attempt of a pod that was scheduled without ever being in flight."""
        queued.attempts += 1
        self.begun += 1
        if queued.unschedulable_plugins or queued.pending_plugins:
            self.count_rejections(queued, -1)
        if queued.place is ACTIVE:
            # Inlined `move_to` for the common case.
            queued.place = OUTSIDE
            queued.moved_by = event
        else:
            queued.move_to(OUTSIDE, event)

    def end_in_failure(self, queued: QueuedPodInfo, now: int) -> Strategy:
        """Record the failure and return the strategy, given the events during the attempt."""
        self.record_failure(queued, now)
        queued.backoff_until = self._backoff.end_of_backoff(queued)
        return self._strategy(queued)

    def record_failure(self, queued: QueuedPodInfo, now: int) -> None:
        """Record the failure of an attempt."""
        if queued.rejectors:
            queued.unschedulable_count += 1
            queued.consecutive_errors = 0
        else:
            queued.consecutive_errors += 1
        queued.timestamp = now
        queued.serial = next(self._serials)
        queued.was_flushed = False
        queued.flushed_at = NEVER
        self.count_rejections(queued, 1)

    def _strategy(self, queued: QueuedPodInfo) -> Strategy:
        if not queued.rejectors or queued.uid not in self._in_flight.pods:
            return Strategy.AFTER_BACKOFF
        return self._hints.strategy_after_flight(queued, self._in_flight.events_since_pop(queued.uid))

    def next_serial(self) -> int:
        return next(self._serials)

    def count_rejections(self, queued: QueuedPodInfo, by: int) -> None:
        """Count the pod as waiting (+1) or no longer waiting (-1) for each of its rejectors."""
        for plugin in queued.rejectors:
            self._metrics.rejection_changed(plugin, queued.profile, by)
