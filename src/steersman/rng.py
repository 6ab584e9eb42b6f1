"""Randomness as a dependency: ties are broken by the `Rng` one is given, so that a seed reproduces every decision."""

from __future__ import annotations

import random
from typing import Protocol


class Rng(Protocol):
    """Where random numbers come from."""

    def random(self) -> float:
        """A float in [0, 1)."""
        ...

    def randrange(self, n: int) -> int:
        """An integer in [0, n)."""
        ...


class SeededRng:
    """Pseudo-random numbers that depend on nothing but the seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def random(self) -> float:
        return self._random.random()

    def randrange(self, n: int) -> int:
        return self._random.randrange(n)
