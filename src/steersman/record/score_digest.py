# SPDX-License-Identifier: Apache-2.0
"""The digest of an attempt's scores: two attempts with the same digest had, but for a chance of one in 2**64, the same totals
in the same rows.

It is a sum of products over the column of totals that the engine has ranked anyway; nothing is put together for the purpose.
Single plugins' scores are not in it: those would take twenty times as long as the whole attempt (docs/adr/0033-records.md).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steersman.engine.evaluation import Evaluation
from steersman.framework.nodes_view import AnyIntColumn

_SEED = 0x5EED
_NO_NODE = -1
"""In place of the totals of rows that are not feasible: what stands there has no meaning. Totals are not negative."""
_BITS = (1 << 64) - 1


class DigestedScores(NamedTuple):
    """The scores of one attempt, as they are recorded."""

    digest: str
    #: The weighted total of the chosen node.
    total: int


class ScoreDigests:
    """Takes digests of one scheduler's attempts."""

    def __init__(self) -> None:
        #: A random odd number per row, the same in every process.
        self._factors: NDArray[np.int64] = np.zeros(0, np.int64)

    def of(self, evaluation: Evaluation, node: str) -> DigestedScores | None:
        """Of an attempt that has chosen the node; None where nothing was scored, or nothing was ranked by columns."""
        ranked = evaluation.ranked_totals(node)
        return None if ranked is None else DigestedScores(self._digest(ranked.totals), ranked.chosen)

    def _digest(self, totals: AnyIntColumn) -> str:
        if len(self._factors) < len(totals):
            generator = np.random.Generator(np.random.PCG64(_SEED))
            numbers = generator.integers(1 << 62, size=2 * len(totals), dtype=np.int64)
            self._factors = numbers * 2 + 1
        terms = np.maximum(totals, _NO_NODE).astype(np.int64)
        terms += 1  # rows without a feasible node, spare ones among them, do not count
        return f"{int(np.dot(terms, self._factors[: len(terms)])) & _BITS:016x}"
