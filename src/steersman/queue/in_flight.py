# SPDX-License-Identifier: Apache-2.0
"""Pods in flight, and what happened in the cluster meanwhile.

While a pod is being scheduled, events pass it by: they could have woken it if it had already been waiting. So events
are kept as long as some pod is in flight that was popped before them. When a pod comes back rejected, the events since
its pop are played back to it.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from itertools import islice

from steersman.framework.events import ClusterEvent
from steersman.queue.hints import RecordedEvent
from steersman.queue.queued_pod import ACTIVE, IN_FLIGHT, OUTSIDE, QueuedPodInfo


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
