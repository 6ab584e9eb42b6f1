# SPDX-License-Identifier: Apache-2.0
"""A proven lower bound of a packing's cost: a relaxed integer program, solved by column generation.

A pattern is the number of pods of each class on one node of a kind. The master program chooses how
often each pattern is used to place all pods at the least cost. It starts with a few patterns; a
knapsack (a small integer program) then finds the most valuable pattern of each kind of node at the
dual prices of pods. When no pattern is worth more than its node costs, the solution is optimal.
Before that, dual prices scaled down until this holds prove a bound too (Farley's bound).

The solver is HiGHS (`pip install 'steersman[plan]'`); see docs/adr/0026-plan-nodes.md. Amounts are
shares of a node, so that solver tolerances enlarge nodes slightly, which lowers the bound slightly.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.plan.packing import Packing, ValueRow
from steersman.plan.time_limit import TimeLimit

if TYPE_CHECKING:
    from steersman.plan.pattern_programs import DualPrices, PackingPattern

NO_SOLVER: Final = "no lower bound: the solver is not installed; pip install 'steersman[plan]'"
MAX_ROUNDS: Final = 500
CLOSE_ENOUGH: Final = 3e-4
"""Relative difference of bound and master program at which column generation ends."""
SMALLEST_SHARE: Final = 1e-6
"""Unplaced fractions of pods below this count as placed."""
SAFETY: Final = 1e-6
"""Relative reduction of a bound to account for the solver's floating-point errors."""


class Bound(msgspec.Struct, frozen=True):
    """A lower bound of the cost of every plan, with its solution."""

    #: Minimum cost of all plans; None if it could not be computed.
    lower: float | None
    #: Whether it is proven that the pods do not fit within the node limits of the pools.
    is_infeasible: bool = False
    #: Fractional number of new nodes by pool in the solution of the bound.
    counts: dict[str, float] = {}
    #: Fractional number of removable nodes by pool that stay in this solution.
    kept: dict[str, float] = {}
    rounds: int = 0
    patterns: int = 0


def is_available() -> bool:
    """Whether the solver is installed."""
    return importlib.util.find_spec("highspy") is not None


def pattern_bound(packing: Packing, limit: TimeLimit | None = None) -> Bound:
    """Return the best bound proven within the limit, with its node counts.

    `lower` is None without the solver, and if the time is too short for one round.
    """
    return _ColumnGeneration(packing, limit or TimeLimit()).solve() if is_available() else Bound(None)


class _ColumnGeneration:
    """Column generation for one packing, with its master program and a knapsack per node kind."""

    def __init__(self, packing: Packing, limit: TimeLimit) -> None:
        from steersman.plan.pattern_programs import Knapsack, Master  # the solver is an extra

        self._packing = packing
        self._limit = limit
        self._master = Master(packing)
        self._knapsacks = [Knapsack(packing, index) for index in range(len(packing.kinds))]
        self._known: set[PackingPattern] = set()
        self._rounds = 0
        #: New and staying nodes by pool in the solution of the last complete round.
        self._counts: tuple[dict[str, float], dict[str, float]] = ({}, {})

    def solve(self) -> Bound:
        from steersman.plan.whole_node_bound import whole_node_bound

        best, unplaced = 0.0, 0.0
        rows: list[ValueRow] = []
        self._add(_first_patterns(self._packing))
        for _ in range(MAX_ROUNDS):
            duals = self._master.solve(self._limit)
            pairs = zip(self._knapsacks, duals.node_costs, strict=True)
            found = [knapsack.best(duals.pods, cost, self._limit) for knapsack, cost in pairs]
            if self._limit.is_over():
                break
            self._rounds += 1
            self._counts = self._master.pool_counts(is_new=True), self._master.pool_counts(is_new=False)
            values = [value for value, _ in found]
            best, unplaced = max(best, self._proven(duals, values)), sum(duals.unplaced)
            rows.append(self._value_row(duals, values))
            is_new = self._add(pattern for _, pattern in found if pattern is not None)
            if not is_new or duals.objective - best <= CLOSE_ENOUGH * abs(duals.objective):
                break
        if unplaced < SMALLEST_SHARE and not self._limit.is_over():
            best = max(best, whole_node_bound(self._packing, rows, self._limit))
        return self._answer(best) if self._rounds else Bound(None)

    def _value_row(self, duals: DualPrices, values: Sequence[float]) -> ValueRow:
        from steersman.plan.pattern_programs import room_part

        demand = sum(price * pods.count for price, pods in zip(duals.pods, self._packing.classes, strict=True))
        return ValueRow(values, demand + room_part(self._packing, duals, 1.0))

    def _add(self, patterns: Iterator[PackingPattern]) -> bool:
        """Add the patterns; return whether one was new."""
        before = len(self._known)
        for pattern in patterns:
            if pattern not in self._known:
                self._known.add(pattern)
                self._master.add(pattern)
        return len(self._known) > before

    def _proven(self, duals: DualPrices, values: Sequence[float]) -> float:
        """Return the bound proven by the duals and the maximum pattern values by kind: the better
        of two ways to account for patterns that are worth more than their node."""
        return max(self._lagrangian(duals, values, scale) for scale in {1.0, _farley_scale(duals, values)})

    def _lagrangian(self, duals: DualPrices, values: Sequence[float], scale: float) -> float:
        """Return the bound for scaled prices of pods. A plan below `ceiling` has at most `ceiling /
        price` nodes of a kind, each of which gains at most its pattern's value minus cost."""
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
            counts=self._counts[0],
            kept=self._counts[1],
            rounds=self._rounds,
            patterns=len(self._known),
        )


def rounded_up(cost: float, packing: Packing) -> float:
    """Round up to the next possible total of node prices, which are multiples of a unit."""
    prices = [Fraction(str(kind.price)) for kind in packing.kinds if kind.price]
    if not prices:
        return max(cost, 0.0)
    common = math.lcm(*(price.denominator for price in prices))
    unit = Fraction(math.gcd(*(int(price * common) for price in prices)), common)
    return float(math.ceil(Fraction(max(cost, 0.0)) / unit) * unit)


def _first_patterns(packing: Packing) -> Iterator[PackingPattern]:
    """Yield, per kind of node, the empty pattern and the maximum patterns of single classes."""
    from steersman.plan.pattern_programs import PackingPattern

    for index, kind in enumerate(packing.kinds):
        yield PackingPattern(index)
        for number in sorted(kind.classes):
            most = packing.most_on(kind, number)
            if most:
                yield PackingPattern(index, ((number, most),))


def _farley_scale(duals: DualPrices, values: Sequence[float]) -> float:
    pairs = zip(duals.node_costs, values, strict=True)
    worth_more = [max(cost, 0.0) / value for cost, value in pairs if value > max(cost, 0.0)]
    return min(worth_more, default=1.0)


def _most_free(packing: Packing) -> int:
    """Return the maximum number of free nodes that a plan needs."""
    return sum(pods.count for pods in packing.classes) + sum(limits.least for limits in packing.pools.values())


def _dearest(packing: Packing) -> float:
    """Return the cost of the most expensive plan: all nodes within the limits."""
    prices: dict[str, float] = {}
    for kind in packing.kinds:
        prices[kind.pool] = max(prices.get(kind.pool, 0.0), kind.price)
    return sum(
        (math.inf if limits.most is None else limits.most) * prices[pool]
        for pool, limits in packing.pools.items()
        if prices.get(pool)
    )
