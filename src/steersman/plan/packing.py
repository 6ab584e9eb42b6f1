# SPDX-License-Identifier: Apache-2.0
"""The packing problem behind `plan nodes`: classes of pods, kinds of nodes with prices, and the room on nodes that stay.

It is a relaxation of what the scheduler demands: every placement of all pods by the scheduler is a packing, and most packings
are no placement that the scheduler would choose. So the cheapest packing costs no more than the cheapest plan. Amounts are
whole numbers along `dimensions`: resources, pods, and what there can be one of on a node (a host port, a pod of a group that
keeps apart). `packing_model` makes it of a simulation, `pattern_bound` and `greedy_counts` solve it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec


class PodClass(msgspec.Struct, frozen=True):
    """Pods that no constraint of the packing tells apart."""

    #: Along the dimensions of the packing.
    amounts: tuple[int, ...]
    #: So many pods need a place.
    count: int


class NodeKind(msgspec.Struct, frozen=True):
    """Nodes that are alike: new ones of a pool, in zones that make no difference, or existing ones that could go."""

    pool: str
    price: float
    #: What daemon pods leave, along the dimensions.
    capacity: tuple[int, ...]
    #: Indexes of the classes that may run here.
    classes: frozenset[int]
    #: Allocatable CPU in millicores, for the share of spot nodes.
    cpu: int = 0
    is_spot: bool = False
    #: So many at most; None: as many as the pool may have.
    most: int | None = None


class FixedRoom(msgspec.Struct, frozen=True):
    """Room on existing nodes that stay, at no cost: nodes that suit the same classes, added up."""

    capacity: tuple[int, ...]
    #: By class: how many of its pods fit on these nodes if nothing else comes.
    most: dict[int, int]


class PoolRange(msgspec.Struct, frozen=True):
    """How many nodes of a pool the plan may have, the kept ones among them."""

    least: int = 0
    most: int | None = None


class SpotLimit(msgspec.Struct, frozen=True):
    """Spot nodes have at most `share` of the CPU of all nodes; `spot_cpu` and `all_cpu` are those of the nodes that stay."""

    share: float
    spot_cpu: int = 0
    all_cpu: int = 0

    def is_met(self, spot_cpu: int, all_cpu: int) -> bool:
        """Whether the limit is met with the nodes that come besides those that stay."""
        allowed = self.share * (self.all_cpu + all_cpu)
        return self.spot_cpu + spot_cpu <= allowed + 1e-6 or not spot_cpu


class Packing(msgspec.Struct, frozen=True):
    """A packing problem: pods by class, nodes by kind, room on nodes that stay, and limits of pools."""

    dimensions: tuple[str, ...]
    classes: tuple[PodClass, ...]
    kinds: tuple[NodeKind, ...]
    rooms: tuple[FixedRoom, ...] = ()
    pools: dict[str, PoolRange] = {}
    spot: SpotLimit | None = None

    def allows(self, counts: Mapping[str, int]) -> bool:
        """Whether so many new nodes of the pools are within the limits from above."""
        tops = (limits.most is None or counts.get(pool, 0) <= limits.most for pool, limits in self.pools.items())
        return all(tops) and (self.spot is None or self.spot.is_met(*self._cpu(counts)))

    def daemon_class(self, pool: str = "") -> int:
        """A number, beyond those of the classes, for daemon pods that other pods have left no room for: on new nodes of a pool,
        or on existing nodes."""
        return len(self.classes) + (list(self.pools).index(pool) + 1 if pool else 0)

    def clamped(self, counts: Mapping[str, int]) -> dict[str, int]:
        """The counts of new nodes, of every pool, raised and lowered to what the pools and the share of spot nodes allow."""
        pools = {kind.pool: self.pools[kind.pool] for kind in self.kinds if kind.most is None}
        fitted = {pool: max(counts.get(pool, 0), limits.least) for pool, limits in pools.items()}
        for pool, limits in pools.items():
            fitted[pool] = fitted[pool] if limits.most is None else min(fitted[pool], limits.most)
        spot = {kind.pool for kind in self.kinds if kind.is_spot and kind.most is None}
        while not self.allows(fitted) and any(fitted[pool] > pools[pool].least for pool in spot):
            fitted[max(sorted(spot), key=lambda name: fitted[name] - pools[name].least)] -= 1
        return fitted

    def _cpu(self, counts: Mapping[str, int]) -> tuple[int, int]:
        """CPU of the new nodes: of spot nodes, and of all."""
        of_one = {kind.pool: (kind.cpu * kind.is_spot, kind.cpu) for kind in self.kinds if kind.most is None}
        known = [(count, of_one[pool]) for pool, count in counts.items() if pool in of_one]
        return sum(count * cpu[0] for count, cpu in known), sum(count * cpu[1] for count, cpu in known)

    def most_on(self, kind: NodeKind, index: int) -> int:
        """How many pods of a class fit on a node that has nothing else; 0 where none may run."""
        if index not in kind.classes:
            return 0
        pod_class = self.classes[index]
        fitting = (room // amount for room, amount in zip(kind.capacity, pod_class.amounts, strict=True) if amount)
        return min(min(fitting, default=pod_class.count), pod_class.count)


def greedy_counts(packing: Packing, demand: Mapping[int, int], present: Mapping[str, int]) -> dict[str, int]:
    """Nodes to add to those that are `present`, by pool, so that the demand (class → pods) fits if it were packed by hand.

    One node after the other: of the kind whose filling is worth most for its price. What a pod is worth is what it would cost
    on the kind of node that suits it best. Ends where no pool with a suitable node may grow.
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
            filling = _filling(packing, kind, left, worth)
            value = sum(worth[index] * number for index, number in filling.items())
            rate = value / (kind.price or 1e-9)
            if filling and (best is None or rate > best[0] * (1 + 1e-9)):
                best = (rate, kind, filling)
        if best is None:
            break
        _, kind, filling = best
        counts[kind.pool] = counts.get(kind.pool, 0) + 1
        for index, number in filling.items():
            left[index] -= number
    return {pool: count - present.get(pool, 0) for pool, count in counts.items() if count > present.get(pool, 0)}


