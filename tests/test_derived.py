# SPDX-License-Identifier: Apache-2.0
"""Derived values: computed once for a stamp."""

from __future__ import annotations

from itertools import count

import pytest

from steersman.derived import Derived


def test_a_value_is_computed_once_for_a_stamp() -> None:
    derived, numbers = Derived[int](), count()
    assert [derived.at(stamp, lambda: next(numbers)) for stamp in (7, 7, (7, 1), (7, 1), 7)] == [0, 0, 1, 1, 2]


def test_none_is_a_stamp_and_a_value_like_any_other() -> None:
    derived, asked = Derived[None](), list[int]()
    for _ in range(2):
        assert derived.at(None, lambda: asked.append(1)) is None
    assert asked == [1]


def test_what_was_forgotten_is_computed_again() -> None:
    derived, numbers = Derived[int](), count()
    derived.at(1, lambda: next(numbers))
    derived.forget()
    assert derived.at(1, lambda: next(numbers)) == 1


def test_a_computation_that_breaks_off_is_done_again() -> None:
    derived = Derived[int]()
    derived.at(1, lambda: 5)
    with pytest.raises(ZeroDivisionError):
        derived.at(2, lambda: 1 // 0)
    assert derived.at(1, lambda: 6) == 6
