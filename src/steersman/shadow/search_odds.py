# SPDX-License-Identifier: Apache-2.0
"""Sampling where nobody knows in which order the other scheduler searches nodes: what chance has to say.

kube-scheduler v1.35 and later gets the nodes that it finds at its start in an order that no one else sees. A search then
comes to a random part of them. A single decision is plausible or not, by how many better nodes it missed; all of them
together must miss the best nodes about as often as such searches do, or something else is behind it.
"""

from __future__ import annotations

import math
from typing import Final

LEAST_CHANCE: Final = 1e-6
"""A search that misses so many better nodes with a smaller chance did not happen."""
_MOST_SIGMAS: Final = 5.0
_FEWEST_DECISIONS: Final = 30


def chance_of_missing(feasible: int, wanted: int, nodes: int) -> float:
    """The chance that a search for `wanted` of the feasible nodes, in random order, comes to none of so many of them."""
    if nodes > feasible - wanted:
        return 0.0
    return math.prod((feasible - wanted - number) / (feasible - number) for number in range(nodes))


class SearchOdds:
    """How often the best nodes were missed, beside how often random searches would have missed them."""

    def __init__(self) -> None:
        self.decisions = 0
        self.missed = 0
        self.expected = 0.0
        self._variance = 0.0

    def add(self, is_best: bool, chance_of_best: float) -> None:
        """One more decision, whose search would have come to a best node with this chance."""
        self.decisions += 1
        self.missed += not is_best
        self.expected += 1.0 - chance_of_best
        self._variance += chance_of_best * (1.0 - chance_of_best)

    @property
    def are_off(self) -> bool:
        """Whether best nodes were missed more often than chance allows."""
        surplus = self.missed - self.expected
        return self.decisions >= _FEWEST_DECISIONS and surplus > _MOST_SIGMAS * math.sqrt(max(self._variance, 1.0))

    def __str__(self) -> str:
        return f"{self.missed:,} of {self.decisions:,} decisions missed the best nodes, by chance {self.expected:,.0f} would"
