# SPDX-License-Identifier: Apache-2.0
"""Loops over lists and maps, and local variables."""

from __future__ import annotations

import pytest
from tests.cel.answers import DRIVER, GPU, failure, holds


@pytest.mark.parametrize(
    "expression",
    [
        "[1, 2, 3].all(x, x > 0)",
        "[1, 2, 3].exists(x, x > 2)",
        "[1, 2, 3].exists_one(x, x > 2)",
        "[1, 2, 3].map(x, x * x) == [1, 4, 9]",
        "[1, 2, 3].map(x, x > 1, x * x) == [4, 9]",
        "[1, 2, 3].filter(x, x != 2) == [1, 3]",
        "{'a': 1, 'b': 2}.all(key, key < 'c')",
        "[5, 6].all(position, x, position + 5 == x)",
        "{'a': 1}.exists(key, value, key == 'a' && value == 1)",
        "{'a': 1, 'b': 2}.transformMap(key, value, value > 1, value * 10) == {'b': 20}",
        "{'a': 1}.transformMapEntry(key, value, {value: key}) == {1: 'a'}",
        "['bb', 'a'].sortBy(text, text.size()) == ['a', 'bb']",
        "[[1, 2], [3]].map(inner, inner.map(x, x * 2)) == [[2, 4], [6]]",
    ],
)
def test_loops_compute_what_they_say(expression: str) -> None:
    assert holds(expression)


def test_the_attributes_of_a_device_can_be_iterated() -> None:
    assert holds(f'device.attributes.exists(domain, domain == "{DRIVER}")')
    assert holds(f'{GPU}.exists(name, value, name == "index" && value == 3)')


def test_a_later_element_may_decide_in_spite_of_an_error() -> None:
    assert holds("[0, 1].exists(x, 1 / x == 1)")
    assert not holds("[0, 1].all(x, 1 / x == 2)")


def test_an_error_that_nothing_decides_against_remains() -> None:
    assert failure("[0, 2].exists(x, 1 / x == 1)") == "division by zero"
    assert failure("[0, 1].map(x, 1 / x) == [1]") == "division by zero"


def test_the_same_key_twice_is_an_error() -> None:
    assert failure("[1, 2].transformMapEntry(i, x, {'same': x}) == {}") == "insert failed: key same already exists"


def test_variables_shadow_others_only_where_they_are_visible() -> None:
    assert holds("cel.bind(x, 1, cel.bind(y, x + 1, [y].map(x, x * 10) == [20] && x == 1))")


def test_a_variable_is_computed_only_if_it_is_used() -> None:
    assert holds("cel.bind(x, 1 / 0, true)")
    assert failure("cel.bind(x, 1 / 0, x == 1)") == "division by zero"


def test_evaluations_do_not_see_each_other() -> None:
    expression = "[1, 2].map(x, x + 1).map(x, x + 1) == [3, 4]"
    assert [holds(expression) for _ in range(3)] == [True] * 3
