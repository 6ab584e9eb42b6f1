# SPDX-License-Identifier: Apache-2.0
"""What the types of an expression rule out before any device is looked at."""

from __future__ import annotations

import pytest
from tests.cel.answers import GPU, failure, holds, rejection


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("device.diver == 'a'", "1:7: undefined field 'diver'"),
        ("device.driver == 1", "1:15: found no matching overload for '_==_' applied to '(string, int)'"),
        ("device.driver.compareTo('a') == 0", "1:24: found no matching overload for 'compareTo' applied to 'string.(string)'"),
        ("semver('1.0.0') > 1", "1:17: found no matching overload for '_>_' applied to '(kubernetes.Semver, int)'"),
        ("device.driver && true", "1:7: expected type 'bool' but found 'string'"),
        ("device.driver.name == ''", "1:14: type 'string' does not support field selection"),
        ("nothing(1)", "1:8: undeclared reference to 'nothing' (in container '')"),
        ("[1, 'a'] == []", "1:5: expected type 'int' but found 'string'"),
        ("[optional.of(1)].all(x, x)", "1:25: expected type 'bool' but found 'optional_type(int)'"),
        ("Device{driver: 'a'} == device", "1:7: undeclared reference to 'Device' (in container '')"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_rejected(expression: str, message: str) -> None:
    assert rejection(expression) == f"ERROR: <input>:{message}"


def test_attributes_are_checked_at_run_time() -> None:
    assert holds(f"{GPU}.index + 1 == 4")
    assert failure(f"{GPU}.model + 1 == 4") == "no such overload"
    assert failure(f"{GPU}.model.isGreaterThan(semver('1.0.0'))") == (
        "no such overload: isGreaterThan(string, kubernetes.Semver)"
    )


def test_attributes_are_no_lists_without_the_feature_gate() -> None:
    assert "cannot be range of a comprehension" in rejection(f"{GPU}.model.exists(part, true)")


def test_constants_must_be_convertible() -> None:
    assert rejection("int('many') == 1") == (
        "program instantiation failed: type conversion error from 'string' to 'int'"
    )
    assert rejection("duration('soon') == duration('1s')") == "ERROR: <input>:1:10: invalid duration argument"


def test_templates_must_suit_their_arguments() -> None:
    assert rejection("'%d'.format([1, 2]) == ''") == (
        "ERROR: <input>:1:12: too many arguments supplied to string.format (expected 1, got 2)"
    )
    assert "decimal clause can only be used on integers, was given string" in rejection("'%d'.format(['a']) == ''")


def test_type_variables_are_bound_by_the_first_use() -> None:
    assert holds("optional.none().orValue(1) == 1")
    assert "found no matching overload" in rejection("[1].indexOf('a') == 0")
