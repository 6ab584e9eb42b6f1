# SPDX-License-Identifier: Apache-2.0
"""A digest of the totals by which a node was chosen: equal digests mean, except for a chance of one
in a million, equal totals in the same rows. A difference in a single total is always detected.

It is a sum of products of totals with fixed random numbers, so that it can be updated
incrementally: after a pod was placed, one product changes (`RowTotals`). It does not cover the
scores of single plugins: those would take twenty times as long as the whole attempt
(docs/adr/0033-records.md). Records contain the digest of every attempt, and a replay compares it.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from steersman.base.graph_copy import shared_by_copies
from steersman.framework import AnyIntColumn

_SEED: Final = 0x5EED
NO_NODE: Final = -1
"""Replaces the totals of infeasible rows, which are meaningless. Totals are not negative."""
_MAX_FACTOR: Final = 1 << 20
"""Exclusive maximum of factors."""
_HALF_BITS: Final = 16
_LOW_HALF: Final = (1 << _HALF_BITS) - 1
_USUAL_BYTES: Final = 4
_DIGEST_BYTES: Final = 8


class DigestedTotals(NamedTuple):
    """Digest of the totals of one attempt, as stored in a record."""

    digest: str
    #: Weighted total of the chosen node.
    total: int

    @classmethod
    def from_totals(cls, totals: AnyIntColumn, row: int) -> Self:
        """Return the digest of a column, and the total of the chosen row."""
        return cls(digest_of(totals), int(totals[row]))


@shared_by_copies
class Factors:
    """A random number for each row, the same in every process."""

    def __init__(self, rows: int) -> None:
        generator = np.random.Generator(np.random.PCG64(_SEED))
        self.column: NDArray[np.int64] = generator.integers(1, _MAX_FACTOR, size=rows)
        self.cells: list[int] = self.column.tolist()
        #: Added to the products: a feasible row counts as its total plus one, others as 0.
        self.sum = int(self.column.sum())


@lru_cache(maxsize=8)
def factors_of(rows: int) -> Factors:
    """Return the factors of a column with this number of rows."""
    return Factors(rows)


def is_incremental(totals: AnyIntColumn) -> bool:
    """Return whether the digest of the column is a sum that can be updated incrementally. Products
    of wide totals might overflow."""
    return totals.dtype.itemsize <= _USUAL_BYTES


def digest_of(totals: AnyIntColumn) -> str:
    """Return the digest of a column: the reference."""
    if is_incremental(totals):
        return f"{sum_of(totals):x}"
    return blake2b(totals[totals >= 0].tobytes(), digest_size=_DIGEST_BYTES).hexdigest()


def sum_of(totals: AnyIntColumn) -> int:
    """Return the sum that is the digest of a column."""
    factors = factors_of(len(totals))
    counted = np.maximum(totals, NO_NODE).astype(np.int64)
    # In two halves, so that no sum of products overflows.
    high, low = (counted >> _HALF_BITS).dot(factors.column), (counted & _LOW_HALF).dot(factors.column)
    return (int(high) << _HALF_BITS) + int(low) + factors.sum
