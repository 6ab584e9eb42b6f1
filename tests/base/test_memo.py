# SPDX-License-Identifier: Apache-2.0
"""Memo values: computed once for a stamp."""

from __future__ import annotations

from itertools import count

import pytest

from steersman.base.memo import Memo


def test_a_value_is_computed_once_for_each_version() -> None:
    memo, numbers = Memo[int](), count()
    assert [memo.get(version, lambda: next(numbers)) for version in (7, 7, (7, 1), (7, 1), 7)] == [0, 0, 1, 1, 2]


def test_none_is_a_valid_version_and_value() -> None:
    memo, calls = Memo[None](), list[int]()
    for _ in range(2):
        assert memo.get(None, lambda: calls.append(1)) is None
    assert calls == [1]


def test_a_cleared_memo_recomputes_its_value() -> None:
    memo, numbers = Memo[int](), count()
    memo.get(1, lambda: next(numbers))
    memo.clear()
    assert memo.get(1, lambda: next(numbers)) == 1


def test_a_memo_is_empty_after_its_computation_raised() -> None:
    memo = Memo[int]()
    memo.get(1, lambda: 5)
    with pytest.raises(ZeroDivisionError):
        memo.get(2, lambda: 1 // 0)
    assert memo.get(1, lambda: 6) == 6
