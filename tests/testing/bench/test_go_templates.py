# SPDX-License-Identifier: Apache-2.0
"""Expressions of templates."""

from __future__ import annotations

import pytest

from steersman.base.errors import InputError
from steersman.testing.bench.templates import rendered


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name: pod-{{.Index}}", "name: pod-7"),
        ("name: pod-{{ .Index }} of {{ .Count }}", "name: pod-7 of 10"),
        ("{{ Mod .Index 3 }}", "1"),
        ("{{ DivideInt 30000 .Count }}Mi", "3000Mi"),
        ("{{ DivideInt .Index 2 }}", "3"),
        ("{{ DivideFloat .Index 2 }}", "3.5"),
        ("{{ AddInt .Index 1 2 }}", "10"),
        ("{{ SubtractInt .Index 9 }}", "-2"),
        ("{{ Mod (SubtractInt .Index 9) 5 }}", "-2"),
        ("{{ MultiplyInt 2 (AddInt .Index 1) }}", "16"),
        ("{{ MultiplyFloat .Index 0.5 }}", "3.5"),
        ("{{ AddFloat 1 1 }}", "2"),
        ("{{ 5 }}", "5"),
        ("nothing", "nothing"),
    ],
)
def test_expressions_are_replaced_by_their_values(text: str, expected: str) -> None:
    assert rendered(text, 7, 10) == expected


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{{ .Name }}", "contains '.Name'"),
        ("{{ if .Index }}", "contains 'if'"),
        ("{{ Mod .Index 0 }}", "divides by zero"),
        ("{{ DivideInt 1 0 }}", "divides by zero"),
        ("{{ Mod .Index }}", "gives Mod 1 arguments"),
        ("{{ .Index .Count }}", "continues after its end with '.Count'"),
        ("{{ }}", "is empty"),
        ("{{- .Index }}", "trims blanks"),
        ("{{ .Index | printf }}", "continues after its end with '|'"),
    ],
)
def test_what_is_not_supported_is_named(text: str, complaint: str) -> None:
    with pytest.raises(InputError) as refusal:
        rendered(f"a: 1\nb: {text}", 0, 1)
    assert complaint in refusal.value.message
    assert refusal.value.value == text
    assert ".Index" in str(refusal.value.hint)
