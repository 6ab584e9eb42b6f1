# SPDX-License-Identifier: Apache-2.0
"""The comparison with the golden bundle notices disagreement."""

from __future__ import annotations

from typing import Any

from tests.config.documents import configuration

from steersman.testing.conformance.config_documents import run_document


def _paths(line: dict[str, Any]) -> list[str]:
    return [difference.path for difference in run_document(line)]


def test_an_expected_error_that_does_not_happen_is_a_difference() -> None:
    assert _paths({"yaml": configuration(), "result": "error", "stage": "build", "errors": [{"text": "x"}]}) == [
        "stage"
    ]


def test_another_stage_than_expected_is_a_difference() -> None:
    line = {"yaml": configuration("foo: 1\n"), "result": "error", "stage": "validate", "errors": []}
    assert _paths(line) == ["stage"]


def test_another_decode_kind_is_a_difference() -> None:
    errors = [{"text": 'unknown field "foo"'}]
    line = {"yaml": configuration("foo: 1\n"), "stage": "decode", "decodeKind": "type", "errors": errors}
    assert _paths(line) == ["decodeKind"]


def test_a_missing_validation_error_is_a_difference() -> None:
    both = [
        {"type": "FieldValueInvalid", "field": "parallelism", "detail": "should be an integer value greater than zero"},
        {"type": "FieldValueInvalid", "field": "podInitialBackoffSeconds", "detail": "must be greater than 0"},
    ]
    line = {"yaml": configuration("parallelism: 0\n"), "stage": "validate", "errors": both}
    assert len(run_document(line)) == 1


def test_another_default_is_a_difference() -> None:
    line: dict[str, Any] = {
        "yaml": configuration("parallelism: 0\n"),
        "stage": "validate",
        "errors": [],
        "config": {"parallelism": 1},
    }
    assert "config.parallelism" in _paths(line)
