# SPDX-License-Identifier: Apache-2.0
"""A proven lower bound of the cost of a packing: an integer program over patterns, relaxed and solved by column generation.

A pattern says how many pods of each class stand on one node of a kind. The master program chooses how often each pattern is
used, so that all pods have a place, at the least cost. There are far too many patterns to write down: it begins with a few,
and asks which pattern of each kind of node is worth most at the prices of pods that its solution implies (a small integer
program, a knapsack). When no pattern is worth more than its node costs, the solution is optimal. Before that, prices scaled
down until no pattern is worth more than its node costs prove a bound too (Farley's bound).

The solver is HiGHS (`pip install 'steersman[plan]'`); docs/adr/0026-plan-nodes.md has the reasons. Amounts are shares of a
node, so that the solver's tolerances make a node a little larger than it is, and the bound a little lower.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.plan.packing import Packing

if TYPE_CHECKING:
    from steersman.plan.pattern_programs import Duals, PackingPattern

NO_SOLVER: Final = "no lower bound: the solver is not installed; pip install 'steersman[plan]'"
MOST_ROUNDS: Final = 500
CLOSE_ENOUGH: Final = 3e-4
"""Column generation ends when bound and master program differ by no more than this share."""
SAFETY: Final = 1e-6
"""By so much, relatively, a bound is lowered: the solver calculates in floating point."""


class Bound(msgspec.Struct, frozen=True):
    """A lower bound of the cost of every plan, with the solution that it comes from."""

    #: No plan costs less; None: there is no solver to prove it.
    lower: float | None
    #: Proven: no numbers of nodes within the limits of the pools have room for all pods.
    is_infeasible: bool = False
    #: New nodes by pool in the solution that the bound comes from, in fractions of nodes.
    counts: dict[str, float] = {}
    rounds: int = 0
    patterns: int = 0


def is_available() -> bool:
    """Whether the solver is installed."""
    return importlib.util.find_spec("highspy") is not None


def pattern_bound(packing: Packing) -> Bound:
    """The bound, and the numbers of nodes that it comes from. Without the solver, a bound that knows nothing."""
    return _ColumnGeneration(packing).solve() if is_available() else Bound(None)


class _ColumnGeneration:
    """One packing, its master program, and a knapsack per kind of node."""

    def __init__(self, packing: Packing) -> None:
        from steersman.plan.pattern_programs import Knapsack, Master  # the solver is an extra

        self._packing = packing
        self._master = Master(packing)
        self._knapsacks = [Knapsack(packing, index) for index in range(len(packing.kinds))]
        self._known: set[PackingPattern] = set()
        self._rounds = 0

    def solve(self) -> Bound:
        best = 0.0
        self._add(_first_patterns(self._packing))
        for _ in range(MOST_ROUNDS):
            self._rounds += 1
            duals = self._master.solve()
            pairs = zip(self._knapsacks, duals.node_costs, strict=True)
            found = [knapsack.best(duals.pods, cost) for knapsack, cost in pairs]
            best = max(best, self._proven(duals, [value for value, _ in found]))
            is_new = self._add(pattern for _, pattern in found if pattern is not None)
            if not is_new or duals.objective - best <= CLOSE_ENOUGH * abs(duals.objective):
                break
        return self._answer(best)

    def _add(self, patterns: Iterator[PackingPattern]) -> bool:
        """Whether one of them was new."""
        before = len(self._known)
        for pattern in patterns:
            if pattern not in self._known:
                self._known.add(pattern)
                self._master.add(pattern)
        return len(self._known) > before

    def _proven(self, duals: Duals, values: Sequence[float]) -> float:
        """The bound that the duals prove if no pattern of a kind is worth more than its value: the better of two ways to
        account for patterns that are worth more than their node costs."""
        return max(self._lagrangian(duals, values, scale) for scale in {1.0, _farley_scale(duals, values)})

    def _lagrangian(self, duals: Duals, values: Sequence[float], scale: float) -> float:
        """With prices of pods times `scale`. A plan that costs less than `ceiling` has at most `ceiling / price` nodes of a
        kind; each of them gains no more than its pattern is worth beyond its cost."""
        from steersman.plan.pattern_programs import room_part

        packing = self._packing
        demand = sum(price * pods.count for price, pods in zip(duals.pods, packing.classes, strict=True))
        ceiling, total = 2 * duals.objective, scale * demand + duals.limits_part + room_part(packing, duals, scale)
        for kind, cost, value in zip(packing.kinds, duals.node_costs, values, strict=True):
            gain = scale * value - cost
            if gain > 0:
                total -= gain * (ceiling / kind.price if kind.price else _most_free(packing))
        return min(total, ceiling)

    def _answer(self, best: float) -> Bound:
        packing = self._packing
        lower = rounded_up(best * (1 - SAFETY), packing)
        return Bound(
            lower=lower,
            is_infeasible=lower > _dearest(packing) * (1 + SAFETY),
            counts=self._master.pool_counts(),
            rounds=self._rounds,
            patterns=len(self._known),
        )


def rounded_up(cost: float, packing: Packing) -> float:
    """The least cost from there on that nodes can add up to: prices are multiples of a unit."""
    prices = [Fraction(str(kind.price)) for kind in packing.kinds if kind.price]
    if not prices:
        return max(cost, 0.0)
    common = math.lcm(*(price.denominator for price in prices))
    unit = Fraction(math.gcd(*(int(price * common) for price in prices)), common)
    return float(math.ceil(Fraction(max(cost, 0.0)) / unit) * unit)


def _first_patterns(packing: Packing) -> Iterator[PackingPattern]:
    """For each kind of node the empty pattern, and as many pods of a single class as fit."""
    from steersman.plan.pattern_programs import PackingPattern

    for index, kind in enumerate(packing.kinds):
        yield PackingPattern(index)
        for number in sorted(kind.classes):
            most = packing.most_on(kind, number)
            if most:
                yield PackingPattern(index, ((number, most),))


def _farley_scale(duals: Duals, values: Sequence[float]) -> float:
    worth_more = [max(cost, 0.0) / value for cost, value in zip(duals.node_costs, values, strict=True) if value > cost]
    return min(worth_more, default=1.0)


def _most_free(packing: Packing) -> int:
    """Nodes without a price that a plan needs at most."""
    return sum(pods.count for pods in packing.classes) + sum(limits.least for limits in packing.pools.values())


def _dearest(packing: Packing) -> float:
    """The cost of the dearest plan: all nodes that the limits allow."""
    prices: dict[str, float] = {}
    for kind in packing.kinds:
        prices[kind.pool] = max(prices.get(kind.pool, 0.0), kind.price)
    return sum(
        (math.inf if limits.most is None else limits.most) * prices[pool]
        for pool, limits in packing.pools.items()
        if prices.get(pool)
    )
