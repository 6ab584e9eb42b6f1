# SPDX-License-Identifier: Apache-2.0
"""Watched changes that are not processed yet, and the visible part of the other scheduler's queue.

Decisions are reviewed with a delay, so that later events are known. Bindings may overtake each
other on the way to the API server, but decisions are made in queue order: within a priority, in
order of arrival, unless a pod was tried before. So queue positions give the order of decisions.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Container, Iterator
from typing import Final

from steersman import api
from steersman.base import Clock
from steersman.run.shadow.cluster_model import WatchChange

UNSCHEDULABLE: Final = "Unschedulable"


def shows_binding(change: WatchChange) -> bool:
    """Return whether the change binds a pod."""
    old, new = change.old, change.new
    return isinstance(old, api.Pod) and isinstance(new, api.Pod) and not old.spec.node_name and bool(new.spec.node_name)


def shows_failure(change: WatchChange) -> bool:
    """Return whether the change shows a failed attempt: another message or another nomination."""
    old, new = change.old, change.new
    if not isinstance(old, api.Pod) or not isinstance(new, api.Pod) or new.spec.node_name:
        return False
    message = failure_message(new)
    if message is None:
        return False
    return (failure_message(old), old.status.nominated_node_name) != (message, new.status.nominated_node_name)


def shows_expectation(change: WatchChange) -> bool:
    """Return whether the change shows a chosen node whose binding is slow: a nomination without a
    failure (gate NominatedNodeNameForExpectation)."""
    old, new = change.old, change.new
    if not isinstance(old, api.Pod) or not isinstance(new, api.Pod) or new.spec.node_name:
        return False
    is_nominated = bool(new.status.nominated_node_name) and not old.status.nominated_node_name
    return is_nominated and failure_message(new) is None


def failure_message(pod: api.Pod) -> str | None:
    """Return the message of the pod's Unschedulable condition; None if it has none."""
    for condition in pod.status.conditions:
        if condition.type == api.POD_SCHEDULED and condition.status == "False" and condition.reason == UNSCHEDULABLE:
            return condition.message
    return None


class BufferedChanges:
    """Event sink that holds changes, with the objects before and after, until taken."""

    def __init__(self, clock: Clock, scheduler_names: Container[str]) -> None:
        """Hold changes; `scheduler_names` are the other scheduler's names in pods."""
        self._clock = clock
        self._scheduler_names = scheduler_names
        self._changes: deque[WatchChange] = deque()
        self._latest: dict[tuple[type[api.Object], str], api.Object] = {}
        #: Pod UID → visible queue position of a pod that has not been tried.
        self._places: dict[str, int] = {}
        self._next_place = 0
        #: Priority → held bindings, by queue position.
        self._by_place: dict[int, list[tuple[int, int, WatchChange]]] = {}
        self._sequence = 0

    def __len__(self) -> int:
        return len(self._changes)

    def __iter__(self) -> Iterator[WatchChange]:
        """Iterate over the held changes, oldest first; do not take any meanwhile."""
        return iter(self._changes)

    def has_in_queue(self, pod: api.Pod) -> bool:
        """Return whether the other scheduler is responsible for the pod."""
        return pod.scheduler_name in self._scheduler_names

    # -- the watch ---------------------------------------------------------------------------------------------------

    def changed(self, obj: api.Object) -> None:
        """Hold the addition or modification of an object."""
        identity = type(obj), api.key(obj)
        old = self._latest.get(identity)
        if old is not None and old.metadata.uid != obj.metadata.uid:
            self.deleted(old)
            old = None
        self._latest[identity] = obj
        self._hold(old, obj)

    def deleted(self, obj: api.Object) -> None:
        """Hold the deletion of an object."""
        old = self._latest.pop((type(obj), api.key(obj)), None)
        if old is not None:
            self._hold(old, None)

    def _hold(self, old: api.Object | None, new: api.Object | None) -> None:
        place = self._place(old, new)
        change = WatchChange(self._clock.monotonic(), self._clock.now(), old, new, place)
        self._changes.append(change)
        if place is not None and shows_binding(change) and isinstance(new, api.Pod):
            self._sequence += 1
            heap = self._by_place.setdefault(new.spec.priority or 0, [])
            heapq.heappush(heap, (place, self._sequence, change))

    def _place(self, old: api.Object | None, new: api.Object | None) -> int | None:
        """Return the pod's queue position at the change; None after its first visible attempt."""
        pod = new if new is not None else old
        if not isinstance(pod, api.Pod) or not self.has_in_queue(pod):
            return None
        uid = pod.metadata.uid
        if new is None or pod.spec.node_name:
            return self._places.pop(uid, None)
        if failure_message(pod) is not None:
            return self._places.pop(uid, None)
        if not pod.spec.scheduling_gates and (not isinstance(old, api.Pod) or old.spec.scheduling_gates):
            self._places[uid] = self._next_place
            self._next_place += 1
        return self._places.get(uid)

    # -- removal of changes ------------------------------------------------------------------------------------------

    def clear(self) -> None:
        """Drop the held changes, and the queue positions, because the order in which the other
        scheduler found these pods is unknown."""
        self._places.clear()
        self._changes.clear()
        self._by_place.clear()

    def oldest(self) -> WatchChange | None:
        return self._changes[0] if self._changes else None

    def take(self) -> WatchChange:
        """Remove and return the oldest change."""
        return self._changes.popleft()

    def decided_before(self, change: WatchChange) -> Iterator[WatchChange]:
        """Yield the held bindings that were decided before the change, in order, each once."""
        if change.place is None or not isinstance(change.object, api.Pod):
            return
        heap = self._by_place.get(change.object.spec.priority or 0, [])
        while heap and heap[0][0] < change.place:
            yield heapq.heappop(heap)[2]
        if heap and heap[0][2] is change:
            heapq.heappop(heap)
