# SPDX-License-Identifier: Apache-2.0
"""The digest of the totals by which a node was chosen: two attempts with the same digest had, but for a chance of one in a
million, the same totals in the same rows. A single total that differs is always noticed.

It is a sum of products of totals with fixed random numbers, so that it follows single totals that change: after a pod was
placed, one product is taken again (`RowTotals`). Single plugins' scores are not in it: those would take twenty times as long
as the whole attempt (docs/adr/0033-records.md). Records have the digest of every attempt, and a replay compares it.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from steersman.framework.nodes_view import AnyIntColumn
from steersman.graph_copy import shared_by_copies

_SEED: Final = 0x5EED
NO_NODE: Final = -1
"""In place of the totals of rows that are not feasible: what stands there has no meaning. Totals are not negative."""
_MOST: Final = 1 << 20
"""Factors are smaller."""
_HALF_BITS: Final = 16
_LOW_HALF: Final = (1 << _HALF_BITS) - 1
_USUAL_BYTES: Final = 4
_DIGEST_BYTES: Final = 8


class DigestedTotals(NamedTuple):
    """The totals of one attempt, as a record has them."""

    digest: str
    #: The weighted total of the chosen node.
    total: int

    @classmethod
    def of(cls, totals: AnyIntColumn, row: int) -> Self:
        """The digest of a column, and the total of the chosen row."""
        return cls(digest_of(totals), int(totals[row]))


@shared_by_copies
class Factors:
    """A random number for each of so many rows, the same in every process."""

    def __init__(self, rows: int) -> None:
        generator = np.random.Generator(np.random.PCG64(_SEED))
        self.column: NDArray[np.int64] = generator.integers(1, _MOST, size=rows)
        self.cells: list[int] = self.column.tolist()
        #: Added to the products, a row counts as its total and one, and rows without a feasible node do not count.
        self.sum = int(self.column.sum())


@lru_cache(maxsize=8)
def factors_of(rows: int) -> Factors:
    """The factors of a column with so many rows."""
    return Factors(rows)


def is_followed(totals: AnyIntColumn) -> bool:
    """Whether the digest of the column is a sum, which can follow. Totals of wide profiles are so large that products might
    overflow."""
    return totals.dtype.itemsize <= _USUAL_BYTES


def digest_of(totals: AnyIntColumn) -> str:
    """The digest of a column: the specification."""
    if is_followed(totals):
        return f"{sum_of(totals):x}"
    return blake2b(totals[totals >= 0].tobytes(), digest_size=_DIGEST_BYTES).hexdigest()


def sum_of(totals: AnyIntColumn) -> int:
    """The sum that is the digest of a column."""
    factors = factors_of(len(totals))
    counted = np.maximum(totals, NO_NODE).astype(np.int64)
    # In two halves, so that no sum of products overflows however many rows there are.
    high, low = (counted >> _HALF_BITS).dot(factors.column), (counted & _LOW_HALF).dot(factors.column)
    return (int(high) << _HALF_BITS) + int(low) + factors.sum
