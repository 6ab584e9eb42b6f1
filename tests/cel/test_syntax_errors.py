# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the text of an expression, and where."""

from __future__ import annotations

import pytest
from tests.cel.answers import rejection

from steersman.api.cel import compile_device_selector

ANYTHING = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)


def test_a_message_shows_the_line_and_points_to_the_place() -> None:
    error = compile_device_selector('true &&\n  device.diver == "a"').error
    assert error == (
        "compilation failed: ERROR: <input>:2:9: undefined field 'diver'\n |   device.diver == \"a\"\n | ........^"
    )


def test_wide_characters_are_pointed_to_with_wide_marks() -> None:
    error = compile_device_selector('"é" == x').error
    assert error is not None
    assert error.endswith(' | "é" == x\n | .\uff0e.....^')


def test_several_mistakes_are_reported_in_order() -> None:
    error = compile_device_selector("a == b").error
    assert error is not None
    assert [line for line in error.splitlines() if "undeclared" in line] == [
        "compilation failed: ERROR: <input>:1:1: undeclared reference to 'a' (in container '')",
        "ERROR: <input>:1:6: undeclared reference to 'b' (in container '')",
    ]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("device.driver ==", f"1:17: Syntax error: mismatched input '<EOF>' expecting {ANYTHING}"),
        ("true &&|| true", f"1:8: Syntax error: extraneous input '||' expecting {ANYTHING}"),
        ("true true", "1:6: Syntax error: extraneous input 'true' expecting <EOF>"),
        ("(true", "1:6: Syntax error: missing ')' at '<EOF>'"),
        ("[1, 2", "1:6: Syntax error: mismatched input '<EOF>' expecting {']', ','}"),
        ("device..driver", "1:8: Syntax error: no viable alternative at input '..'"),
        ("device.driver = 'a'", "1:15: Syntax error: token recognition error at: '= '"),
        ("if", "1:1: reserved identifier: if"),
        ("9223372036854775808 == 1", "1:1: invalid int literal"),
        ("has(device)", "1:5: invalid argument to has() macro"),
        ("[1].all(1, true)", "1:9: argument must be a simple name"),
    ],
)
def test_common_mistakes_are_named(expression: str, message: str) -> None:
    assert rejection(expression) == f"ERROR: <input>:{message}"


@pytest.mark.parametrize("opening", ["(", "["])
def test_endless_nesting_is_refused(opening: str) -> None:
    assert rejection(opening * 1000) == "ERROR: <input>:-1:0: expression recursion limit exceeded: 250"


def test_endless_chains_are_refused() -> None:
    assert rejection("+".join("1" * 300) + " == 300") == "ERROR: <input>:-1:0: max recursion depth exceeded"


def test_long_conditions_are_fine() -> None:
    assert compile_device_selector(" && ".join(["true"] * 500)).error is None


def test_endless_expressions_are_refused() -> None:
    assert rejection(" " * 100_001) == (
        "ERROR: <input>:-1:0: expression code point size exceeds limit: size: 100001, limit 100000"
    )
