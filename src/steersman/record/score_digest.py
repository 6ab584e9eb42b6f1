# SPDX-License-Identifier: Apache-2.0
"""The digest of an attempt's scores: two attempts with the same digest had the same feasible nodes, in the same order, with the
same totals.

It is taken of the column of totals that the engine keeps anyway. Single plugins' scores are not in it: putting them together
takes twenty times as long as the whole attempt (docs/adr/0033-records.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steersman.engine.evaluation import Evaluation
from steersman.framework.status import CycleAborted
from steersman.graph_copy import copied_attributes, no_value

_NAME_BYTES = 8
_DIGEST_BYTES = 16


class DigestedScores(NamedTuple):
    """The scores of one attempt."""

    digest: str
    #: Hashes of the names of the feasible nodes, and their totals.
    names: NDArray[np.uint64]
    totals: NDArray[np.int64]

    def total_of(self, node: str) -> int | None:
        """The weighted total of a node; None if it was not feasible."""
        found = np.flatnonzero(self.names == _number(node))
        return int(self.totals[found[0]]) if len(found) else None


@copied_attributes(_names=no_value)
class ScoreDigests:
    """Takes digests. The names of the nodes are hashed once as long as the nodes stay the same."""

    def __init__(self) -> None:
        #: The names by row for which there are hashes, and these.
        self._names: Sequence[str] | None = None
        self._hashes: NDArray[np.uint64] = np.zeros(0, np.uint64)

    def of(self, evaluation: Evaluation) -> DigestedScores | None:
        """None where nothing was scored, or a plugin is broken."""
        try:
            found = evaluation.totals()
        except CycleAborted:
            return None
        if found is None:
            return None
        names = self._hashes_of(found.names)[found.rows]
        digest = blake2b(digest_size=_DIGEST_BYTES)
        digest.update(names.astype("<u8").tobytes())
        digest.update(found.totals.astype("<i8").tobytes())
        return DigestedScores(digest.hexdigest(), names, found.totals)

    def _hashes_of(self, names: Sequence[str]) -> NDArray[np.uint64]:
        if names is not self._names:
            self._hashes = np.fromiter(map(_number, names), np.uint64, len(names))
            self._names = names
        return self._hashes


def _number(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=_NAME_BYTES).digest(), "little")
