# SPDX-License-Identifier: Apache-2.0
"""Changes that the watch showed and nobody has looked at yet, with the other scheduler's queue as far as it can be seen.

A decision is judged a moment after it was seen, so that later events can be taken into account. Bindings overtake each other on
their way to the API server, but decisions are made one after the other, in the order of the queue: among pods of one priority
that of their arrival, unless a pod was tried before. Their places in the queue say which of two bindings was decided first.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Container, Iterator
from typing import Final

from steersman import api
from steersman.clock import Clock
from steersman.framework.pod_info import DEFAULT_SCHEDULER_NAME
from steersman.shadow.cluster_model import WatchChange

SCHEDULED_CONDITION: Final = "PodScheduled"
UNSCHEDULABLE: Final = "Unschedulable"


def shows_binding(change: WatchChange) -> bool:
    """Whether the change shows that a pod got its node."""
    old, new = change.old, change.new
    return isinstance(old, api.Pod) and isinstance(new, api.Pod) and not old.spec.node_name and bool(new.spec.node_name)


def shows_failure(change: WatchChange) -> bool:
    """Whether the change shows that an attempt to find a node failed: another message, or another nomination."""
    old, new = change.old, change.new
    if not isinstance(old, api.Pod) or not isinstance(new, api.Pod) or new.spec.node_name:
        return False
    message = failure_message(new)
    if message is None:
        return False
    return (failure_message(old), old.status.nominated_node_name) != (message, new.status.nominated_node_name)


def shows_expectation(change: WatchChange) -> bool:
    """Whether the change shows that a node was found for a pod whose binding takes its time: it is nominated, and nothing
    failed (gate NominatedNodeNameForExpectation)."""
    old, new = change.old, change.new
    if not isinstance(old, api.Pod) or not isinstance(new, api.Pod) or new.spec.node_name:
        return False
    is_nominated = bool(new.status.nominated_node_name) and not old.status.nominated_node_name
    return is_nominated and failure_message(new) is None


def failure_message(pod: api.Pod) -> str | None:
    """Why the pod has no node, as its condition says; None: nothing was said, or something is broken."""
    for condition in pod.status.conditions:
        if condition.type == SCHEDULED_CONDITION and condition.status == "False" and condition.reason == UNSCHEDULABLE:
            return condition.message
    return None


class HeldChanges:
    """An event sink that holds what it is told until it is taken. Objects before and after an event are told apart here."""

    def __init__(self, clock: Clock, scheduler_names: Container[str]) -> None:
        """`scheduler_names` are those of the other scheduler, as pods name it."""
        self._clock = clock
        self._scheduler_names = scheduler_names
        self._changes: deque[WatchChange] = deque()
        self._latest: dict[tuple[type[api.Object], str], api.Object] = {}
        #: By uid, the place in the queue of a pod that has not been tried, as far as anybody can see.
        self._places: dict[str, int] = {}
        self._next_place = 0
        #: By priority, bindings that are held, by place.
        self._by_place: dict[int, list[tuple[int, int, WatchChange]]] = {}
        self._sequence = 0

    def __len__(self) -> int:
        return len(self._changes)

    def __iter__(self) -> Iterator[WatchChange]:
        """The held changes from the oldest on; nothing may be taken meanwhile."""
        return iter(self._changes)

    def has_in_queue(self, pod: api.Pod) -> bool:
        """Whether the other scheduler is to place the pod, or was."""
        return (pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME) in self._scheduler_names

    # -- the watch ---------------------------------------------------------------------------------------------------

    def changed(self, obj: api.Object) -> None:
        """The object was added or modified."""
        identity = type(obj), api.key(obj)
        old = self._latest.get(identity)
        if old is not None and old.metadata.uid != obj.metadata.uid:
            self.deleted(old)
            old = None
        self._latest[identity] = obj
        self._hold(old, obj)

    def deleted(self, obj: api.Object) -> None:
        """The object is gone."""
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
        """The pod's place in the queue at the time of the change. It ends with the first attempt that is seen."""
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

    # -- taking ------------------------------------------------------------------------------------------------------

    def clear(self) -> None:
        """Forgets what is held, and the places of pods in the queue: in which order the other scheduler found these pods is not
        known."""
        self._places.clear()
        self._changes.clear()
        self._by_place.clear()

    def oldest(self) -> WatchChange | None:
        return self._changes[0] if self._changes else None

    def take(self) -> WatchChange:
        """The oldest one."""
        return self._changes.popleft()

    def decided_before(self, change: WatchChange) -> Iterator[WatchChange]:
        """The held bindings that were decided before what the change shows, in order; each is given once."""
        if change.place is None or not isinstance(change.object, api.Pod):
            return
        heap = self._by_place.get(change.object.spec.priority or 0, [])
        while heap and heap[0][0] < change.place:
            yield heapq.heappop(heap)[2]
        if heap and heap[0][2] is change:
            heapq.heappop(heap)
