# SPDX-License-Identifier: Apache-2.0
"""Randomness as a dependency: ties are broken by the given `Rng`, so that a seed reproduces every
decision."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final, Protocol

_GENERATOR_VERSION: Final = 3


class Rng(Protocol):
    """Source of random numbers."""

    def random(self) -> float:
        """Return a float in [0, 1)."""
        ...

    def randrange(self, n: int) -> int:
        """Return an integer in [0, n)."""
        ...


class SeededRng:
    """Pseudo-random numbers determined by the seed."""

    def __init__(self, seed: int) -> None:
        self.reseed(seed)

    def reseed(self, seed: int) -> None:
        """Start again with another seed."""
        self._generator = random.Random(seed)
        self.random = self._generator.random

    @property
    def state(self) -> tuple[int, ...]:
        """The internal state of the generator: `restore` continues from there."""
        _, numbers, _ = self._generator.getstate()
        return tuple(numbers)

    def restore(self, state: Sequence[int]) -> None:
        """Continue where another source had this state. Raises `ValueError` for other numbers."""
        try:
            self._generator.setstate((_GENERATOR_VERSION, tuple(state), None))
        except (TypeError, OverflowError) as error:
            raise ValueError(str(error)) from error

    def randrange(self, n: int) -> int:
        # Derived from one of 2**53 equally likely floats; much faster than random.Random.randrange,
        # and called for every pod.
        return int(self.random() * n)


class FirstByName(SeededRng):
    """Pseudo-random numbers; among equally good nodes the byte-wise smallest name wins instead of a
    random one."""
