# SPDX-License-Identifier: Apache-2.0
"""Integers that wrap around and cut towards zero."""

from __future__ import annotations

import pytest

from steersman.framework.go_integers import MAX_INT64, MIN_INT64, int64, int64_of_float, int64_quotient


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, 0),
        (MAX_INT64, MAX_INT64),
        (MIN_INT64, MIN_INT64),
        (MAX_INT64 + 1, MIN_INT64),
        (MIN_INT64 - 1, MAX_INT64),
        (100 * 2**60, 2**62),
        (-(2**64) - 5, -5),
    ],
)
def test_integers_wrap_around(number: int, expected: int) -> None:
    assert int64(number) == expected


@pytest.mark.parametrize(
    ("dividend", "divisor", "expected"), [(7, 2, 3), (-7, 2, -3), (7, -2, -3), (-7, -2, 3), (0, -5, 0), (-1, 100, 0)]
)
def test_quotients_are_cut_towards_zero(dividend: int, divisor: int, expected: int) -> None:
    assert int64_quotient(dividend, divisor) == expected


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (99.99, 99),
        (-0.5, 0),
        (-99.99, -99),
        (2.0**62, 2**62),
        (-(2.0**63), MIN_INT64),
        (2.0**63, MIN_INT64),
        (-1e300, MIN_INT64),
    ],
)
def test_floats_are_cut_towards_zero(number: float, expected: int) -> None:
    assert int64_of_float(number) == expected
