# SPDX-License-Identifier: Apache-2.0
"""A priority queue of pods with access by key, used by activeQ, the backoff queues and the
unschedulable pods.

Pods mostly arrive in the order in which they leave: of two pods with the same priority the later
one goes behind the earlier one. Such pods are appended to a run, a sorted row of entries, and only
the first entry of each run is in the heap. Pods that arrive out of order go into the heap
themselves. So the heap stays small, and an addition or a pop costs about the same with ten pods as
with a hundred thousand.

Removing or repositioning a pod leaves its old entry behind; such stale entries are dropped when
they reach the top.

A QueueSort plugin orders pods either by `sort_key(queued)`, a tuple, or, like its Go counterpart,
by `less(a, b)`; the heap works with tuples, and `sort_key_of` converts both.
"""

from __future__ import annotations

import copy
import functools
import logging
from collections import deque
from collections.abc import Callable, Iterator
from heapq import heappop, heappush, heapreplace
from itertools import islice
from typing import Any, Final, Protocol, runtime_checkable

from steersman.scheduler.queue.queued_pod_group import Queued

logger = logging.getLogger(__name__)

SortKey = Callable[[Queued], tuple[Any, ...]]
"""Lower keys come first. All keys of one heap have the same length; if they have several items, the
first is hashable."""

Entry = tuple[Any, ...]
"""(*sort key, serial, pod). A sort key of one item is preceded by None, so that all such entries
share one run. Serials are unique, so that pods are never compared."""

_STALE_ENTRIES_TOLERATED: Final = 64
"""Maximum number of stale entries before a rebuild pays off."""


