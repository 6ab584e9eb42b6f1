# SPDX-License-Identifier: Apache-2.0
"""The search of `plan nodes`: numbers of new nodes by pool with which nothing stays pending, as cheap as it finds them.

    start ─► repair: nodes for what is pending ─► shrink: fewer of each pool ─► swap: some of one pool for some of another

Every step asks a trial (`sim.node_trials`), which has the scheduler place all pods. The search ends after so many trials, not
after so much time, so that the answer is the same on every machine; a time limit may cut it, and then says so.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from steersman.plan.packing import NodeKind, Packing, greedy_counts

Counts = dict[str, int]
"""New nodes by pool."""

MOST_REPAIRS = 40
MOST_FUTILE = 3
"""So often may more nodes not help the pods of a class before it is given up."""
LARGEST_SWAP = 8
"""So many nodes of a pool are swapped at once, at most."""
LEAST_REPLACED = 0.8
"""A swap must bring so much of what it takes away, of every resource, to be tried."""


class PoolSizeSearch:
    """One search over the numbers of nodes of a packing's pools.

    `pending` tells, for numbers of nodes, how many pods of each class have no room; with a number of pods it may stop there.
    """

    def __init__(
        self,
        packing: Packing,
        pending: Callable[[Counts, int | None], Mapping[int, int]],
        most_trials: int,
        is_late: Callable[[], bool] = lambda: False,
    ) -> None:
        self._packing = packing
        self._pending = pending
        self._most_trials = most_trials
        self._is_late = is_late
        self._prices = {kind.pool: kind.price for kind in packing.kinds if kind.most is None}
        self._fitting: dict[tuple[tuple[str, int], ...], bool] = {}
        self.trials = 0
        #: Whether the time limit ended the search.
        self.is_cut = False
        #: class → pods for which no number of nodes within the limits has room: so many may stay pending.
        self.given_up: dict[int, int] = {}

    def cost(self, counts: Counts) -> float:
        return math.fsum(self._prices[pool] * count for pool, count in counts.items())

    def best_of(self, starts: Iterable[Counts]) -> Counts:
        """The cheapest numbers of nodes that were found from any of the starts. The first one says what may be given up."""
        found: list[Counts] = []
        for start in starts:
            tolerated = dict(self.given_up)
            repaired = self.repair(start)
            if found and self.given_up != tolerated:
                self.given_up = tolerated
                continue
            found.append(self.shrink(repaired))
            if self._is_over():
                break
        return self.swap(min(found, key=self.cost))

    # -- repair ------------------------------------------------------------------------------------------------------

    def repair(self, counts: Counts) -> Counts:
        """More nodes until nothing is pending, but for classes that are given up."""
        counts = self._packing.clamped(counts)
        before: dict[int, int] = {}
        futile: Counter[int] = Counter()
        since: dict[int, Counts] = {}
        for _ in range(MOST_REPAIRS):
            pending = self._missing(counts)
            if not pending:
                break
            for number, pods in pending.items():
                if pods < before.get(number, pods + 1):
                    futile[number] = 0
                    since[number] = counts
                futile[number] += 1
            hopeless = {number: pods for number, pods in pending.items() if futile[number] > MOST_FUTILE}
            added = {} if hopeless else greedy_counts(self._packing, pending, counts)
            if not added:
                self._give_up(hopeless or pending)
                counts = min((since[number] for number in hopeless or pending), key=self.cost)
            counts = sum_of(counts, added)
            before = dict(pending)
        return counts

    def excess(self, pending: Mapping[int, int]) -> dict[int, int]:
        """Pods that are pending though they should not be, by class."""
        return {number: pods for number, pods in pending.items() if pods > self.given_up.get(number, 0)}

    def _missing(self, counts: Counts) -> dict[int, int]:
        self.trials += 1
        return self.excess(self._pending(counts, None))

    def _give_up(self, hopeless: Mapping[int, int]) -> None:
        for number, pods in hopeless.items():
            self.given_up[number] = max(pods, self.given_up.get(number, 0))

    # -- shrink ------------------------------------------------------------------------------------------------------

    def shrink(self, counts: Counts, pools: Iterable[str] | None = None) -> Counts:
        """Fewer nodes of one pool after the other, the dearest first, as long as everything fits."""
        for pool in sorted(pools or counts, key=lambda name: (-self._prices[name], name)):
            step = 1
            while not self._is_over():
                fewer = {**counts, pool: counts[pool] - step}
                if self._fits(fewer):
                    counts, step = fewer, 2 * step
                elif step == 1:
                    break
                else:
                    step //= 2
        return counts

    def _fits(self, counts: Counts) -> bool:
        limits = self._packing.pools
        if any(count < limits[pool].least for pool, count in counts.items()) or not self._packing.allows(counts):
            return False
        key = tuple(sorted(counts.items()))
        if key not in self._fitting:
            self.trials += 1
            tolerated = sum(self.given_up.values())
            self._fitting[key] = not self.excess(self._pending(counts, tolerated + 1))
        return self._fitting[key]

    # -- swap --------------------------------------------------------------------------------------------------------

    def swap(self, counts: Counts) -> Counts:
        """Some nodes of a pool for cheaper ones of another, as long as everything fits and there is something to gain."""
        is_better = True
        while is_better and not self._is_over():
            is_better = False
            for taken, given in self._swaps(counts):
                if self._is_over():
                    break
                swapped = sum_of(counts, {taken[0]: -taken[1], given[0]: given[1]})
                if self._fits(swapped):
                    counts, is_better = self.shrink(swapped, (given[0], taken[0])), True
                    break
        return counts

    def _swaps(self, counts: Counts) -> Iterator[tuple[tuple[str, int], tuple[str, int]]]:
        """Nodes to take and nodes to give, the most promising first: those that bring back most of what goes."""
        kinds = {kind.pool: kind for kind in self._packing.kinds if kind.most is None}
        found: list[tuple[float, float, tuple[str, int], tuple[str, int]]] = []
        for taken, old in kinds.items():
            for given, new in kinds.items():
                if taken == given or not old.classes & new.classes:
                    continue
                for number in range(1, min(counts[taken], LARGEST_SWAP) + 1):
                    others = math.ceil(number * old.price / new.price - 1e-9) - 1 if new.price else LARGEST_SWAP
                    replaced = _replaced(old, number, new, others) if 0 < others <= LARGEST_SWAP else 0.0
                    if replaced >= LEAST_REPLACED:
                        saving = number * old.price - others * new.price
                        found.append((-min(replaced, 1.0), -saving, (taken, number), (given, others)))
        for _, _, taken_nodes, given_nodes in sorted(found):
            yield taken_nodes, given_nodes

    def _is_over(self) -> bool:
        if self._is_late():
            self.is_cut = True
        return self.is_cut or self.trials >= self._most_trials


def _replaced(old: NodeKind, number: int, new: NodeKind, others: int) -> float:
    """The least share, over what the old nodes have, that the new ones bring of it."""
    pairs = [(number * had, others * has) for had, has in zip(old.capacity, new.capacity, strict=True) if had > 1]
    return min((brings / takes for takes, brings in pairs), default=0.0)


def scaled_up(counts: Mapping[str, float], share: float) -> Counts:
    """Whole nodes for fractions of nodes, and a share more."""
    return {pool: math.ceil(count * (1 + share) - 1e-6) for pool, count in counts.items()}


def rounded_down(counts: Mapping[str, float]) -> Counts:
    """Whole nodes for fractions of nodes; the rest is for `repair`."""
    return {pool: int(count + 0.25) for pool, count in counts.items()}


def sum_of(counts: Counts, others: Mapping[str, int]) -> Counts:
    """The sum of both numbers of nodes, pool by pool."""
    return {pool: counts.get(pool, 0) + others.get(pool, 0) for pool in {**counts, **others}}
