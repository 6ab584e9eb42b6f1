"""A priority queue of pods with access by key: the shelf that activeQ, the backoff queues and the unschedulable pods use.

Deleting or repositioning a pod leaves its old entry in the heap; such an entry is recognised and dropped when it comes to
the top. When most entries are stale the heap is rebuilt, so that every operation stays logarithmic on average.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import Any, Final

from steersman.queue.queued_pod import QueuedPodInfo

SortKey = Callable[[QueuedPodInfo], tuple[Any, ...]]
"""Smaller comes first. All keys of one heap have the same length and shape."""

_STALE_ENTRIES_TOLERATED: Final = 64
"""Below this number rebuilding costs more than it saves."""


class QueuedPodHeap:
    """Pods by key, and in order: by sort key, then in the order of their serial numbers."""

    __slots__ = ("_entries", "_heap", "_sort_key")

    def __init__(self, sort_key: SortKey) -> None:
        self._sort_key = sort_key
        #: Pod key → its one valid heap entry, (*sort key, serial, pod). The serial keeps pods from being compared.
        self._entries: dict[str, tuple[Any, ...]] = {}
        #: A superset of the values of `_entries`, in heap order.
        self._heap: list[tuple[Any, ...]] = []

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        """In no particular order."""
        return (entry[-1] for entry in self._entries.values())

    def get(self, key: str) -> QueuedPodInfo | None:
        entry = self._entries.get(key)
        return None if entry is None else entry[-1]

    def add(self, queued: QueuedPodInfo) -> None:
        """Put a pod in, in place of any other with its key; or put it where it now belongs if its sort key changed."""
        entry = (*self._sort_key(queued), queued.serial, queued)
        key = queued.key
        if key in self._entries:
            if self._entries[key] == entry:
                return
            self._rebuild_if_stale()
        self._entries[key] = entry
        heapq.heappush(self._heap, entry)

    def remove(self, key: str) -> QueuedPodInfo | None:
        entry = self._entries.pop(key, None)
        if entry is None:
            return None
        self._rebuild_if_stale()
        queued: QueuedPodInfo = entry[-1]
        return queued

    def pop(self) -> QueuedPodInfo | None:
        """Take the first pod out; None if there is none."""
        heap, entries = self._heap, self._entries
        while heap:
            entry = heapq.heappop(heap)
            queued: QueuedPodInfo = entry[-1]
            if entries.get(queued.key) is entry:
                del entries[queued.key]
                return queued
        return None

    def peek(self) -> QueuedPodInfo | None:
        """The first pod, which stays; None if there is none."""
        heap, entries = self._heap, self._entries
        while heap:
            queued: QueuedPodInfo = heap[0][-1]
            if entries.get(queued.key) is heap[0]:
                return queued
            heapq.heappop(heap)
        return None

    def ordered(self) -> list[QueuedPodInfo]:
        """All pods in the order in which pops would return them."""
        return [entry[-1] for entry in sorted(self._entries.values())]

    def problems(self) -> Iterator[str]:
        """What is wrong with the heap, for `validate_state`."""
        valid = {id(entry) for entry in self._heap}
        for key, entry in self._entries.items():
            queued: QueuedPodInfo = entry[-1]
            if queued.key != key:
                yield f"{key} leads to {queued}"
            if id(entry) not in valid:
                yield f"{key} is not in the heap"
            if entry[:-2] != self._sort_key(queued):
                yield f"{key} is at the position for {entry[:-2]}, but has the sort key {self._sort_key(queued)}"
        if any(self._heap[(child - 1) // 2] > self._heap[child] for child in range(1, len(self._heap))):
            yield "the heap is out of order"

    def _rebuild_if_stale(self) -> None:
        if len(self._heap) > 2 * len(self._entries) + _STALE_ENTRIES_TOLERATED:
            self._heap = list(self._entries.values())
            heapq.heapify(self._heap)