class QueuedPodHeap:
    """Pods by key, ordered by sort key and then by serial number."""

    __slots__ = ("_heap", "_runs", "_sort_key", "_stored", "entries")

    def __init__(self, sort_key: SortKey) -> None:
        self._sort_key = sort_key
        #: Pod key → its valid entry. Read-only for other modules (`key in heap.entries` is the
        #: fastest test).
        self.entries: dict[str, Entry] = {}
        #: First item of the sort key → ascending entries with that item. No empty values.
        self._runs: dict[object, deque[Entry]] = {}
        #: In heap order: the first entry of every run, and all entries outside runs.
        self._heap: list[Entry] = []
        #: Number of entries in heap and runs, including stale ones.
        self._stored = 0

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, key: str) -> bool:
        return key in self.entries

    def __iter__(self) -> Iterator[Queued]:
        """Iterate over the pods in no particular order."""
        return (entry[-1] for entry in self.entries.values())

    def get(self, key: str) -> Queued | None:
        entry = self.entries.get(key)
        return None if entry is None else entry[-1]

    def add(self, queued: Queued) -> None:
        """Add a pod, replacing any other with its key, or reposition it if its sort key changed."""
        try:
            place = self._sort_key(queued)
        except Exception:
            if not self.entries:
                raise
            place = self._any_place(queued)
        entry = (*place, queued.serial, queued) if len(place) > 1 else (None, *place, queued.serial, queued)
        key = queued.key
        if key in self.entries:
            if self.entries[key] == entry:
                return
            self.remove(key)
        self.entries[key] = entry
        self._store(entry)

    def remove(self, key: str) -> Queued | None:
        entry = self.entries.pop(key, None)
        if entry is None:
            return None
        if self._stored > 2 * len(self.entries) + _STALE_ENTRIES_TOLERATED:
            self._drop_stale_entries()
        queued: Queued = entry[-1]
        return queued

    def pop(self) -> Queued | None:
        """Remove and return the first pod, or None."""
        heap, entries = self._heap, self.entries
        while heap:
            entry = heap[0]
            self._drop_first_entry(entry)
            queued: Queued = entry[-1]
            if entries.get(queued.key) is entry:
                del entries[queued.key]
                return queued
        return None

    def peek(self) -> Queued | None:
        """Return the first pod without removing it, or None."""
        heap, entries = self._heap, self.entries
        while heap:
            entry = heap[0]
            queued: Queued = entry[-1]
            if entries.get(queued.key) is entry:
                return queued
            self._drop_first_entry(entry)
        return None

    def leading(self, limit: int) -> Iterator[Queued]:
        """Yield at most `limit` of the pods that the next pops would return, possibly fewer than
        there are. The heap must not change during the iteration."""
        first = self.peek()
        if first is None:
            return
        heap, entries = self._heap, self.entries
        run = self._runs.get(heap[0][0])
        if run is None or run[0] is not heap[0]:
            yield first
            return
        # One of these two is the first entry outside the run.
        others = heap[1:3]
        bound = min(others) if others else None
        for entry in islice(run, limit):
            if bound is not None and bound < entry:
                return
            queued: Queued = entry[-1]
            if entries.get(queued.key) is entry:
                yield queued

    def ordered(self) -> list[Queued]:
        """Return all pods in the order in which pops would return them."""
        return [entry[-1] for entry in sorted(self.entries.values())]

    def _any_place(self, queued: Queued) -> tuple[Any, ...]:
        """Return the sort key of an arbitrary pod, for a pod whose sort key raises."""
        logger.exception("the sort key of pod %s cannot be computed", queued.key)
        return next(iter(self.entries.values()))[:-2]

    def _store(self, entry: Entry) -> None:
        self._stored += 1
        run = self._runs.get(entry[0])
        if run is None:
            self._runs[entry[0]] = deque((entry,))
        elif run[-1] < entry:
            run.append(entry)
            return
        heappush(self._heap, entry)

    def _drop_first_entry(self, entry: Entry) -> None:
        """Remove the first entry, which is `entry`."""
        self._stored -= 1
        run = self._runs.get(entry[0])
        if run is None or run[0] is not entry:
            heappop(self._heap)
        elif len(run) > 1:
            run.popleft()
            heapreplace(self._heap, run[0])
        else:
            del self._runs[entry[0]]
            heappop(self._heap)

    def _drop_stale_entries(self) -> None:
        self._runs.clear()
        self._heap.clear()
        self._stored = 0
        for entry in sorted(self.entries.values()):
            self._store(entry)

    def problems(self) -> Iterator[str]:
        """Yield inconsistencies of the heap, for `validate_state`."""
        reachable = {id(entry) for row in (self._heap, *self._runs.values()) for entry in row}
        for key, entry in self.entries.items():
            queued: Queued = entry[-1]
            if queued.key != key:
                yield f"{key} leads to {queued}"
            if id(entry) not in reachable:
                yield f"{key} has an entry that no pop will find"
            if entry[-2 - len(self._sort_key(queued)) : -2] != self._sort_key(queued):
                yield f"{key} is at the position for {entry[:-2]}, but has the sort key {self._sort_key(queued)}"
        if len(reachable) != self._stored:
            yield f"there are {len(reachable)} entries, but {self._stored} were counted"
        if any(self._heap[(child - 1) // 2] > self._heap[child] for child in range(1, len(self._heap))):
            yield "the heap is out of order"
        in_heap = {id(entry) for entry in self._heap}
        for run in self._runs.values():
            if id(run[0]) not in in_heap or list(run) != sorted(run):
                yield "a run is out of order, or its first entry is not in the heap"


@runtime_checkable
class KeyedQueueSort(Protocol):
    """A QueueSort plugin with a sort key, the fast form."""

    def sort_key(self, queued: Queued, /) -> tuple[Any, ...]: ...


class ComparingQueueSort(Protocol):
    """A QueueSort plugin with a comparison, as in the Go framework."""

    def less(self, first: Queued, second: Queued, /) -> bool: ...


def sort_key_of(plugin: KeyedQueueSort | ComparingQueueSort) -> SortKey:
    """Return the plugin's order as a sort key."""
    return plugin.sort_key if isinstance(plugin, KeyedQueueSort) else _key_from_less(plugin)


def _key_from_less(plugin: ComparingQueueSort) -> SortKey:
    def compare(first: Queued, second: Queued) -> int:
        """Compare two pods. Pods that the plugin cannot compare are equal: an exception would
        corrupt the heap."""
        try:
            if plugin.less(first, second):
                return -1
            return 1 if plugin.less(second, first) else 0
        except (Exception, SystemExit):
            name = getattr(plugin, "name", type(plugin).__name__)
            logger.exception('plugin "%s": less() of pods %s and %s raised', name, first.key, second.key)
            return 0

    comparable = functools.cmp_to_key(compare)
    # A copy, because an entry must keep its position even if its pod changes.
    return lambda queued: (comparable(copy.copy(queued)),)
