# SPDX-License-Identifier: Apache-2.0
"""Values that may be missing."""

from __future__ import annotations

import pytest
from tests.cel.answers import GPU, failure, holds


@pytest.mark.parametrize(
    "expression",
    [
        f"{GPU}.?model == optional.of('a100')",
        f"{GPU}.?color == optional.none()",
        f"{GPU}[?'model'].orValue('') == 'a100'",
        "{'a': {'b': 1}}.?a.b == optional.of(1)",
        "{'a': {'b': 1}}.?x.b == optional.none()",
        "[1, 2][?5].orValue(9) == 9",
        "optional.none().or(optional.of(2)).value() == 2",
        f"{GPU}.?model.optMap(model, model + '!').orValue('') == 'a100!'",
        f"!{GPU}.?model.optFlatMap(model, optional.none()).hasValue()",
        "[?optional.of(1), ?optional.none(), 2] == [1, 2]",
        "{?'a': optional.of(1), ?'b': optional.none()} == {'a': 1}",
        "optional.ofNonZeroValue('') == optional.none()",
        "[1, 2, 3].last().value() == 3",
        "[optional.of(1), optional.none()].unwrapOpt() == [1]",
    ],
)
def test_what_is_missing_gives_nothing_instead_of_an_error(expression: str) -> None:
    assert holds(expression)


def test_nothing_has_no_value() -> None:
    assert failure("optional.none().value() == 1") == "optional.none() dereference"
