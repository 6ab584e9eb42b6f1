# SPDX-License-Identifier: Apache-2.0
"""The HiGHS programs of `pattern_bound`: the master program, and the knapsack of a kind of node.

Rows of the master program, whose duals determine the bound:

    class       pods of the class on patterns, on fixed room or unplaced (at a penalty)  ≥ its pods
    pool        nodes of the pool, within its limits
    kind        nodes of a kind with a maximum number
    spot        CPU of spot nodes − share × CPU of all nodes  ≤ the margin of remaining nodes
    room        amounts on fixed room  ≤ its capacity
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import highspy
import msgspec
import numpy as np

from steersman.plan.packing import NodeKind, Packing
from steersman.plan.time_limit import TimeLimit

SMALLEST_GAIN: Final = 1e-7
"""Patterns with a smaller gain beyond their node's cost are ignored."""
PENALTY: Final = 10.0
"""Cost of an unplaced pod, as a multiple of the most expensive node."""

KNAPSACK_OPTIONS: Final[Mapping[str, float | bool]] = {
    "mip_rel_gap": 0.0,
    "mip_allow_restart": False,
    "mip_detect_symmetry": False,
    "mip_heuristic_effort": 0.0,
    "mip_heuristic_run_feasibility_jump": False,
    "mip_heuristic_run_rens": False,
    "mip_heuristic_run_rins": False,
    "mip_heuristic_run_root_reduced_cost": False,
}
"""Solve to optimality without heuristics for large programs, in a third of the time."""


class PackingPattern(msgspec.Struct, frozen=True):
    """Pods on one node of a kind: class and number."""

    kind: int
    pods: tuple[tuple[int, int], ...] = ()


class DualPrices(msgspec.Struct, frozen=True):
    """Dual prices of the master program's solution."""

    objective: float
    #: Cost of one more pod by class.
    pods: list[float]
    #: Price of a node by kind, adjusted by the limits of pools, kinds and spot nodes.
    node_costs: list[float]
    #: Contribution of the limits of pools, kinds and spot nodes to the bound.
    limits_part: float
    #: Dual prices of the rows of each fixed room, by room and dimension.
    rooms: list[list[float]]
    #: Number of unplaced pods by class.
    unplaced: list[float]


def quiet_solver() -> highspy.Highs:
    """Return a silent, deterministic solver: one thread, fixed seed."""
    solver: highspy.Highs = highspy.Highs()  # type: ignore[no-untyped-call]
    for option, value in (("output_flag", False), ("threads", 1), ("random_seed", 0)):
        solver.setOptionValue(option, value)
    return solver


def run_solver(solver: highspy.Highs, limit: TimeLimit) -> None:
    """Solve the program in the remaining time; the solver counts the time of all its runs."""
    if limit.is_set:
        solver.setOptionValue("time_limit", solver.getRunTime() + limit.remaining())
    solver.run()


class Knapsack:
    """Integer program for the most valuable pattern of a kind of node, with a row per dimension."""

    def __init__(self, packing: Packing, index: int) -> None:
        self._index = index
        kind = packing.kinds[index]
        most = {number: packing.most_on(kind, number) for number in sorted(kind.classes)}
        self._classes = [number for number, limit in most.items() if limit > 0]
        self._solver = solver = quiet_solver()
        for option, value in KNAPSACK_OPTIONS.items():
            solver.setOptionValue(option, value)
        for position, number in enumerate(self._classes):
            solver.addVar(0.0, float(most[number]))
            solver.changeColIntegrality(position, highspy.HighsVarType.kInteger)
        for dimension, room in enumerate(kind.capacity):
            amounts = [packing.classes[number].amounts[dimension] for number in self._classes]
            positions = [position for position, amount in enumerate(amounts) if amount]
            if positions and sum(amounts[at] * most[self._classes[at]] for at in positions) > room:
                shares = [amounts[position] / room for position in positions]
                solver.addRow(-highspy.kHighsInf, 1.0, len(positions), np.array(positions), np.array(shares))
        solver.changeObjectiveSense(highspy.ObjSense.kMaximize)

    def best(self, prices: Sequence[float], cost: float, limit: TimeLimit) -> tuple[float, PackingPattern | None]:
        """Return the maximum value of a pattern, and the best one if it exceeds the node's cost."""
        if not self._classes:
            return 0.0, None
        count = len(self._classes)
        worth = np.array([prices[number] for number in self._classes])
        if worth.max() <= 0:
            return 0.0, None
        self._solver.changeColsCost(count, np.arange(count), worth)
        run_solver(self._solver, limit)
        info = self._solver.getInfo()
        most = max(info.mip_dual_bound, info.objective_function_value)
        if info.objective_function_value <= cost + SMALLEST_GAIN:
            return most, None
        numbers = [round(value) for value in self._solver.getSolution().col_value]
        pods = tuple((number, times) for number, times in zip(self._classes, numbers, strict=True) if times)
        return most, PackingPattern(self._index, pods)


