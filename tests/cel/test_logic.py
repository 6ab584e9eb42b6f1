# SPDX-License-Identifier: Apache-2.0
"""`&&`, `||` and `?:`, and which errors they absorb."""

from __future__ import annotations

import pytest
from tests.cel.answers import GPU, failure, holds

BROKEN = "1 / 0 == 1"


@pytest.mark.parametrize("expression", [f"true || {BROKEN}", f"{BROKEN} || true", f"!({BROKEN} && false)"])
def test_what_decides_absorbs_errors_on_either_side(expression: str) -> None:
    assert holds(expression)


@pytest.mark.parametrize("expression", [f"false || {BROKEN}", f"{BROKEN} && true", f"{BROKEN} ? true : true"])
def test_what_does_not_decide_does_not(expression: str) -> None:
    assert failure(expression) == "division by zero"


def test_the_first_of_several_errors_is_reported() -> None:
    assert failure(f"1 % 0 == 1 || {BROKEN} || {GPU}.color == 1") == "modulus by zero"


def test_only_one_branch_of_a_conditional_is_evaluated() -> None:
    assert holds(f"{GPU}.ecc ? true : {BROKEN}")


def test_conditions_must_be_boolean_at_run_time_too() -> None:
    assert failure(f"{GPU}.model && true") == "no such overload"
    assert not holds(f"{GPU}.model && false")
    assert failure(f"{GPU}.index ? true : false") == "no such overload"
