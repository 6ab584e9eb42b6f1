# SPDX-License-Identifier: Apache-2.0
"""Inference of the nodes that kube-scheduler evaluated, from its placements.

kube-scheduler evaluates nodes in a fixed order, zones in turn, from a start index, until enough
nodes fit; the next search begins where this one ended (`schedule_one.go`,
`findNodesThatPassFilters`). The start index is not visible, but a decision leaves only the indexes
from which the search reaches the pod's node, and each determines the next. `SearchTracker`
maintains this set, which soon is small.

Parallel workers evaluate a chunk of nodes each and stop when enough nodes fit. So the last chunks
are evaluated in part, and sometimes an earlier one of a delayed worker; the same number of nodes is
then evaluated beyond the end.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steersman.framework import BoolColumn
from steersman.run.shadow.placement import PlacementScores
from steersman.run.shadow.search_odds import chance_of_missing
from steersman.scheduler.engine import MIN_FEASIBLE_NODES

Positions = NDArray[np.intp]

#: kube-scheduler's default, and the minimum of its adaptive percentage.
PARALLELISM: Final = 16
_MIN_PERCENTAGE: Final = 5
#: Number of chunks at the end that may be evaluated in part: workers that run at once.
_LAST_CHUNKS: Final = 2
#: Maximum number of consecutive searches for pods whose decision was not visible.
_MAX_UNSEEN: Final = 3
#: Maximum error of a start index, in chunks, after searches with many unfit nodes.
_DRIFT_CHUNKS: Final = 4
#: With this many delayed chunks, or without a start index left, a search that misses all better
#: nodes must have at least this probability.
_MANY_DELAYED, _LIKELY = 3, 1e-3
#: With more best nodes than this, a search finds one of them, except for this share of late chunks.
_MANY_BEST, _LATE_SHARE = 64, 0.1
#: Maximum number of start indexes tried with relative scores (two evaluations each).
_MAX_EVALUATED: Final = 64
#: Maximum share of possible indexes that counts as a prediction.
_PREDICTED_SHARE: Final = 0.25


def feasible_nodes_to_find(percentage: int | None, nodes: int) -> int:
    """Return the number of feasible nodes to find; upstream's `numFeasibleNodesToFind`."""
    if nodes < MIN_FEASIBLE_NODES:
        return nodes
    share = percentage or max(50 - nodes // 125, _MIN_PERCENTAGE)
    return max(nodes * share // 100, MIN_FEASIBLE_NODES)


def chunk_size(nodes: int) -> int:
    """Return the number of nodes that a worker takes at once; upstream's `chunkSizeFor`."""
    return max(1, min(math.isqrt(nodes), nodes // PARALLELISM + 1))


class SearchWindows:
    """Nodes that a search reaches, for every start index."""

    def __init__(self, order: Positions, feasible: BoolColumn, wanted: int) -> None:
        """Compute the windows of a search order; `feasible` is true for rows on which the pod
        fits."""
        self.order = order
        self.size = size = len(order)
        self.wanted = wanted
        self.chunk = chunk_size(size)
        #: Number of nodes in the last chunks.
        self.boundary = min(_LAST_CHUNKS * self.chunk, wanted // 2)
        self._starts = np.arange(size)
        found = feasible[order]
        #: Number of feasible nodes before a position; positions cover three rounds.
        self._found_before = np.concatenate(([0], np.cumsum(np.tile(found, 3))))
        self.evaluates_all_nodes = int(self._found_before[size]) <= wanted
        if self.evaluates_all_nodes:
            self._lengths = np.full(size, size)
        else:
            # A search ends before the feasible node after the last wanted one.
            ends = np.searchsorted(self._found_before, self._found_before[:size] + wanted + 1) - 1
            self._lengths = ends - self._starts

    def holding(self, position: int, more: int) -> BoolColumn:
        """Return per start index whether a search gets within `more` nodes of the position."""
        distance = (position - self._starts) % self.size
        held: BoolColumn = distance < self._lengths + more
        return held

    def chunks_with(self, start: int, positions: Positions) -> Positions:
        """Return the chunks of a search, except the last ones, with one of the positions."""
        distance = (positions - start) % self.size
        inside = distance[distance < int(self._lengths[start]) - self.boundary]
        chunks: Positions = np.unique(inside // self.chunk)
        return chunks

    def outside(self, start: int, capacity: int, reach: int = 0, delayed: Positions | None = None) -> BoolColumn:
        """Return a column of the rows that a search does not reach. It reached the nodes of its
        last chunk up to `reach`, and as many nodes beyond the end as `delayed` chunks lack."""
        length = max(int(self._lengths[start]), reach)
        rotated = np.roll(self.order, -start)
        rest = np.zeros(capacity, np.bool_)
        late = np.zeros(length, np.bool_) if delayed is None else np.isin(np.arange(length) // self.chunk, delayed)
        late[max(0, reach - 1) // self.chunk * self.chunk : reach] = False
        rest[rotated[:length][late]] = True
        rest[rotated[length + int(np.count_nonzero(late)) :]] = True
        return rest

    def next_starts(self, starts: BoolColumn, boundary: int = 0) -> BoolColumn:
        """Return the possible start indexes of the next search, given those of this one."""
        if self.evaluates_all_nodes:
            return starts
        first, last = self._next_range(boundary)
        chosen = starts.nonzero()[0]
        edges = np.zeros(3 * self.size + 1, np.int64)
        np.add.at(edges, first[chosen], 1)
        np.add.at(edges, last[chosen] + 1, -1)
        covered = np.cumsum(edges)[: 3 * self.size] > 0
        following: BoolColumn = np.logical_or.reduce(covered.reshape(3, self.size))
        return following

    def _next_range(self, boundary: int) -> tuple[Positions, Positions]:
        """Return the smallest and largest next index: unfit nodes count only if evaluated."""
        ends = self._starts + self._lengths
        least = ends - self._unfit_between(np.maximum(self._starts, ends - boundary), ends)
        greatest = ends + self._unfit_between(ends, ends + min(boundary, self.size))
        return least, np.minimum(greatest, 3 * self.size - 1)

    def _unfit_between(self, first: Positions, last: Positions) -> Positions:
        unfit: Positions = (last - first) - (self._found_before[last] - self._found_before[first])
        return unfit


class SearchCourse(StrEnum):
    """Course of a search that explains a decision: `usual`, or one that is rare in a real
    kube-scheduler."""

    USUAL = "usual"
    LATE_WORKER = "late worker"
    """The worker of one chunk was delayed."""
    UNSEEN = "unseen search"
    """Other searches happened in between, for pods whose decision was not visible."""
    LATE_WORKERS = "late workers"
    ALL_LATE = "all workers late"
    """All workers but one were delayed, so that the search happened some chunks further on."""
    DRIFTED = "drifted"
    """The start index was off by some chunks, because unfit nodes count only if evaluated."""
    ANEW = "found anew"
    """No start index was left, so that all were tried again."""


#: Course → maximum share of decisions, plus a number, that it may explain.
_BELIEVED: Final = {
    SearchCourse.USUAL: (1.0, 0),
    SearchCourse.LATE_WORKER: (0.25, 5),
    SearchCourse.UNSEEN: (0.05, 3),
    SearchCourse.LATE_WORKERS: (0.05, 3),
    SearchCourse.ALL_LATE: (0.03, 2),
    SearchCourse.DRIFTED: (0.03, 2),
    SearchCourse.ANEW: (0.01, 2),
}


class SearchAttempt(NamedTuple):
    """One possible course of a search."""

    course: SearchCourse
    #: Possible start indexes.
    starts: BoolColumn
    #: Maximum number of chunks of delayed workers.
    delayed: int = 0


class SearchMatch(NamedTuple):
    """Searches that explain a placement."""

    windows: SearchWindows
    #: Possible start indexes, and those of them from which the search reaches the node.
    before: BoolColumn
    starts: BoolColumn
    #: One of `starts` from which no better node is reached.
    start_index: int
    course: SearchCourse

    def chance_of_any(self, positions: Positions) -> float:
        """Return the probability that a search from one of `before` reaches a position."""
        if len(positions) > _MANY_BEST:
            return 1.0 - _LATE_SHARE
        reached = np.zeros_like(self.before)
        for position in positions.tolist():
            reached |= self.windows.holding(position, 0)
        return float(np.mean(reached[self.before])) * (1.0 - _LATE_SHARE)


class SearchTracker:
    """Possible start indexes of the other scheduler's next search."""

    def __init__(self) -> None:
        #: bool[nodes]; None if unknown or if the nodes have changed.
        self._starts: BoolColumn | None = None
        #: Number of followed decisions by course.
        self._followed: Counter[SearchCourse] = Counter()
        #: Number of consecutive decisions that a predicted index explained.
        self.confirmed = 0
        #: Number of times that no index was left.
        self.lost = 0

    def match(self, placement: PlacementScores, order: Positions, wanted: int) -> SearchMatch | None:
        """Return the searches that explain the placement, or None. Does not change the tracker."""
        windows = SearchWindows(order, placement.feasible, wanted)
        before = self._current(len(order))
        position = placement.position_in(order)
        is_likely: bool | None = None
        for attempt in self._attempts(windows, before):
            is_rare = attempt.delayed >= _MANY_DELAYED or attempt.course is SearchCourse.ANEW
            if is_rare and is_likely is None:
                is_likely = chance_of_missing_chunks(placement, order, wanted) >= _LIKELY
            if self._is_accepted(attempt.course) and (is_likely or not is_rare):
                held = attempt.starts & windows.holding(position, windows.boundary + attempt.delayed * windows.chunk)
                index = _explaining(windows, held, placement, attempt.delayed)
                if index is not None:
                    return SearchMatch(windows, before, held, index, attempt.course)
        return None

    def follow(self, match: SearchMatch) -> None:
        """Record that one of the matched searches made the decision."""
        windows = match.windows
        self.confirmed += self.is_predicting
        self._followed[match.course] += 1
        self._starts = windows.next_starts(match.starts, windows.boundary)

    def moved_on(self, nodes: int, by: int) -> None:
        """Record a search of `by` nodes from an unknown index."""
        self._starts = np.roll(self._current(nodes), by)

    def lose(self) -> None:
        """Forget the start indexes, because none explains a decision."""
        self._starts, self.confirmed = None, 0
        self.lost += 1

    @property
    def is_predicting(self) -> bool:
        """Whether few start indexes are possible."""
        starts = self._starts
        return starts is not None and int(np.count_nonzero(starts)) <= _PREDICTED_SHARE * len(starts)

    @property
    def possible(self) -> int | None:
        """Number of possible start indexes; None if unknown."""
        return None if self._starts is None else int(np.count_nonzero(self._starts))

    def _current(self, nodes: int) -> BoolColumn:
        if self._starts is None or len(self._starts) != nodes:
            self._starts = np.ones(nodes, np.bool_)
            self.confirmed = 0
        return self._starts

    def _is_accepted(self, course: SearchCourse) -> bool:
        """Return whether the course is not used too often."""
        share, besides = _BELIEVED[course]
        return self._followed[course] <= besides + share * self._followed.total()

    def _attempts(self, windows: SearchWindows, starts: BoolColumn) -> Iterator[SearchAttempt]:
        """Yield possible searches, likeliest first."""
        yield SearchAttempt(SearchCourse.USUAL, starts)
        if windows.evaluates_all_nodes:
            return
        yield SearchAttempt(SearchCourse.LATE_WORKER, starts, 1)
        later = starts
        for _ in range(_MAX_UNSEEN):
            # Unknown searches are assumed to be like this one.
            later = windows.next_starts(later, windows.boundary)
            yield SearchAttempt(SearchCourse.UNSEEN, later)
        yield SearchAttempt(SearchCourse.LATE_WORKERS, starts, _MANY_DELAYED)
        yield SearchAttempt(SearchCourse.ALL_LATE, starts, PARALLELISM - 1)
        yield SearchAttempt(SearchCourse.DRIFTED, _widened(starts, _DRIFT_CHUNKS * windows.chunk))
        yield SearchAttempt(SearchCourse.ANEW, np.ones_like(starts))


def _widened(starts: BoolColumn, by: int) -> BoolColumn:
    """Return the indexes and `by` neighbours on each side."""
    edges = np.concatenate((starts[-by:], starts, starts[:by]))
    near: BoolColumn = np.convolve(edges, np.ones(2 * by + 1, np.int64), "valid") > 0
    return near


def chance_of_missing_chunks(placement: PlacementScores, order: Positions, wanted: int) -> float:
    """Return the probability that a search from a random index misses all better nodes. Neighbours
    are missed together, so that chunks are counted."""
    size = chunk_size(len(order))
    chunks = len(np.unique(placement.better_positions(order) // size))
    return chance_of_missing(math.ceil(len(order) / size), min(wanted, placement.feasible_count) // size, chunks)


def _explaining(windows: SearchWindows, starts: BoolColumn, placement: PlacementScores, delayed: int) -> int | None:
    """Return a start index from which better nodes are in at most `delayed` chunks; None if there
    is none."""
    candidates = starts.nonzero()[0]
    if placement.is_best or not len(candidates):
        return int(candidates[0]) if len(candidates) else None
    if len(candidates) > _MAX_EVALUATED and placement.is_relative:
        candidates = candidates[:: len(candidates) // _MAX_EVALUATED + 1]
    explains = _explains_relatively if placement.is_relative else _explains
    return next((start for start in candidates.tolist() if explains(windows, start, placement, delayed)), None)


def _explains(windows: SearchWindows, start: int, placement: PlacementScores, delayed: int) -> bool:
    return len(windows.chunks_with(start, placement.better_positions(windows.order))) <= delayed


def _explains_relatively(windows: SearchWindows, start: int, placement: PlacementScores, delayed: int) -> bool:
    """Return whether a search explains the placement if scores depend on the evaluated nodes."""
    capacity = len(placement.feasible)
    reach = (placement.position_in(windows.order) - start) % windows.size + 1
    better = placement.better_without(windows.outside(start, capacity, reach))
    if not len(better):
        return True
    positions = np.isin(windows.order, better).nonzero()[0]
    if len(windows.chunks_with(start, positions)) > delayed:
        return False
    chunks = np.unique((positions - start) % windows.size // windows.chunk)
    return not len(placement.better_without(windows.outside(start, capacity, reach, chunks)))
