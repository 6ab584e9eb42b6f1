# SPDX-License-Identifier: Apache-2.0
"""Added node affinity is refused where its selectors could not be compiled, and only there."""

from __future__ import annotations

import pytest
from tests.config.documents import with_args
from tests.config.failures import failure

from steersman.config import load

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def _required(term: str) -> str:
    return with_args("NodeAffinity", f"{{addedAffinity: {{{_REQUIRED}: {{nodeSelectorTerms: [{term}]}}}}}}")


def _preferred(term: str) -> str:
    return with_args("NodeAffinity", f"{{addedAffinity: {{{_PREFERRED}: [{term}]}}}}")


@pytest.mark.parametrize(
    ("requirement", "field", "detail"),
    [
        (
            "{key: k, operator: in, values: [v]}",
            "operator",
            'supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"',
        ),
        ("{key: k, operator: In}", "values", "for 'in', 'notin' operators, values set can't be empty"),
        ("{key: k, operator: Exists, values: [v]}", "values", "values set must be empty for exists and does not exist"),
        ("{key: k, operator: Gt}", "values", "for 'Gt', 'Lt' operators, exactly one value is required"),
        ("{key: k, operator: Lt, values: [x]}", "values[0]", "for 'Gt', 'Lt' operators, the value must be an integer"),
    ],
)
def test_a_bad_expression_is_named(requirement: str, field: str, detail: str) -> None:
    (problem,) = failure(_required(f"{{matchExpressions: [{requirement}]}}")).errors
    assert problem.field.endswith(f"nodeSelectorTerms[0].matchExpressions[0].{field}")
    assert problem.detail == detail


def test_a_bad_key_and_a_bad_value_are_named() -> None:
    errors = failure(_required("{matchExpressions: [{key: a b, operator: In, values: [c d]}]}")).errors
    assert [problem.field.rpartition("matchExpressions[0].")[2] for problem in errors] == ["key", "values[0][a b]"]


def test_fields_can_only_be_compared_with_one_value() -> None:
    (problem,) = failure(_required("{matchFields: [{key: metadata.name, operator: In, values: [a, b]}]}")).errors
    assert problem.detail == "must have one element"
    (problem,) = failure(_required("{matchFields: [{key: metadata.name, operator: Exists}]}")).errors
    assert problem.detail == 'supported values: "In", "NotIn"'


def test_preferred_terms_are_checked_under_their_own_path() -> None:
    (problem,) = failure(_preferred("{weight: 1, preference: {matchExpressions: [{key: k, operator: Foo}]}}")).errors
    assert problem.field.endswith(f"{_PREFERRED}[0].matchExpressions[0].operator")


@pytest.mark.parametrize(
    "document",
    [
        _required("{}"),
        _preferred("{weight: 0, preference: {matchExpressions: [{key: k, operator: Foo}]}}"),
        _preferred("{weight: 101, preference: {matchExpressions: [{key: k, operator: Exists}]}}"),
        _preferred("{weight: 5}"),
    ],
)
def test_what_is_never_compiled_is_never_wrong(document: str) -> None:
    load(document)