def _one_more(packing: Packing, demand: Mapping[int, int], counts: dict[str, int]) -> dict[str, int]:
    """For daemon pods without room: one more node of their pool, or the cheapest one, draws other pods away from them."""
    prices = {kind.pool: kind.price for kind in packing.kinds if kind.most is None}
    wanted = [pool for pool in prices if packing.daemon_class(pool) in demand]
    for pool in (*wanted, *sorted(prices, key=lambda name: (prices[name], name))):
        more = {**counts, pool: counts.get(pool, 0) + 1}
        if packing.allows(more):
            return more
    return counts


def _worth(packing: Packing) -> list[float]:
    """By class, the least that a pod costs on any kind of node: its largest share of a node, times the price."""
    return [
        min((_share(pod_class, kind) * kind.price for kind in packing.kinds if index in kind.classes), default=0.0)
        + 1e-9
        for index, pod_class in enumerate(packing.classes)
    ]


def _share(pod_class: PodClass, kind: NodeKind) -> float:
    pairs = zip(pod_class.amounts, kind.capacity, strict=True)
    return max((amount / room for amount, room in pairs if amount and room), default=0.0)


def _filling(packing: Packing, kind: NodeKind, left: Mapping[int, int], worth: Sequence[float]) -> dict[int, int]:
    """Pods for one node, those first that are worth most for the part of this node that they take."""
    room, filling = list(kind.capacity), dict[int, int]()
    wanted = [index for index in kind.classes if left.get(index)]
    classes = packing.classes
    for index in sorted(wanted, key=lambda index: (-worth[index] / (_share(classes[index], kind) or 1e-9), index)):
        amounts = classes[index].amounts
        fitting = (free // amount for free, amount in zip(room, amounts, strict=True) if amount)
        number = min(min(fitting, default=left[index]), left[index])
        if number > 0:
            filling[index] = number
            room = [free - number * amount for free, amount in zip(room, amounts, strict=True)]
    return filling
