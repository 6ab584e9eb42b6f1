# SPDX-License-Identifier: Apache-2.0
"""Errors for users: one line that says where, what and what would be right."""

from steersman.base.errors import InputError, SteersmanError


def test_a_bare_message_stands_alone() -> None:
    assert str(InputError("is wrong")) == "is wrong"


def test_every_known_part_is_rendered_in_order() -> None:
    error = InputError(
        "must be a string",
        file="cluster.yaml",
        line=12,
        document=3,
        item=4,
        object="Pod default/web-0",
        field="spec.containers[0].image",
        value=5,
        hint="write it in quotes",
    )
    assert str(error) == (
        "cluster.yaml, line 12, document 3, item 4: Pod default/web-0: spec.containers[0].image: "
        "must be a string (got 5); write it in quotes"
    )


def test_values_are_shown_as_json() -> None:
    assert str(InputError("is wrong", value="a")) == 'is wrong (got "a")'
    assert str(InputError("is wrong", value=True)) == "is wrong (got true)"
    assert str(InputError("is wrong", value=[1])) == "is wrong (got [1])"


def test_a_long_value_is_cut() -> None:
    assert len(str(InputError("is wrong", value="x" * 10_000))) < 200


def test_the_text_is_always_one_line() -> None:
    assert "\n" not in str(InputError("two\nlines", field="a", hint="and\nmore"))


def test_locating_an_error_adds_only_what_was_unknown() -> None:
    error = InputError("is wrong", field="spec.x", document=2).located(file="a.yaml", document=9, object="Node n")
    assert str(error) == "a.yaml, document 2: Node n: spec.x: is wrong"


def test_locating_leaves_the_original_error_alone() -> None:
    error = InputError("is wrong")
    error.located(file="a.yaml")
    assert str(error) == "is wrong"


def test_input_errors_are_errors_for_users() -> None:
    assert issubclass(InputError, SteersmanError)


def test_of_a_value_without_end_only_the_beginning_is_rendered() -> None:
    value: list[object] = ["x"]
    for _ in range(60):  # by aliases, as YAML makes them: 2**60 texts
        value = [value, value]
    assert str(InputError("is wrong", value=value)).endswith("…)")


def test_a_number_that_python_does_not_print_is_no_trouble() -> None:
    assert str(InputError("is wrong", value=10**5000)) == "is wrong (got …)"
