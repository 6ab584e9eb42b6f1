# SPDX-License-Identifier: Apache-2.0
"""The two programs of `pattern_bound`, in HiGHS: the master program over patterns, and the knapsack of a kind of node.

Rows of the master program, whose duals the bound is made of:

    class       pods of the class that have a place, on patterns, on fixed room or nowhere (at a penalty)  ≥ its pods
    pool        nodes of the pool, within its limits
    kind        nodes of a kind of which there are only so many
    spot        CPU of spot nodes − share × CPU of all nodes  ≤ what the nodes that stay allow
    room        amounts on fixed room  ≤ what there is
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import highspy
import msgspec
import numpy as np

from steersman.plan.packing import NodeKind, Packing

SMALLEST_GAIN: Final = 1e-7
"""A pattern that is worth no more than this beyond its node's cost is none to look at."""
PENALTY: Final = 10.0
"""A pod without a place costs so many times as much as the dearest node."""

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
"""To the optimum, without the machinery for large programs: a third of the time for a few dozen classes."""


class PackingPattern(msgspec.Struct, frozen=True):
    """Pods on one node of a kind: class and number."""

    kind: int
    pods: tuple[tuple[int, int], ...] = ()


class Duals(msgspec.Struct, frozen=True):
    """Prices that the solution of the master program implies."""

    objective: float
    #: By class: what one more pod would cost.
    pods: list[float]
    #: By kind of node: its price, with what limits of pools, kinds and spot nodes add and take away.
    node_costs: list[float]
    #: What the limits of pools, kinds and spot nodes, and fixed room contribute to the bound.
    limits_part: float
    #: Duals of the rows of each fixed room, by room and dimension.
    rooms: list[list[float]]
    #: By class: how many of its pods have no place.
    unplaced: list[float]


def quiet_solver() -> highspy.Highs:
    """A solver that prints nothing and gives the same answer again: one thread, one seed."""
    solver: highspy.Highs = highspy.Highs()  # type: ignore[no-untyped-call]
    for option, value in (("output_flag", False), ("threads", 1), ("random_seed", 0)):
        solver.setOptionValue(option, value)
    return solver


class Knapsack:
    """Which pattern of a kind of node is worth most: an integer program with a row per dimension."""

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

    def best(self, prices: Sequence[float], cost: float) -> tuple[float, PackingPattern | None]:
        """The most that any pattern is worth, and the best pattern if it is worth more than the node costs."""
        if not self._classes:
            return 0.0, None
        count = len(self._classes)
        worth = np.array([prices[number] for number in self._classes])
        if worth.max() <= 0:
            return 0.0, None
        self._solver.changeColsCost(count, np.arange(count), worth)
        self._solver.run()
        info = self._solver.getInfo()
        limit = max(info.mip_dual_bound, info.objective_function_value)
        if info.objective_function_value <= cost + SMALLEST_GAIN:
            return limit, None
        numbers = [round(value) for value in self._solver.getSolution().col_value]
        pods = tuple((number, times) for number, times in zip(self._classes, numbers, strict=True) if times)
        return limit, PackingPattern(self._index, pods)


class Master:
    """The program that chooses how often each pattern is used; patterns are added as they are found."""

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

    def solve(self) -> Duals:
        """Fractions of patterns, and the prices that they imply."""
        self._solver.run()
        solution, packing = self._solver.getSolution(), self._packing
        dual = solution.row_dual
        limits = [*self._pool_rows.values(), *self._kind_rows.values()]
        if self._spot_row is not None:
            limits.append(self._spot_row)
        return Duals(
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

    def pool_counts(self) -> dict[str, float]:
        """New nodes by pool in the latest solution, in fractions."""
        counts: dict[str, float] = {}
        values = self._solver.getSolution().col_value[self._first_pattern :]
        for pattern, value in zip(self._patterns, values, strict=False):
            kind = self._packing.kinds[pattern.kind]
            if kind.most is None and value > SMALLEST_GAIN:
                counts[kind.pool] = counts.get(kind.pool, 0.0) + value
        return counts

    def _limit_entries(self, index: int, kind: NodeKind) -> Mapping[int, float]:
        """In which rows a node of the kind counts, and how much, whatever stands on it."""
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


def room_part(packing: Packing, duals: Duals, scale: float) -> float:
    """The contribution of fixed room to the bound when pods have `scale` times the prices of the duals."""
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
    """Shares of a room; where there is none, one unit is the whole."""
    return [amount / (whole or 1) for amount, whole in zip(amounts, room, strict=True)]


def _limit(most: int | None) -> float:
    return highspy.kHighsInf if most is None else float(most)
