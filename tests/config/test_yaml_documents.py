# SPDX-License-Identifier: Apache-2.0
"""YAML documents become the JSON that kube-scheduler would decode."""

from __future__ import annotations

import pytest

from steersman.config.document_tree import MalformedError, PlainValue, UnsupportedValueError, parse_yaml, plain


def _value(text: str) -> PlainValue:
    return plain(parse_yaml(text).tree)


def test_only_the_first_document_counts() -> None:
    assert _value("a: 1\n---\n][ not even yaml") == {"a": 1}


def test_an_empty_text_is_null() -> None:
    assert _value("") is None
    assert _value("# nothing\n") is None


def test_keys_become_strings_and_are_sorted() -> None:
    assert list(_value("b: 1\na: 2\n3: x\ny: z\n")) == ["3", "a", "b", "true"]  # type: ignore[arg-type]


def test_aliases_are_expanded() -> None:
    assert _value("a: &x {b: [1]}\nc: *x\n") == {"a": {"b": [1]}, "c": {"b": [1]}}


def test_an_anchor_may_be_defined_again() -> None:
    assert _value("a: &x 1\nb: &x 2\nc: *x\n") == {"a": 1, "b": 2, "c": 2}


def test_merge_keys_add_what_is_missing() -> None:
    assert _value("a: &x {b: 1}\nc:\n  <<: *x\n  d: 2\n") == {"a": {"b": 1}, "c": {"b": 1, "d": 2}}


def test_of_several_merged_maps_the_first_wins() -> None:
    assert _value("<<: [{a: 1}, {a: 2, b: 2}]\n") == {"a": 1, "b": 2}


def test_repeated_keys_are_reported_with_line_and_key_in_one_text() -> None:
    duplicates = parse_yaml("a: 1\na: 2\nb:\n  1: x\n  1: y\n").duplicates
    assert duplicates == (
        'yaml: unmarshal errors:\n  line 2: key "a" already set in map\n  line 5: key 1 already set in map'
    )


def test_a_key_that_a_merge_brought_too_is_repeated() -> None:
    assert 'line 2: key "a" already set in map' in parse_yaml("<<: {a: 1}\na: 2\n").duplicates


def test_equal_looking_keys_of_different_types_are_different() -> None:
    assert parse_yaml("1: a\ntrue: b\n'2': c\n").duplicates == ""


@pytest.mark.parametrize(
    "text",
    [
        "a: [",
        "a: b: c",
        "a:\n\tb: 1",
        "a: *nowhere",
        "&a [*a]",
        "? [x]\n: 1",
        "<<: 5",
        "~: 1",
        "a: !!int x",
        "a: \x07",
    ],
)
def test_unreadable_documents_are_refused(text: str) -> None:
    with pytest.raises(MalformedError):
        parse_yaml(text)


def test_the_error_names_the_line() -> None:
    with pytest.raises(MalformedError, match="yaml: line 2: mapping values are not allowed"):
        parse_yaml("a: 1\nb: c: d\n")


def test_documents_that_are_mostly_aliases_are_refused() -> None:
    bomb = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 8))
    with pytest.raises(MalformedError, match="excessive aliasing"):
        parse_yaml(bomb)


@pytest.mark.parametrize(("text", "name"), [(".nan", "NaN"), (".inf", r"\+Inf"), ("-.Inf", "-Inf")])
def test_numbers_that_json_lacks_are_refused(text: str, name: str) -> None:
    with pytest.raises(UnsupportedValueError, match=f"json: unsupported value: {name}"):
        parse_yaml(f"a: {text}")
