# SPDX-License-Identifier: Apache-2.0
"""Digests of totals: of a column, and of one that follows single totals."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from steersman.scheduler.engine.totals_digest import NO_NODE, digest_of, factors_of, sum_of

Totals = NDArray[np.int32]
ROWS = 40


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_a_total_that_differs_is_noticed_and_what_stands_in_rows_without_a_node_is_not(kind: type[np.int32]) -> None:
    def digest(*totals: int) -> str:
        return digest_of(np.array(totals, kind))

    assert digest(5, 7, -3) == digest(5, 7, -9000)
    assert digest(5, 7, -3) != digest(5, 8, -3)
    assert digest(5, 7) != digest(7, 5)


def test_digests_are_those_of_earlier_versions() -> None:
    """Records outlive versions: these numbers were written by the first one."""
    assert digest_of(np.array([500, -1, 7], np.int32)) == "a4f4c04"
    assert digest_of(np.array([500, -1, 7], np.int64)) == "c4a7d8eedc850899"


def test_the_sum_does_not_overflow_however_many_rows_there_are() -> None:
    totals = np.random.default_rng(1).integers(-3, 2**31 - 1, size=100_000).astype(np.int32)
    cells = factors_of(len(totals)).cells
    exact = sum(factor * (max(total, NO_NODE) + 1) for factor, total in zip(cells, totals.tolist(), strict=True))
    assert exact > 2**63
    assert sum_of(totals) == exact
