"""The pick-one rules over columns: the same as `candidates.pick`, without making a candidate of every node."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from steersman.preemption.candidates import ONLY_CANDIDATE, RULES, SMALLEST_NAME, Candidate, Choice
from steersman.preemption.reprieve import Reprieved

#: Index of the rule by which rows are pruned before they are ranked.
_PRUNED_BY = 1


def rank(
    singles: Sequence[Candidate],
    reprieved: Reprieved,
    make: Callable[[int], Candidate],
    names: Sequence[str],
    now: float,
) -> Choice:
    """The best of all: candidates that are known already, and rows, of which `make` makes a candidate by position."""
    columns = [
        np.concatenate([[cost(candidate, now) for candidate in singles], column])
        for (_, cost), column in zip(RULES, _cost_columns(reprieved), strict=True)
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
    ties = sorted((_name(i, singles, reprieved, names), i) for i in left.tolist())
    best = ties[0][1]
    chosen = singles[best] if best < len(singles) else make(best - len(singles))
    return Choice(chosen, decisive if len(ties) == 1 else SMALLEST_NAME, tuple(name for name, _ in ties))


def _cost_columns(reprieved: Reprieved) -> Sequence[np.ndarray[tuple[int], np.dtype[np.generic]]]:
    """In the order of the rules."""
    no_violations = np.zeros(len(reprieved.rows), np.int64)
    return no_violations, reprieved.highest, reprieved.sums, reprieved.counts, -reprieved.earliest


def _name(index: int, singles: Sequence[Candidate], reprieved: Reprieved, names: Sequence[str]) -> str:
    return singles[index].node if index < len(singles) else names[int(reprieved.rows[index - len(singles)])]
