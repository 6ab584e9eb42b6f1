# SPDX-License-Identifier: Apache-2.0
"""The packing problem of `plan nodes`: pod classes, priced node kinds, and room on remaining nodes.

It relaxes the scheduler's constraints: every placement by the scheduler is a packing, but not vice
versa. The cheapest packing therefore costs at most as much as the cheapest plan. Amounts are
integers along `dimensions`: resources, pods, and items of which a node can have one (host ports,
pods with anti-affinity). `packing_model` creates it, `pattern_bound` and `greedy_counts` solve it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec


class PodClass(msgspec.Struct, frozen=True):
    """Pods that are equal for all constraints of the packing."""

    #: Amounts along the dimensions of the packing.
    amounts: tuple[int, ...]
    #: Number of pods that need a place.
    count: int


class NodeKind(msgspec.Struct, frozen=True):
    """Equal nodes: new ones of a pool in equivalent zones, or removable existing ones."""

    pool: str
    price: float
    #: Capacity without daemon pods, along the dimensions.
    capacity: tuple[int, ...]
    #: Indexes of the classes that may run here.
    classes: frozenset[int]
    #: Allocatable CPU in millicores, for the share of spot nodes.
    cpu: int = 0
    is_spot: bool = False
    #: Maximum number; None for new nodes, which only the pool limits.
    most: int | None = None


class FixedRoom(msgspec.Struct, frozen=True):
    """Free room on existing nodes that stay: the sum over nodes that suit the same classes."""

    capacity: tuple[int, ...]
    #: Class → number of its pods that fit on these nodes without others.
    most: dict[int, int]


class PoolRange(msgspec.Struct, frozen=True):
    """Range of the number of new and removable nodes of a pool."""

    least: int = 0
    most: int | None = None


class SpotLimit(msgspec.Struct, frozen=True):
    """Maximum `share` of spot nodes in all CPU; `spot_cpu` and `all_cpu` are of remaining nodes."""

    share: float
    spot_cpu: int = 0
    all_cpu: int = 0

    def is_met(self, spot_cpu: int, all_cpu: int) -> bool:
        """Return whether the limit is met with these additional nodes."""
        allowed = self.share * (self.all_cpu + all_cpu)
        return self.spot_cpu + spot_cpu <= allowed + 1e-6 or not spot_cpu


class Packing(msgspec.Struct, frozen=True):
    """A packing problem: pods by class, nodes by kind, room on remaining nodes, limits of pools."""

    dimensions: tuple[str, ...]
    classes: tuple[PodClass, ...]
    kinds: tuple[NodeKind, ...]
    rooms: tuple[FixedRoom, ...] = ()
    pools: dict[str, PoolRange] = {}
    spot: SpotLimit | None = None

    def allows(self, counts: Mapping[str, int]) -> bool:
        """Return whether these counts of new nodes are within the upper limits."""
        tops = (limits.most is None or counts.get(pool, 0) <= limits.most for pool, limits in self.pools.items())
        return all(tops) and (self.spot is None or self.spot.is_met(*self._cpu(counts)))

    def daemon_class(self, pool: str = "") -> int:
        """Return a pseudo class number for daemon pods without room beside other pods, on new nodes
        of a pool or on existing nodes."""
        return len(self.classes) + (list(self.pools).index(pool) + 1 if pool else 0)

    def clamped(self, counts: Mapping[str, int]) -> dict[str, int]:
        """Return the counts, for every pool, clamped to the limits of pools and of spot nodes."""
        pools = {kind.pool: self.pools[kind.pool] for kind in self.kinds if kind.most is None}
        fitted = {pool: max(counts.get(pool, 0), limits.least) for pool, limits in pools.items()}
        for pool, limits in pools.items():
            fitted[pool] = fitted[pool] if limits.most is None else min(fitted[pool], limits.most)
        spot = {kind.pool for kind in self.kinds if kind.is_spot and kind.most is None}
        while not self.allows(fitted) and any(fitted[pool] > pools[pool].least for pool in spot):
            fitted[max(sorted(spot), key=lambda name: fitted[name] - pools[name].least)] -= 1
        return fitted

    def _cpu(self, counts: Mapping[str, int]) -> tuple[int, int]:
        """Return the CPU of new spot nodes, and of all new nodes."""
        of_one = {kind.pool: (kind.cpu * kind.is_spot, kind.cpu) for kind in self.kinds if kind.most is None}
        known = [(count, of_one[pool]) for pool, count in counts.items() if pool in of_one]
        return sum(count * cpu[0] for count, cpu in known), sum(count * cpu[1] for count, cpu in known)

    def most_on(self, kind: NodeKind, index: int) -> int:
        """Return the number of pods of a class that fit an empty node; 0 if not allowed there."""
        if index not in kind.classes:
            return 0
        pod_class = self.classes[index]
        fitting = (room // amount for room, amount in zip(kind.capacity, pod_class.amounts, strict=True) if amount)
        return min(min(fitting, default=pod_class.count), pod_class.count)


class ValueRow(NamedTuple):
    """The maximum value of a node of each kind, and the total value that new nodes need."""

    node_values: Sequence[float]
    demand: float


def dimension_rows(packing: Packing) -> list[ValueRow]:
    """Return a row for each dimension: nodes must cover the requests of all pods."""
    rows = []
    for dimension in range(len(packing.dimensions)):
        requested = sum(pods.count * pods.amounts[dimension] for pods in packing.classes)
        free = sum(room.capacity[dimension] for room in packing.rooms)
        rows.append(ValueRow([_usable(packing, kind, dimension) for kind in packing.kinds], requested - free))
    return rows


def _usable(packing: Packing, kind: NodeKind, dimension: int) -> float:
    allowed = (packing.classes[number] for number in kind.classes)
    requested = sum(pods.count * pods.amounts[dimension] for pods in allowed)
    return float(min(kind.capacity[dimension], requested))


def packed_greedily(packing: Packing) -> dict[str, int]:
    """Return new nodes by pool for the pods that remain after filling the fixed rooms."""
    left, worth = {index: pods.count for index, pods in enumerate(packing.classes)}, _worth(packing)
    for room in packing.rooms:
        wanted = {index: min(left[index], most) for index, most in room.most.items() if left[index]}
        for index, number in _filling(packing, room.capacity, wanted, worth).items():
            left[index] -= number
    return greedy_counts(packing, left, packing.clamped({})) if any(left.values()) else {}


def greedy_counts(packing: Packing, demand: Mapping[int, int], present: Mapping[str, int]) -> dict[str, int]:
    """Return nodes to add to `present`, by pool, for a greedy packing of the demand (class → pods).

    Adds nodes of the kind whose filling has the best value per price, as many as get the same one.
    The value of a pod is its cost on the best suited kind. Ends if no suitable pool may grow.
    """
    left, worth = {number: pods for number, pods in demand.items() if number < len(packing.classes)}, _worth(packing)
    counts = dict(present)
    if not left:
        counts = _one_more(packing, demand, counts)
    while any(left.values()):
        best: tuple[float, NodeKind, dict[int, int]] | None = None
        for kind in packing.kinds:
            if kind.most is not None or not packing.allows({**counts, kind.pool: counts.get(kind.pool, 0) + 1}):
                continue
            wanted = {index: left[index] for index in kind.classes if left.get(index)}
            filling = _filling(packing, kind.capacity, wanted, worth)
            value = sum(worth[index] * number for index, number in filling.items())
            rate = value / (kind.price or 1e-9)
            if filling and (best is None or rate > best[0] * (1 + 1e-9)):
                best = (rate, kind, filling)
        if best is None:
            break
        _, kind, filling = best
        times = min(left[index] // number for index, number in filling.items())
        if not packing.allows({**counts, kind.pool: counts.get(kind.pool, 0) + times}):
            times = 1
        counts[kind.pool] = counts.get(kind.pool, 0) + times
        for index, number in filling.items():
            left[index] -= number * times
    return {pool: count - present.get(pool, 0) for pool, count in counts.items() if count > present.get(pool, 0)}


def _one_more(packing: Packing, demand: Mapping[int, int], counts: dict[str, int]) -> dict[str, int]:
    """Add a node of their pool, or the cheapest one, to draw other pods away from daemon pods."""
    prices = {kind.pool: kind.price for kind in packing.kinds if kind.most is None}
    wanted = [pool for pool in prices if packing.daemon_class(pool) in demand]
    for pool in (*wanted, *sorted(prices, key=lambda name: (prices[name], name))):
        more = {**counts, pool: counts.get(pool, 0) + 1}
        if packing.allows(more):
            return more
    return counts


def _worth(packing: Packing) -> list[float]:
    """Return the minimum cost of a pod by class: its largest share of a node times the price."""
    return [
        min(
            (_share(pod_class, kind.capacity) * kind.price for kind in packing.kinds if index in kind.classes),
            default=0.0,
        )
        + 1e-9
        for index, pod_class in enumerate(packing.classes)
    ]


def _share(pod_class: PodClass, capacity: Sequence[int]) -> float:
    pairs = zip(pod_class.amounts, capacity, strict=True)
    return max((amount / room for amount, room in pairs if amount and room), default=0.0)


def _filling(
    packing: Packing, capacity: Sequence[int], wanted: Mapping[int, int], worth: Sequence[float]
) -> dict[int, int]:
    """Return pods for one node or room, at most `wanted` of each class.

    Classes are sorted by their value per share of the capacity.
    """
    room, filling, classes = list(capacity), dict[int, int](), packing.classes
    shares = {index: _share(classes[index], capacity) or 1e-9 for index in wanted}
    for index in sorted(wanted, key=lambda index: (-worth[index] / shares[index], index)):
        amounts = classes[index].amounts
        fitting = (free // amount for free, amount in zip(room, amounts, strict=True) if amount)
        number = min(min(fitting, default=wanted[index]), wanted[index])
        if number > 0:
            filling[index] = number
            room = [free - number * amount for free, amount in zip(room, amounts, strict=True)]
    return filling
