# SPDX-License-Identifier: Apache-2.0
"""Adds removable pods back on many nodes at once: those that do not fit beside the preemptor are
victims.

The second half of the vectorised dry run, for nodes whose pods are added back in the order of
importance, because no disruption budget would be violated. As pods only use resources, all pods
before a node's first victim fit together, and the first victim is the most important one; so nodes
whose first victim is more important than another's are pruned. `rank` chooses the best node like
`candidates.pick`, without creating a candidate for every node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from steersman.framework import BoolColumn, IntColumn
from steersman.scheduler.preemption.candidates import (
    ONLY_CANDIDATE,
    PRIORITY_SHIFT,
    RULES,
    SMALLEST_NAME,
    Candidate,
    CandidateChoice,
)
from steersman.scheduler.preemption.removal import Removal
from steersman.scheduler.preemption.victim_table import RowIndex

#: With more rows, hopeless ones are first pruned by sums.
PRUNE_ABOVE_ROWS = 1024
#: Index of the rule by which rows are pruned before they are ranked.
_PRUNED_BY = 1


class Reprieved(msgspec.Struct, frozen=True):
    """Costs of the pick-one rules for each of `rows`, and the victims as cells of the pool."""

    rows: RowIndex
    #: Number of rows pruned because their most important victim is more important than any of
    #: these.
    pruned: int
    highest: IntColumn
    sums: IntColumn
    counts: IntColumn
    #: Earliest start among the victims with the highest priority; the current time for pods that
    #: have not started.
    earliest: NDArray[np.float64]
    #: bool[cells of the rows, one row after the other]; and the start of each row.
    victim: BoolColumn
    begins: RowIndex
    cells: RowIndex

    def victims_of(self, position: int) -> list[int]:
        """Return the cells of the victims, most important first, for the row at this position."""
        end = int(self.begins[position + 1]) if position + 1 < len(self.begins) else len(self.cells)
        part = slice(int(self.begins[position]), end)
        return self.cells[part][self.victim[part]].tolist()  # type: ignore[no-any-return]


def reprieve(removal: Removal, rows: RowIndex, now: float, prune: bool) -> Reprieved:
    """Return the victims of rows, at least one, on which the removal helps and that do not fit
    without it."""
    promising = _promising(removal, rows) if prune and len(rows) > PRUNE_ABOVE_ROWS else rows
    work = _Reprieve(removal, promising)
    first = work.first_victims()
    if prune:
        highest = work.highest(first)
        best = highest == highest.min()
        if not best.all():
            promising, first = promising[best], first[best]
            work = _Reprieve(removal, promising)
    return work.run(first, len(rows) - len(promising), now)


def _promising(removal: Removal, rows: RowIndex) -> RowIndex:
    """Return the rows whose most important victim is at most as important as the best of the first
    rows."""
    few = _Reprieve(removal, rows[: PRUNE_ABOVE_ROWS // 2])
    bound = int(few.highest(few.first_victims()).min())
    return rows[removal.suffices(rows, bound)]


class _Reprieve:
    """The removable pods of several rows, concatenated."""

    def __init__(self, removal: Removal, rows: RowIndex) -> None:
        self._removal = removal
        self._rows = rows
        first, self._count = removal.cells(rows)
        ends = np.cumsum(self._count)
        self.begins: RowIndex = ends - self._count
        self._owner = np.repeat(np.arange(len(rows)), self._count)
        self.cells: RowIndex = np.arange(int(ends[-1])) + (first - self.begins)[self._owner]
        self._amounts = [removal.victims.amounts(resource)[self.cells] for resource, _ in removal.needs]
        self._spare = [removal.spare[resource][rows] for resource, _ in removal.needs]
        if removal.counts_pods:
            # The number of pods is treated like a resource of which each pod requests one.
            self._amounts.append(np.ones(len(self.cells), np.int64))
            self._spare.append(removal.spare_pods[rows])
        for limit in removal.limits:
            if limit.weights is not None:
                self._amounts.append(limit.weights[self.cells] * limit.counted[rows][self._owner])
                self._spare.append(limit.spare[rows])
        conflicts = removal.port_conflict_cells(rows)
        self._conflict = np.isin(self.cells, conflicts) if len(conflicts) else np.zeros(len(self.cells), np.bool_)

    def highest(self, first: RowIndex) -> IntColumn:
        """Return by row the priority of the most important victim, which is the first."""
        highest: IntColumn = self._removal.victims.priority[self.cells[self.begins + first]]
        return highest

    def first_victims(self) -> RowIndex:
        """Return by row the position of the first pod that does not fit; a large number if all
        fit."""
        refused = self._conflict.copy()
        for amounts, spare in zip(self._amounts, self._spare, strict=True):
            running = np.cumsum(amounts)
            before = running[self.begins] - amounts[self.begins]
            refused |= running - before[self._owner] > spare[self._owner]
        position = np.arange(len(self.cells)) - self.begins[self._owner]
        position[~refused] = len(self.cells)
        first: RowIndex = np.minimum.reduceat(position, self.begins)
        return first

    def run(self, first: RowIndex, pruned: int, now: float) -> Reprieved:
        """Add pods back after the first victims, one pod per row and step."""
        priorities = self._removal.victims.priority[self.cells]
        starts = self._removal.victims.start[self.cells]
        starts = np.where(np.isnan(starts), now, starts)
        cell = self.begins + first
        victim = np.zeros(len(self.cells), np.bool_)
        victim[cell] = True
        highest = priorities[cell]
        sums = highest + PRIORITY_SHIFT
        counts = np.ones(len(self._rows), np.int64)
        earliest = starts[cell]
        spare = [s - self._put_back(a, first) for a, s in zip(self._amounts, self._spare, strict=True)]
        active = np.arange(len(self._rows))
        for step in range(1, int((self._count - first).max(initial=0))):
            active = active[first[active] + step < self._count[active]]
            cell = self.begins[active] + first[active] + step
            refused = self._conflict[cell]
            for amounts, left in zip(self._amounts, spare, strict=True):
                refused = refused | (amounts[cell] > left[active])
            spared, lost = active[~refused], active[refused]
            for amounts, left in zip(self._amounts, spare, strict=True):
                left[spared] -= amounts[cell[~refused]]
            gone = cell[refused]
            victim[gone] = True
            sums[lost] += priorities[gone] + PRIORITY_SHIFT
            counts[lost] += 1
            as_high = priorities[gone] == highest[lost]
            earliest[lost[as_high]] = np.minimum(earliest[lost[as_high]], starts[gone[as_high]])
        return Reprieved(self._rows, pruned, highest, sums, counts, earliest, victim, self.begins, self.cells)

    def _put_back(self, amounts: IntColumn, count: RowIndex) -> IntColumn:
        """Return by row the sum over the first `count` pods."""
        running = np.concatenate([np.zeros(1, np.int64), np.cumsum(amounts)])
        total: IntColumn = running[self.begins + count] - running[self.begins]
        return total


# -- the pick-one rules over columns --------------------------------------------------------------


def rank(
    singles: Sequence[Candidate],
    reprieved: Reprieved,
    make: Callable[[int], Candidate],
    names: Sequence[str],
    now: float,
) -> CandidateChoice:
    """Return the best of known candidates and rows; `make` creates a candidate by position."""
    columns = _cost_columns(reprieved)
    if singles:
        columns = [
            np.concatenate([[cost(candidate, now) for candidate in singles], column])
            for (_, cost), column in zip(RULES, columns, strict=True)
        ]
    left = np.arange(len(columns[0]))
    unseen = reprieved.pruned
    decisive = ONLY_CANDIDATE
    for index, (rule, _) in enumerate(RULES):
        if len(left) + unseen == 1:
            break
        costs = columns[index][left]
        left = left[costs == costs.min()]
        decisive = rule
        if index == _PRUNED_BY:
            unseen = 0
    ties = sorted(zip(_names_of(left, singles, reprieved, names), left.tolist(), strict=True))
    best = ties[0][1]
    chosen = singles[best] if best < len(singles) else make(best - len(singles))
    return CandidateChoice(chosen, decisive if len(ties) == 1 else SMALLEST_NAME, tuple(name for name, _ in ties))


def _cost_columns(reprieved: Reprieved) -> Sequence[np.ndarray[tuple[int], np.dtype[np.generic]]]:
    """Return the costs of the rows, one column per rule, in the order of the rules."""
    no_violations = np.zeros(len(reprieved.rows), np.int64)
    return no_violations, reprieved.highest, reprieved.sums, reprieved.counts, -reprieved.earliest


def _names_of(indices: RowIndex, singles: Sequence[Candidate], reprieved: Reprieved, names: Sequence[str]) -> list[str]:
    """Return the node names of candidates and rows; row indices start after the candidates, and
    `indices` ascend."""
    known = int(np.searchsorted(indices, len(singles)))
    rows = reprieved.rows[indices[known:] - len(singles)].tolist()
    return [*(singles[index].node for index in indices[:known].tolist()), *map(names.__getitem__, rows)]
