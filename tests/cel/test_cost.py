# SPDX-License-Identifier: Apache-2.0
"""What evaluation costs, and the limit that stops it."""

from __future__ import annotations

import pytest
from tests.cel.answers import DEVICE, GPU, failure

from steersman.api.cel import compile_device_selector

TEN = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
EXCEEDED = "operation cancelled: actual cost limit exceeded"


@pytest.mark.parametrize(
    ("expression", "cost"),
    [
        ("true", 0),
        ("device.driver == 'a'", 3),
        (f"{GPU}.model == 'a100'", 5),
        (f"{GPU}.model in ['a100', 'h100']", 4),
        (f"has({GPU}.model)", 3),
        (f"{GPU}.driverVersion.isGreaterThan(semver('1.5.0'))", 6),
        (f"[{GPU}.index].exists(x, x == 3)", 21),
        ("[1, 2, 3].sort() == [1, 2, 3]", 30),
        ("'aaaaaaaaaaaaaaaaaaaa'.matches('a+b')", 3),
    ],
)
def test_costs_are_upstreams(expression: str, cost: int) -> None:
    assert compile_device_selector(expression).evaluate(DEVICE)[1] == cost


def nested(depth: int, body: str) -> str:
    return body if depth == 0 else f"{TEN}.all(x{depth}, {nested(depth - 1, body)})"


def test_endless_loops_are_stopped() -> None:
    assert failure(nested(7, "int('1'.find('[0-9]*')) < 100")) == EXCEEDED


def test_nothing_absorbs_the_end_of_the_budget() -> None:
    assert failure(f"{nested(7, 'device.driver != string(x1)')} || true") == EXCEEDED


def test_a_list_beyond_the_budget_is_not_built() -> None:
    assert failure("lists.range(9223372036854775807).size() == 0") == EXCEEDED
