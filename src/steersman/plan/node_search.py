# SPDX-License-Identifier: Apache-2.0
"""The search of `plan nodes`: finds cheap counts of new nodes by pool that leave nothing pending.

    start ─► repair: nodes for what is pending ─► shrink: fewer of each pool ─► swap: some of one pool for some of another
          ─► cheaper mixes: all that have enough of every resource, the cheapest first, while trials are left

Every step runs a trial (`simulation.probes.node_trials`), in which the scheduler places all pods.
The search is limited by trials, to be the same on every machine, and optionally by time.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product

from steersman.plan.packing import NodeKind, Packing, ValueRow, dimension_rows, greedy_counts

Counts = dict[str, int]
"""New nodes by pool."""

MAX_REPAIRS = 40
MAX_FUTILE = 3
"""Number of unsuccessful additions of nodes after which a class is given up."""
MAX_SWAPPED_NODES = 8
"""Maximum number of nodes of a pool that are swapped at once."""
MAX_MIXES = 50_000
"""Above this number of mixes, cheaper mixes are not tried."""
MIN_REPLACED = 0.8
"""Minimum share of every removed resource that a swap must add to be tried."""


class PoolSizeSearch:
    """A search over the node counts of a packing's pools.

    `pending` returns the unplaced pods by class for node counts; it may stop at a number of pods.
    """

    def __init__(
        self,
        packing: Packing,
        pending: Callable[[Counts, int | None], Mapping[int, int]],
        most_trials: int,
        is_late: Callable[[], bool] = lambda: False,
        least_cost: float = 0.0,
    ) -> None:
        self._packing = packing
        self._pending = pending
        self._most_trials = most_trials
        self._is_late = is_late
        self._prices = {kind.pool: kind.price for kind in packing.kinds if kind.most is None}
        self._fitting: dict[tuple[tuple[str, int], ...], bool] = {}
        #: Minimum cost of tried counts.
        self.least_cost = least_cost
        self.trials = 0
        #: Whether the time limit ended the search.
        self.is_cut = False
        #: class → number of pods that may stay pending, as no counts within the limits help them.
        self.given_up: dict[int, int] = {}

    def cost(self, counts: Counts) -> float:
        return math.fsum(self._prices[pool] * count for pool, count in counts.items())

    def best_of(self, starts: Iterable[Counts]) -> Counts:
        """Return the cheapest counts found from the starts; only the first may give up pods."""
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
        return self.try_cheaper_mixes(self.swap(min(found, key=self.cost)))

    # -- repair ------------------------------------------------------------------------------------------------------

    def repair(self, counts: Counts) -> Counts:
        """Add nodes until nothing is pending, except given up classes."""
        counts = self._packing.clamped(counts)
        before: dict[int, int] = {}
        futile: Counter[int] = Counter()
        since: dict[int, Counts] = {}
        for _ in range(MAX_REPAIRS):
            pending = self._missing(counts)
            if not pending:
                break
            for number, pods in pending.items():
                if pods < before.get(number, pods + 1):
                    futile[number] = 0
                    since[number] = counts
                futile[number] += 1
            hopeless = {number: pods for number, pods in pending.items() if futile[number] > MAX_FUTILE}
            added = {} if hopeless else greedy_counts(self._packing, pending, counts)
            if not added:
                self._give_up(hopeless or pending)
                counts = min((since[number] for number in hopeless or pending), key=self.cost)
            counts = sum_of(counts, added)
            before = dict(pending)
        return counts

    def excess(self, pending: Mapping[int, int]) -> dict[int, int]:
        """Return the pending pods beyond those given up, by class."""
        return {number: pods for number, pods in pending.items() if pods > self.given_up.get(number, 0)}

    def _missing(self, counts: Counts) -> dict[int, int]:
        self.trials += 1
        return self.excess(self._pending(counts, None))

    def _give_up(self, hopeless: Mapping[int, int]) -> None:
        for number, pods in hopeless.items():
            self.given_up[number] = max(pods, self.given_up.get(number, 0))

    # -- shrink ------------------------------------------------------------------------------------------------------

    def shrink(self, counts: Counts, pools: Iterable[str] | None = None) -> Counts:
        """Remove nodes pool by pool, most expensive first, while everything fits."""
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
        """Replace nodes by cheaper ones of other pools, while everything fits and cost falls."""
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
        """Yield (removed, added) nodes, by the share of removed resources that is added."""
        kinds = {kind.pool: kind for kind in self._packing.kinds if kind.most is None}
        found: list[tuple[float, float, tuple[str, int], tuple[str, int]]] = []
        for taken, old in kinds.items():
            for given, new in kinds.items():
                if taken == given or not old.classes & new.classes:
                    continue
                for number in range(1, min(counts[taken], MAX_SWAPPED_NODES) + 1):
                    others = math.ceil(number * old.price / new.price - 1e-9) - 1 if new.price else MAX_SWAPPED_NODES
                    replaced = _replaced(old, number, new, others) if 0 < others <= MAX_SWAPPED_NODES else 0.0
                    if replaced >= MIN_REPLACED:
                        saving = number * old.price - others * new.price
                        found.append((-min(replaced, 1.0), -saving, (taken, number), (given, others)))
        for _, _, taken_nodes, given_nodes in sorted(found):
            yield taken_nodes, given_nodes

    # -- cheaper mixes -----------------------------------------------------------------------------------------------

    def try_cheaper_mixes(self, counts: Counts) -> Counts:
        """Return the cheapest fitting counts among all cheaper ones, else the given ones.

        If there are more than `MAX_MIXES`, none is tried.
        """
        failed: list[Counts] = []
        for mix in self._cheaper_mixes(counts):
            if self._is_over():
                break
            if any(all(mix[pool] <= tried[pool] for pool in mix) for tried in failed):
                continue
            if self._fits(mix):
                return mix
            failed.append(mix)
        return counts

    def _cheaper_mixes(self, counts: Counts) -> list[Counts]:
        """Return counts from `least_cost` to the given ones' cost with enough of every resource."""
        limit, pools = self.cost(counts) - 1e-9, [pool for pool in counts if self._prices[pool] > 0]
        ranges = [range(int(limit / self._prices[pool]) + 1) for pool in pools]
        if self.given_up or math.prod(map(len, ranges)) > MAX_MIXES:
            return []
        needed = [self._needed(row) for row in dimension_rows(self._packing)]
        mixes = (dict(zip(pools, numbers, strict=True)) for numbers in product(*ranges))
        cheaper = [mix for mix in mixes if self.least_cost - 1e-9 <= self.cost(mix) <= limit]
        enough = [
            {**counts, **mix}
            for mix in cheaper
            if all(sum(values[pool] * count for pool, count in mix.items()) >= demand for values, demand in needed)
        ]
        return sorted(enough, key=lambda mix: (self.cost(mix), sorted(mix.items())))

    def _needed(self, row: ValueRow) -> tuple[dict[str, float], float]:
        """Return a new node's maximum value by pool, and the demand that new nodes must cover."""
        values, demand = dict.fromkeys(self._prices, 0.0), row.demand
        for kind, value in zip(self._packing.kinds, row.node_values, strict=True):
            if kind.most is None:
                values[kind.pool] = max(values[kind.pool], value)
            else:
                demand -= value * kind.most
        return values, demand

    def _is_over(self) -> bool:
        if self._is_late():
            self.is_cut = True
        return self.is_cut or self.trials >= self._most_trials


def _replaced(old: NodeKind, number: int, new: NodeKind, others: int) -> float:
    """Return the minimum share of the old nodes' amounts that the new ones have."""
    pairs = [(number * had, others * has) for had, has in zip(old.capacity, new.capacity, strict=True) if had > 1]
    return min((brings / takes for takes, brings in pairs), default=0.0)


def scaled_up(counts: Mapping[str, float], share: float) -> Counts:
    """Round fractions of nodes up after adding a share."""
    return {pool: math.ceil(count * (1 + share) - 1e-6) for pool, count in counts.items()}


def rounded_down(counts: Mapping[str, float]) -> Counts:
    """Round fractions of nodes, mostly down; `repair` adds the rest."""
    return {pool: int(count + 0.25) for pool, count in counts.items()}


def sum_of(counts: Counts, others: Mapping[str, int]) -> Counts:
    """Return the sum of both counts by pool."""
    return {pool: counts.get(pool, 0) + others.get(pool, 0) for pool in {**counts, **others}}
