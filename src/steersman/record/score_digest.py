# SPDX-License-Identifier: Apache-2.0
"""The digest of an attempt's scores: two attempts with the same digest had, but for a chance of one in a million, the same
totals in the same rows. A single total that differs is always noticed.

It is a sum of products over the column of totals that the engine has ranked anyway; nothing is put together for the purpose.
Single plugins' scores are not in it: those would take twenty times as long as the whole attempt (docs/adr/0033-records.md).
A live scheduler notes the column as it is, and the digests of many are taken at once, by the thread that writes the record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import groupby, islice
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from steersman.engine.evaluation import Evaluation
from steersman.framework.nodes_view import AnyIntColumn

_SEED: Final = 0x5EED
_NO_NODE: Final = -1
"""In place of the totals of rows that are not feasible: what stands there has no meaning. Totals are not negative."""
_MOST: Final = 1 << 20
"""Factors are smaller. Totals of 32-bit profiles are below 2**18 in practice, and rows below 2**15: products add up to less
than 2**53."""
_USUAL_BYTES: Final = 4
_DIGEST_BYTES: Final = 8
_AT_ONCE: Final = 64
"""So many columns are multiplied at a time: they fit into the processor's cache."""


class DigestedScores(NamedTuple):
    """The scores of one attempt, as they are recorded."""

    digest: str
    #: The weighted total of the chosen node.
    total: int


TakeScores: TypeAlias = Callable[[Evaluation, str], DigestedScores | None]
"""Looks at the scores of an attempt that has chosen a node; None where nothing was scored, or nothing was ranked by columns."""


class NotedColumn(NamedTuple):
    """A copy of the totals by which a node was chosen."""

    totals: bytes
    #: Of one total.
    item_bytes: int
    #: The row of the chosen node.
    row: int


class ScoreDigests:
    """Takes digests of one scheduler's attempts."""

    def __init__(self) -> None:
        #: A random number per row, the same in every process, and their sum. Sums of products with totals of a usual profile
        #: are whole numbers that floats hold exactly, and floats are multiplied faster.
        self._factors: NDArray[np.float64] = np.zeros(0)
        self._sum = 0.0

    def of(self, evaluation: Evaluation, node: str) -> DigestedScores | None:
        """The scores of an attempt that has chosen the node: `TakeScores`."""
        ranked = evaluation.ranked_totals(node)
        if ranked is None:
            return None
        totals, row = ranked
        return next(self._digested(totals.reshape(1, -1), [row]))

    def of_columns(self, columns: Sequence[NotedColumn]) -> Iterator[DigestedScores]:
        """Scores as `of` would have given them, of each column in turn."""
        for (_, item_bytes), alike in groupby(columns, lambda column: (len(column.totals), column.item_bytes)):
            while part := list(islice(alike, _AT_ONCE)):
                joined = np.frombuffer(b"".join(column.totals for column in part), np.dtype(f"i{item_bytes}"))
                yield from self._digested(joined.reshape(len(part), -1), [column.row for column in part])

    def _digested(self, columns: AnyIntColumn, rows: Iterable[int]) -> Iterator[DigestedScores]:
        """The scores of attempts, whose totals are the rows of the matrix; `rows` are those of the chosen nodes."""
        chosen = [int(totals[row]) for totals, row in zip(columns, rows, strict=True)]
        return map(DigestedScores, self._digests(columns), chosen)

    def _digests(self, columns: AnyIntColumn) -> Iterable[str]:
        if columns.dtype.itemsize > _USUAL_BYTES:  # weights are so large that sums of products may not be exact
            return [blake2b(one[one >= 0].tobytes(), digest_size=_DIGEST_BYTES).hexdigest() for one in columns]
        if len(self._factors) != columns.shape[1]:
            self._prepare(columns.shape[1])
        terms = np.maximum(columns, _NO_NODE).astype(np.float64)
        # With the sum added, a row counts as its total and one: those without a feasible node do not count.
        return [f"{int(digest):x}" for digest in terms.dot(self._factors) + self._sum]

    def _prepare(self, rows: int) -> None:
        generator = np.random.Generator(np.random.PCG64(_SEED))
        self._factors = generator.integers(1, _MOST, size=rows).astype(np.float64)
        self._sum = float(self._factors.sum())
