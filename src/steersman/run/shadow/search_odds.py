# SPDX-License-Identifier: Apache-2.0
"""Probability of sampling results if the other scheduler's search order is unknown.

kube-scheduler v1.35 and later gets the nodes that exist at its start in an invisible order. Each
decision is plausible or not, given the number of better nodes it missed; together they must miss
the best nodes about as often as random searches do. Searches are not independent: each begins where
the last one ended, and nodes of one zone and size may be adjacent, and so missed together.
"""

from __future__ import annotations

import math
from typing import Final

MIN_CHANCE: Final = 1e-6
"""Minimum probability of a search that misses the better nodes."""
_MAX_SIGMAS: Final = 5.0
_MIN_DECISIONS: Final = 30


def chance_of_missing(feasible: int, wanted: int, nodes: int) -> float:
    """Return the probability that a random search for `wanted` nodes reaches none of `nodes`."""
    if nodes > feasible - wanted:
        return 0.0
    return math.prod((feasible - wanted - number) / (feasible - number) for number in range(nodes))


class SearchOdds:
    """Number of decisions that missed the best nodes, and the number expected by chance."""

    def __init__(self) -> None:
        self.decisions = 0
        self.missed = 0
        self.expected = 0.0
        self._variance = 0.0

    def add(self, is_best: bool, chance_of_best: float, dependent: float = 1.0) -> None:
        """Count a decision whose search reaches a best node with this probability. `dependent` is
        the number of consecutive, dependent searches that cover all nodes once."""
        self.decisions += 1
        self.missed += not is_best
        self.expected += 1.0 - chance_of_best
        self._variance += chance_of_best * (1.0 - chance_of_best) * dependent

    @property
    def are_off(self) -> bool:
        """Whether best nodes were missed more often than chance allows."""
        surplus = self.missed - self.expected
        return self.decisions >= _MIN_DECISIONS and surplus > _MAX_SIGMAS * math.sqrt(max(self._variance, 1.0))

    def __str__(self) -> str:
        missed = f"{self.missed:,} of {self.decisions:,} decisions missed the best nodes"
        return f"{missed}, by chance at most {self.expected:,.0f} would"