class Master:
    """The program that chooses the number of uses of each pattern; patterns are added over time."""

    def __init__(self, packing: Packing) -> None:
        self._packing = packing
        self._solver = quiet_solver()
        self._rows = 0
        self._class_rows = [self._row(float(pods.count), highspy.kHighsInf) for pods in packing.classes]
        self._pool_rows = {
            name: self._row(float(limits.least), _limit(limits.most)) for name, limits in packing.pools.items()
        }
        self._kind_rows = {
            index: self._row(0.0, float(kind.most)) for index, kind in enumerate(packing.kinds) if kind.most is not None
        }
        spot = packing.spot
        self._spot_row = None
        if spot is not None:
            self._spot_row = self._row(-highspy.kHighsInf, max(0.0, spot.share * spot.all_cpu - spot.spot_cpu))
        self._room_rows = [
            [self._row(-highspy.kHighsInf, float(amount)) for amount in _scaled(room.capacity, room.capacity)]
            for room in packing.rooms
        ]
        self.penalty = PENALTY * max((kind.price for kind in packing.kinds), default=1.0) or 1.0
        for row in self._class_rows:
            self._column(self.penalty, highspy.kHighsInf, {row: 1.0})
        for room, rows in zip(packing.rooms, self._room_rows, strict=True):
            for number, most in room.most.items():
                shares = _scaled(packing.classes[number].amounts, room.capacity)
                entries = {row: share for row, share in zip(rows, shares, strict=True) if share}
                self._column(0.0, float(most), {self._class_rows[number]: 1.0, **entries})
        self._first_pattern = self._solver.getNumCol()
        self._patterns: list[PackingPattern] = []

    def add(self, pattern: PackingPattern) -> None:
        kind = self._packing.kinds[pattern.kind]
        entries = {self._class_rows[number]: float(times) for number, times in pattern.pods}
        self._column(kind.price, highspy.kHighsInf, {**entries, **self._limit_entries(pattern.kind, kind)})
        self._patterns.append(pattern)

    def solve(self, limit: TimeLimit) -> DualPrices:
        """Return the dual prices of the optimum; they prove nothing after the time limit."""
        run_solver(self._solver, limit)
        solution, packing = self._solver.getSolution(), self._packing
        dual = solution.row_dual
        limits = [*self._pool_rows.values(), *self._kind_rows.values()]
        if self._spot_row is not None:
            limits.append(self._spot_row)
        return DualPrices(
            objective=self._solver.getInfo().objective_function_value,
            pods=[min(max(dual[row], 0.0), self.penalty) for row in self._class_rows],
            node_costs=[
                kind.price - sum(dual[row] * factor for row, factor in self._limit_entries(index, kind).items())
                for index, kind in enumerate(packing.kinds)
            ],
            limits_part=sum(self._contribution(row, dual[row]) for row in limits),
            rooms=[[min(dual[row], 0.0) for row in rows] for rows in self._room_rows],
            unplaced=list(solution.col_value[: len(packing.classes)]),
        )

    def pool_counts(self, *, is_new: bool) -> dict[str, float]:
        """Return fractions of new, or staying removable, nodes by pool in the latest solution."""
        counts: dict[str, float] = {}
        values = self._solver.getSolution().col_value[self._first_pattern :]
        for pattern, value in zip(self._patterns, values, strict=False):
            kind = self._packing.kinds[pattern.kind]
            if (kind.most is None) is is_new and value > SMALLEST_GAIN:
                counts[kind.pool] = counts.get(kind.pool, 0.0) + value
        return counts

    def _limit_entries(self, index: int, kind: NodeKind) -> Mapping[int, float]:
        """Return the coefficients of a node of the kind in the rows of limits."""
        entries = {self._pool_rows[kind.pool]: 1.0}
        if index in self._kind_rows:
            entries[self._kind_rows[index]] = 1.0
        if self._spot_row is not None and self._packing.spot is not None:
            entries[self._spot_row] = kind.cpu * (float(kind.is_spot) - self._packing.spot.share)
        return entries

    def _contribution(self, row: int, dual: float) -> float:
        if not dual:
            return 0.0
        _, lower, upper, _ = self._solver.getRow(row)
        return float(dual * (lower if dual > 0 else upper))

    def _row(self, lower: float, upper: float) -> int:
        self._solver.addRow(lower, upper, 0, np.array([], dtype=np.int32), np.array([]))
        self._rows += 1
        return self._rows - 1

    def _column(self, cost: float, upper: float, entries: Mapping[int, float]) -> None:
        rows = np.array(list(entries), dtype=np.int32)
        self._solver.addCol(cost, 0.0, upper, len(entries), rows, np.array(list(entries.values())))


def room_part(packing: Packing, duals: DualPrices, scale: float) -> float:
    """Return the contribution of fixed room to the bound with pod prices scaled by `scale`."""
    total = 0.0
    for room, prices in zip(packing.rooms, duals.rooms, strict=True):
        total += sum(
            price * amount for price, amount in zip(prices, _scaled(room.capacity, room.capacity), strict=True)
        )
        for number, most in room.most.items():
            shares = _scaled(packing.classes[number].amounts, room.capacity)
            paid = -sum(price * share for price, share in zip(prices, shares, strict=True))
            total += most * min(0.0, paid - scale * duals.pods[number])
    return total


def _scaled(amounts: Sequence[int], room: Sequence[int]) -> list[float]:
    """Return amounts as shares of a room; without room, in units."""
    return [amount / (whole or 1) for amount, whole in zip(amounts, room, strict=True)]


def _limit(most: int | None) -> float:
    return highspy.kHighsInf if most is None else float(most)
