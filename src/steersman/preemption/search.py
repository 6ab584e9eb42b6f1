"""How far to look for candidates: where to begin, and how many are enough.

Upstream looks at a part of the nodes, beginning at a random one. Conformance and anybody who wants the whole picture look
at all of them.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from steersman.config import DefaultPreemptionArgs
from steersman.rng import Rng


class Bounds(NamedTuple):
    """Index of the node to begin with, and the number of candidates that end the search."""

    offset: int
    enough: int


class Search(Protocol):
    """Decides anew for every preemption."""

    def bounds(self, nodes: int) -> Bounds:
        """For that many nodes, at least one."""


class SampledSearch:
    """As `DefaultPreemptionArgs` say."""

    def __init__(self, args: DefaultPreemptionArgs, rng: Rng) -> None:
        self._percentage = args.min_candidate_nodes_percentage
        self._absolute = args.min_candidate_nodes_absolute
        self._rng = rng

    def bounds(self, nodes: int) -> Bounds:
        wanted = max(nodes * self._percentage // 100, self._absolute)
        return Bounds(self._rng.randrange(nodes), min(wanted, nodes))


class FullSearch:
    """Every node, from the first."""

    def bounds(self, nodes: int) -> Bounds:
        return Bounds(0, nodes)


class Found:
    """Counts candidates while they are found, and says when there are enough: as many as wanted, and at least one that
    violates no disruption budget."""

    __slots__ = ("_enough", "violating", "without_violation")

    def __init__(self, enough: int) -> None:
        self._enough = enough
        self.without_violation = 0
        self.violating = 0

    def admit(self, violates: bool) -> bool:
        """Counts one; False when there are already as many of its kind as wanted, so that it is left out."""
        if violates:
            self.violating += 1
            return self.violating <= self._enough
        self.without_violation += 1
        return self.without_violation <= self._enough

    @property
    def enough(self) -> bool:
        total = min(self.without_violation, self._enough) + min(self.violating, self._enough)
        return self.without_violation > 0 and total >= self._enough
