# SPDX-License-Identifier: Apache-2.0
"""The best rows follow single changes, and say so when they have to be looked for again."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from steersman.scheduler.engine.best_rows import BestRows, rows_of_greatest

TOTALS = st.integers(0, 4)


def rows_of(best: BestRows) -> list[int]:
    return list(best.rows or ())


@given(st.lists(TOTALS, min_size=1, max_size=12), st.lists(st.tuples(st.integers(0, 11), TOTALS), max_size=40))
def test_they_are_what_a_fresh_look_finds(start: list[int], changes: list[tuple[int, int]]) -> None:
    totals = np.array(start, np.int32)
    best = BestRows.from_totals(totals)
    for row, now in changes:
        row %= len(start)
        best.move(row, int(totals[row]), now)
        totals[row] = now
        if best.rows is None:
            best = BestRows.from_totals(totals)
        assert rows_of(best) == rows_of_greatest(totals).tolist()


def test_a_row_that_goes_ahead_leaves_the_others_known() -> None:
    best = BestRows.from_totals(np.array([5, 5, 5, 1]))
    best.move(1, 5, 7)
    assert rows_of(best) == [1]
    best.move(1, 7, 2)
    assert rows_of(best) == [0, 2]


def test_when_the_last_one_drops_behind_they_must_be_looked_for() -> None:
    best = BestRows.from_totals(np.array([5, 3, 4]))
    best.move(0, 5, 1)
    assert best.rows is None


@given(
    st.lists(TOTALS, min_size=8, max_size=12),
    st.lists(st.dictionaries(st.integers(0, 7), TOTALS, min_size=1, max_size=8), max_size=10),
)
def test_they_follow_several_changes_at_once_or_say_that_they_do_not(
    start: list[int], changes: list[dict[int, int]]
) -> None:
    totals = np.array(start, np.int32)
    best = BestRows.from_totals(totals)
    for change in changes:
        rows = np.array(list(change), np.intp)
        before, now = totals[rows], np.array(list(change.values()), np.int32)
        totals[rows] = now
        if not best.move_rows(rows, before, now) or best.rows is None:
            best = BestRows.from_totals(totals)
        assert rows_of(best) == rows_of_greatest(totals).tolist()


def test_few_moves_are_followed_and_many_are_not() -> None:
    totals = np.full(20, 5)
    rows = np.arange(10)
    best = BestRows.from_totals(totals)
    assert not best.move_rows(rows, totals[rows], totals[rows] - 1)
    assert best.move_rows(rows[:2], totals[:2], totals[:2] - 1)
    assert rows_of(best) == list(range(2, 20))
