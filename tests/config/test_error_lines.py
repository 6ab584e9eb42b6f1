# SPDX-License-Identifier: Apache-2.0
"""An error has one line per problem, each naming the file."""

from __future__ import annotations

import pytest
from tests.config.documents import configuration
from tests.config.failures import failure

from steersman.config import ConfigError, build, load


def test_one_problem_is_one_line_with_file_and_field() -> None:
    error = failure(configuration("parallelism: abc\n"))
    assert str(error) == (
        'sched.yaml: parallelism: must be an integer from -2147483648 to 2147483647, not the string "abc"'
    )
    assert error.lines == [str(error)]


def test_an_unknown_field_that_resembles_a_known_one_is_told_which() -> None:
    (line,) = failure(configuration("profiles:\n- plugins: {score: {enable: []}}\n")).lines
    assert line == 'sched.yaml: unknown field "profiles[0].plugins.score.enable"; did you mean "enabled"?'


def test_a_word_that_yaml_takes_for_a_boolean_should_be_quoted() -> None:
    (line,) = failure(configuration("profiles:\n- schedulerName: no\n")).lines
    assert line == "sched.yaml: profiles[0].schedulerName: must be a string in quotes, not false"


def test_several_problems_are_several_lines() -> None:
    error = failure(configuration("foo: 1\nbar: 2\n"))
    assert error.lines == ['sched.yaml: unknown field "bar"', 'sched.yaml: unknown field "foo"']
    assert str(error) == 'sched.yaml: 2 problems: unknown field "bar" | unknown field "foo"'


def test_a_text_of_several_lines_becomes_one() -> None:
    (line,) = failure(configuration("parallelism: 1\nparallelism: 2\n")).lines
    assert line == 'sched.yaml: yaml: unmarshal errors: line 4: key "parallelism" already set in map'


def test_an_error_without_a_file_can_be_given_one() -> None:
    with pytest.raises(ConfigError) as caught:
        build(load(configuration("profiles: [{plugins: {bind: {disabled: [{name: '*'}]}}}]\n")))
    placed = caught.value.located(file="sched.yaml")
    assert placed.lines == [f"sched.yaml: {caught.value.lines[0]}"]
    assert placed.stage is caught.value.stage
