# SPDX-License-Identifier: Apache-2.0
"""Arithmetic with its limits, and numbers of different types side by side."""

from __future__ import annotations

import pytest
from tests.cel.answers import failure, holds


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("9223372036854775807 + 1 == 0", "integer overflow"),
        ("-9223372036854775808 - 1 == 0", "integer overflow"),
        ("-9223372036854775808 / -1 == 0", "integer overflow"),
        ("9223372036854775807 * 2 == 0", "integer overflow"),
        ("1u - 2u == 0u", "unsigned integer overflow"),
        ("1 / 0 == 0", "division by zero"),
        ("1 % 0 == 0", "modulus by zero"),
        ("timestamp('9999-12-31T23:59:59Z') + duration('1s') > timestamp(0)", "timestamp overflow"),
        ("0.0 / 0.0 < 1.0", "NaN values cannot be ordered"),
    ],
)
def test_results_out_of_range_are_errors(expression: str, message: str) -> None:
    assert failure(expression) == message


@pytest.mark.parametrize("expression", ["-7 / 2 == -3", "-7 % 2 == -1", "7 % -2 == 1", "1.0 / 0.0 > 1e308"])
def test_division_truncates_towards_zero(expression: str) -> None:
    assert holds(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "dyn(1) == 1.0",
        "dyn(1u) == 1",
        "1 < 1.5",
        "2u > 1",
        "dyn([1]) == dyn([1.0])",
        "{1: 'a'}[dyn(1u)] == 'a'",
        "dyn(1) in [1.0]",
    ],
)
def test_numbers_of_different_types_are_compared_by_value(expression: str) -> None:
    assert holds(expression)


def test_booleans_are_no_numbers() -> None:
    assert not holds("dyn(true) == dyn(1)")
    assert not holds("dyn(1) in dyn([true])")
    assert failure("dyn({true: 'a'})[1] == 'a'") == "no such key: 1"
