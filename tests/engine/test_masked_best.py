# SPDX-License-Identifier: Apache-2.0
"""The best rows under a mask are those of totals and mask together, whatever changed."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from steersman.base.change_log import ChangeLog
from steersman.scheduler.engine.best_rows import MaskedBest

ROWS = 12
REJECTED = -1000
rows = st.integers(0, ROWS - 1)
changes = st.lists(
    st.one_of(
        st.tuples(st.just("total"), rows, st.sampled_from([-1, 0, 3, 4, 5])),
        st.tuples(st.just("mask"), rows, st.booleans()),
        st.tuples(st.just("look"), rows, st.just(0)),
    ),
    max_size=60,
)


@given(st.lists(st.integers(-1, 5), min_size=ROWS, max_size=ROWS), changes)
def test_they_follow_totals_and_mask(start: list[int], story: list[tuple[str, int, int]]) -> None:
    total = np.array(start, np.int32)
    mask = np.zeros(ROWS, np.bool_)
    log = ChangeLog[int]()
    best = MaskedBest(total, mask, log.end, REJECTED)
    for what, row, value in (*story, ("look", 0, 0)):
        if what == "total":
            total[row] = value
            log.append(row)
        elif what == "mask":
            mask[row] = value
        else:
            assert best.follow(total, mask, log)
            expected = np.where(mask, REJECTED, total)
            assert list(best.rows) == (expected == expected.max()).nonzero()[0].tolist()
            assert best.count == np.count_nonzero(expected >= 0)


def test_other_totals_mean_to_start_afresh() -> None:
    total, mask, log = np.zeros(ROWS, np.int32), np.zeros(ROWS, np.bool_), ChangeLog[int]()
    best = MaskedBest(total, mask, log.end, REJECTED)
    assert not best.follow(total.copy(), mask, log)


def test_so_do_many_changed_rows() -> None:
    total, mask, log = np.zeros(100, np.int32), np.zeros(100, np.bool_), ChangeLog[int]()
    best = MaskedBest(total, mask, log.end, REJECTED)
    assert not best.follow(total, ~mask, log)
    for row in range(100):
        log.append(row)
    assert not best.follow(total, mask, log)
