# SPDX-License-Identifier: Apache-2.0
"""Digests of scores: of one column at once, and of many together later."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from steersman.engine.evaluation import Evaluation, RankedTotals
from steersman.record.score_digest import NotedColumn, ScoreDigests

Totals = NDArray[np.int32] | NDArray[np.int64]


class _Ranked:
    """As much of an evaluation as a digest asks for."""

    def __init__(self, totals: Totals, row: int) -> None:
        self._ranked = RankedTotals(totals, row)

    def ranked_totals(self, node: str) -> RankedTotals:
        return self._ranked


def columns() -> st.SearchStrategy[list[tuple[Totals, int]]]:
    def column(rows: int, bits: int) -> st.SearchStrategy[tuple[Totals, int]]:
        totals = st.lists(st.integers(-5, 5000), min_size=rows, max_size=rows)
        made = totals.map(lambda values: np.array(values, np.int32 if bits == 32 else np.int64))
        return st.tuples(made, st.integers(0, rows - 1))

    shapes = st.tuples(st.sampled_from([1, 2, 7, 40]), st.sampled_from([32, 64]))
    return st.lists(shapes.flatmap(lambda shape: column(*shape)), max_size=12)


@given(columns())
def test_many_columns_have_the_digests_that_each_has_alone(noted: list[tuple[Totals, int]]) -> None:
    alone = [ScoreDigests().of(cast(Evaluation, _Ranked(totals, row)), "n") for totals, row in noted]
    together = ScoreDigests().of_columns([NotedColumn(totals.tobytes(), totals.itemsize, row) for totals, row in noted])
    assert list(together) == alone


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_a_total_that_differs_is_noticed_and_what_stands_in_rows_without_a_node_is_not(kind: type[np.int32]) -> None:
    def digest(*totals: int) -> str:
        (scores,) = ScoreDigests().of_columns([NotedColumn(np.array(totals, kind).tobytes(), kind().itemsize, 0)])
        return scores.digest

    assert digest(5, 7, -3) == digest(5, 7, -9000)
    assert digest(5, 7, -3) != digest(5, 8, -3)
    assert digest(5, 7) != digest(7, 5)
