# SPDX-License-Identifier: Apache-2.0
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
        self.reseed(seed)

    def reseed(self, seed: int) -> None:
        """Begins again, with another seed."""
        self.random = random.Random(seed).random

    def randrange(self, n: int) -> int:
        # Of 2**53 equally likely floats; much faster than random.Random.randrange, and asked for every pod.
        return int(self.random() * n)
