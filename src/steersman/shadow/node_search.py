# SPDX-License-Identifier: Apache-2.0
"""Which nodes kube-scheduler looked at, told from where its pods went.

kube-scheduler takes nodes in a fixed order, zone by turn, from an index on, until it has found enough that fit; the next
pod's search begins where this one ended (`schedule_one.go`, `findNodesThatPassFilters`). The index is not visible, but it
is never arbitrary: after a decision only those indexes are possible from which the search came to the pod's node, and each
gives the next one. So `SearchTracker` keeps the set of possible indexes from decision to decision. It soon is small, and
whether the next pod's node is the best from there is evidence, not a guess.

Workers search in parallel, a chunk of nodes each, and all stop when enough nodes are found. So the last chunks are looked
at in part, and now and then so is an earlier one, whose worker was delayed; as many nodes more are looked at beyond the
end.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steersman.engine.sampling import MIN_FEASIBLE_NODES
from steersman.framework.nodes_view import BoolColumn
from steersman.shadow.placement import PlacementScores
from steersman.shadow.search_odds import chance_of_missing

Positions = NDArray[np.intp]

#: kube-scheduler's default, and the least share of nodes that it looks at by itself.
PARALLELISM: Final = 16
_LEAST_PERCENTAGE: Final = 5
#: Chunks at the end of a search that are always looked at in part: workers that really run at once.
_LAST_CHUNKS: Final = 2
#: So many searches in a row may have been for pods whose decision nobody saw.
_MOST_UNSEEN: Final = 3
#: Chunks by which a start index may be off after searches among many nodes that do not fit.
_DRIFT_CHUNKS: Final = 4
#: From so many delayed chunks on, and where no start index was left, a search that misses all better nodes must at least not
#: be unlikely in itself.
_MANY_DELAYED, _LIKELY = 3, 1e-3
#: Among so many best nodes a search finds one in any case; unless it is in a chunk whose worker was late, which a share are.
_MANY_BEST, _LATE_SHARE = 64, 0.1
#: Where scores depend on the nodes that were looked at, each start index costs two evaluations.
_MOST_EVALUATED: Final = 64
#: Up to so large a share of all indexes counts as a prediction.
_PREDICTED_SHARE: Final = 0.25


def feasible_nodes_to_find(percentage: int | None, nodes: int) -> int:
    """After how many feasible nodes kube-scheduler ends a search; upstream's `numFeasibleNodesToFind`."""
    if nodes < MIN_FEASIBLE_NODES:
        return nodes
    share = percentage or max(50 - nodes // 125, _LEAST_PERCENTAGE)
    return max(nodes * share // 100, MIN_FEASIBLE_NODES)


def chunk_size(nodes: int) -> int:
    """Nodes that a worker takes at once; upstream's `chunkSizeFor`."""
    return max(1, min(math.isqrt(nodes), nodes // PARALLELISM + 1))


class SearchWindows:
    """The nodes that a search comes to, for every index from which it may begin."""

    def __init__(self, order: Positions, feasible: BoolColumn, wanted: int) -> None:
        """`order` are the rows as they are searched, `feasible` says of every row whether the pod fits."""
        self.order = order
        self.size = size = len(order)
        self.wanted = wanted
        self.chunk = chunk_size(size)
        #: Nodes of the last chunks.
        self.boundary = min(_LAST_CHUNKS * self.chunk, wanted // 2)
        self._starts = np.arange(size)
        found = feasible[order]
        #: Feasible nodes before a position; positions go round three times.
        self._found_before = np.concatenate(([0], np.cumsum(np.tile(found, 3))))
        self.looks_at_all = int(self._found_before[size]) <= wanted
        if self.looks_at_all:
            self._lengths = np.full(size, size)
        else:
            # The search ends at the feasible node after the last wanted one: what does not fit before it was looked at.
            ends = np.searchsorted(self._found_before, self._found_before[:size] + wanted + 1) - 1
            self._lengths = ends - self._starts

    def holding(self, position: int, more: int) -> BoolColumn:
        """Whether a search from each index comes to the node at this position, or ends so many nodes before it at most."""
        distance = (position - self._starts) % self.size
        held: BoolColumn = distance < self._lengths + more
        return held

    def chunks_with(self, start: int, positions: Positions) -> Positions:
        """The chunks of a search from an index, but for its last ones, that have one of the positions in them."""
        distance = (positions - start) % self.size
        inside = distance[distance < int(self._lengths[start]) - self.boundary]
        chunks: Positions = np.unique(inside // self.chunk)
        return chunks

    def outside(self, start: int, capacity: int, reach: int = 0, delayed: Positions | None = None) -> BoolColumn:
        """The rows that a search from an index does not come to, as a column of the table. It came to the node before `reach`,
        and to those before that in its chunk; without what is in the `delayed` chunks it goes on for as many nodes more."""
        length = max(int(self._lengths[start]), reach)
        rotated = np.roll(self.order, -start)
        rest = np.zeros(capacity, np.bool_)
        late = np.zeros(length, np.bool_) if delayed is None else np.isin(np.arange(length) // self.chunk, delayed)
        late[max(0, reach - 1) // self.chunk * self.chunk : reach] = False
        rest[rotated[:length][late]] = True
        rest[rotated[length + int(np.count_nonzero(late)) :]] = True
        return rest

    def next_starts(self, starts: BoolColumn, boundary: int = 0) -> BoolColumn:
        """Where the next search may begin if this one began at one of these indexes."""
        if self.looks_at_all:
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
        """The least and the greatest next index: nodes that do not fit count only if a worker came to them."""
        ends = self._starts + self._lengths
        least = ends - self._unfit_between(np.maximum(self._starts, ends - boundary), ends)
        greatest = ends + self._unfit_between(ends, ends + min(boundary, self.size))
        return least, np.minimum(greatest, 3 * self.size - 1)

    def _unfit_between(self, first: Positions, last: Positions) -> Positions:
        unfit: Positions = (last - first) - (self._found_before[last] - self._found_before[first])
        return unfit


class SearchCourse(StrEnum):
    """The course that a search must have taken to explain a decision: `usual`, or something that is rare on a real
    kube-scheduler."""

    USUAL = "usual"
    LATE_WORKER = "late worker"
    """The worker of one chunk came late."""
    UNSEEN = "unseen search"
    """Other searches were made in between, for pods whose decision nobody saw."""
    LATE_WORKERS = "late workers"
    ALL_LATE = "all workers late"
    """All workers but one were late, so that the search was made some chunks further on."""
    DRIFTED = "drifted"
    """The start index was off by some chunks: nodes that do not fit are counted only if a worker came to them."""
    ANEW = "found anew"
    """No start index was left, and it had to be looked for anew."""


#: The share of decisions, and the number besides, up to which a course is believed.
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
    """One way in which a search may have gone."""

    course: SearchCourse
    #: Start indexes that are possible then.
    starts: BoolColumn
    #: Chunks that delayed workers left, at most.
    delayed: int = 0


class SearchMatch(NamedTuple):
    """Searches that explain where a pod went."""

    windows: SearchWindows
    #: Start indexes that were possible before, and those of them from which the search comes to the pod's node.
    before: BoolColumn
    starts: BoolColumn
    #: One of the latter from which there is nothing better.
    start_index: int
    course: SearchCourse

    def chance_of_any(self, positions: Positions) -> float:
        """The chance that a search from one of the indexes that were possible before comes to one of the positions."""
        if len(positions) > _MANY_BEST:
            return 1.0 - _LATE_SHARE
        reached = np.zeros_like(self.before)
        for position in positions.tolist():
            reached |= self.windows.holding(position, 0)
        return float(np.mean(reached[self.before])) * (1.0 - _LATE_SHARE)


class SearchTracker:
    """The indexes at which the other scheduler's next search may begin."""

    def __init__(self) -> None:
        #: bool[nodes]; None: nothing is known, or the nodes have changed.
        self._starts: BoolColumn | None = None
        #: Decisions that were followed, by course.
        self._followed: Counter[SearchCourse] = Counter()
        #: Decisions in a row that a predicted index explained.
        self.confirmed = 0
        #: How often no index was left.
        self.lost = 0

    def match(self, placement: PlacementScores, order: Positions, wanted: int) -> SearchMatch | None:
        """The searches that explain the placement; None: there is none. Nothing is remembered of it."""
        windows = SearchWindows(order, placement.feasible, wanted)
        before = self._current(len(order))
        position = placement.position_in(order)
        is_likely: bool | None = None
        for attempt in self._attempts(windows, before):
            is_rare = attempt.delayed >= _MANY_DELAYED or attempt.course is SearchCourse.ANEW
            if is_rare and is_likely is None:
                is_likely = chance_of_missing_chunks(placement, order, wanted) >= _LIKELY
            if self._is_believed(attempt.course) and (is_likely or not is_rare):
                held = attempt.starts & windows.holding(position, windows.boundary + attempt.delayed * windows.chunk)
                index = _explaining(windows, held, placement, attempt.delayed)
                if index is not None:
                    return SearchMatch(windows, before, held, index, attempt.course)
        return None

    def follow(self, match: SearchMatch) -> None:
        """The decision was made by one of the searches that matched: the next one begins where it ended."""
        windows = match.windows
        self.confirmed += self.is_predicting
        self._followed[match.course] += 1
        self._starts = windows.next_starts(match.starts, windows.boundary)

    def moved_on(self, nodes: int, by: int) -> None:
        """A search came to so many nodes, wherever it began."""
        self._starts = np.roll(self._current(nodes), by)

    def lose(self) -> None:
        """No index explains a decision: the next search may begin anywhere."""
        self._starts, self.confirmed = None, 0
        self.lost += 1

    @property
    def is_predicting(self) -> bool:
        """Whether few start indexes are possible."""
        starts = self._starts
        return starts is not None and int(np.count_nonzero(starts)) <= _PREDICTED_SHARE * len(starts)

    @property
    def possible(self) -> int | None:
        """How many start indexes are possible; None: nothing is known."""
        return None if self._starts is None else int(np.count_nonzero(self._starts))

    def _current(self, nodes: int) -> BoolColumn:
        if self._starts is None or len(self._starts) != nodes:
            self._starts = np.ones(nodes, np.bool_)
            self.confirmed = 0
        return self._starts

    def _is_believed(self, course: SearchCourse) -> bool:
        """Whether it has not been needed too often."""
        share, besides = _BELIEVED[course]
        return self._followed[course] <= besides + share * self._followed.total()

    def _attempts(self, windows: SearchWindows, starts: BoolColumn) -> Iterator[SearchAttempt]:
        """Searches that may have happened, the likeliest first."""
        yield SearchAttempt(SearchCourse.USUAL, starts)
        if windows.looks_at_all:
            return
        yield SearchAttempt(SearchCourse.LATE_WORKER, starts, 1)
        later = starts
        for _ in range(_MOST_UNSEEN):
            # Nobody knows these searches; they are taken to be like this one.
            later = windows.next_starts(later, windows.boundary)
            yield SearchAttempt(SearchCourse.UNSEEN, later)
        yield SearchAttempt(SearchCourse.LATE_WORKERS, starts, _MANY_DELAYED)
        yield SearchAttempt(SearchCourse.ALL_LATE, starts, PARALLELISM - 1)
        yield SearchAttempt(SearchCourse.DRIFTED, _widened(starts, _DRIFT_CHUNKS * windows.chunk))
        yield SearchAttempt(SearchCourse.ANEW, np.ones_like(starts))


def _widened(starts: BoolColumn, by: int) -> BoolColumn:
    """The indexes, and so many before and after each."""
    edges = np.concatenate((starts[-by:], starts, starts[:by]))
    near: BoolColumn = np.convolve(edges, np.ones(2 * by + 1, np.int64), "valid") > 0
    return near


def chance_of_missing_chunks(placement: PlacementScores, order: Positions, wanted: int) -> float:
    """The chance that a search that begins anywhere misses all better nodes. Neighbours in the order are missed together, so
    that chunks are what counts."""
    size = chunk_size(len(order))
    chunks = len(np.unique(placement.better_positions(order) // size))
    return chance_of_missing(math.ceil(len(order) / size), min(wanted, placement.feasible_count) // size, chunks)


def _explaining(windows: SearchWindows, starts: BoolColumn, placement: PlacementScores, delayed: int) -> int | None:
    """A start index from which the search finds nothing better, but for what is in so many delayed chunks; None: there is
    none."""
    candidates = starts.nonzero()[0]
    if placement.is_best or not len(candidates):
        return int(candidates[0]) if len(candidates) else None
    if len(candidates) > _MOST_EVALUATED and placement.is_relative:
        candidates = candidates[:: len(candidates) // _MOST_EVALUATED + 1]
    explains = _explains_relatively if placement.is_relative else _explains
    return next((start for start in candidates.tolist() if explains(windows, start, placement, delayed)), None)


def _explains(windows: SearchWindows, start: int, placement: PlacementScores, delayed: int) -> bool:
    return len(windows.chunks_with(start, placement.better_positions(windows.order))) <= delayed


def _explains_relatively(windows: SearchWindows, start: int, placement: PlacementScores, delayed: int) -> bool:
    """Whether a search explains the placement, where scores depend on the nodes that were looked at."""
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
