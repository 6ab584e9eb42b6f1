# SPDX-License-Identifier: Apache-2.0
"""The digest of an attempt's scores: two attempts with the same digest had, but for a chance of one in a million, the same
totals in the same rows. A single total that differs is always noticed.

It is a sum of products over the column of totals that the engine has ranked anyway; nothing is put together for the purpose.
Single plugins' scores are not in it: those would take twenty times as long as the whole attempt (docs/adr/0033-records.md).
"""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steersman.engine.evaluation import Evaluation
from steersman.framework.nodes_view import AnyIntColumn

_SEED = 0x5EED
_NO_NODE = -1
"""In place of the totals of rows that are not feasible: what stands there has no meaning. Totals are not negative."""
_MOST = 1 << 20
"""Factors are smaller. Totals of 32-bit profiles are below 2**18 in practice, and rows below 2**15: products add up to less
than 2**53."""
_USUAL_BYTES = 4
_DIGEST_BYTES = 8


class DigestedScores(NamedTuple):
    """The scores of one attempt, as they are recorded."""

    digest: str
    #: The weighted total of the chosen node.
    total: int


class ScoreDigests:
    """Takes digests of one scheduler's attempts."""

    def __init__(self) -> None:
        #: A random number per row, the same in every process, and the sums of the first of them. Sums of products with totals
        #: of a usual profile are whole numbers that floats hold exactly, and floats are multiplied faster.
        self._factors: NDArray[np.float64] = np.zeros(0)
        self._sums: NDArray[np.float64] = np.zeros(0)

    def of(self, evaluation: Evaluation, node: str) -> DigestedScores | None:
        """Of an attempt that has chosen the node; None where nothing was scored, or nothing was ranked by columns."""
        ranked = evaluation.ranked_totals(node)
        return None if ranked is None else DigestedScores(self._digest(ranked.totals), ranked.chosen)

    def _digest(self, totals: AnyIntColumn) -> str:
        count = len(totals)
        if len(self._factors) < count:
            self._prepare(2 * count)
        terms = np.maximum(totals, _NO_NODE)
        if terms.dtype.itemsize > _USUAL_BYTES:  # weights are so large that sums of products may not be exact
            return blake2b((terms[terms >= 0]).tobytes(), digest_size=_DIGEST_BYTES).hexdigest()
        # With the sum added, a row counts as its total and one: those without a feasible node do not count.
        return f"{int(terms.astype(np.float64).dot(self._factors[:count]) + self._sums[count - 1]):x}"

    def _prepare(self, rows: int) -> None:
        generator = np.random.Generator(np.random.PCG64(_SEED))
        self._factors = generator.integers(1, _MOST, size=rows).astype(np.float64)
        self._sums = np.cumsum(self._factors)
