# SPDX-License-Identifier: Apache-2.0
"""Expressions of templates."""

from __future__ import annotations

import pytest

from steersman.base.errors import InputError
from steersman.testing.bench.go_templates import rendered


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
    assert rendered(text, {"Index": 7, "Count": 10}) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gang-{{DivideInt .Index .size}}", "gang-1"),
        ("{{if .size}}{{.size}}{{else}}50m{{end}}", "4"),
        ("{{if .cpu}}{{.cpu}}{{else}}50m{{end}}", "50m"),
        ("{{if .cpu}}x{{end}}", ""),
        ('{{if eq .class "gpu"}}name{{end}}', "name"),
        ("{{$n := or .devices 3}}{{range ($n | Int)}}-{{.}}{{end}}", "-0-1-2"),
        ("{{range $i := (.size | Int)}}{{if ge $i 2}}{{$i}}{{end}}{{end}}", "23"),
        ("{{ (or .selectors nil) | JSON }}", "null"),
        ("{{ .constraints | JSON }}", '[{"matchAttribute": "x"}]'),
        ("{{ .half | Int }}", "2"),
    ],
)
def test_parameters_of_the_operation_are_values(text: str, expected: str) -> None:
    parameters = {"size": 4, "class": "gpu", "constraints": [{"matchAttribute": "x"}], "half": 2.0}
    assert rendered(text, {"Index": 7, **parameters}) == expected


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{{ AddInt .Name 1 }}", "contains '.Name', which is no parameter"),
        ("{{ .Name }}", "has no value"),
        ("{{ if .Index }}", "has no {{end}}"),
        ("{{ end }}", "closes nothing"),
        ("{{ AddInt (Mod .Index 2 }}", "has an open parenthesis"),
        ("{{ printf .Index }}", "contains 'printf'"),
        ("{{ $unknown }}", "contains '$unknown'"),
        ("{{ Mod .Index 0 }}", "divides by zero"),
        ("{{ DivideInt 1 0 }}", "divides by zero"),
        ("{{ Mod .Index }}", "gives Mod 1 arguments"),
        ("{{ .Index .Count }}", "continues after its end with '.Count'"),
        ("{{ }}", "is empty"),
        ("{{- .Index }}", "trims blanks"),
        ("{{ .Index | printf }}", "contains 'printf'"),
    ],
)
def test_what_is_not_supported_is_named(text: str, complaint: str) -> None:
    with pytest.raises(InputError) as refusal:
        rendered(f"a: 1\nb: {text}", {"Index": 0, "Count": 1})
    assert complaint in refusal.value.message
    assert refusal.value.value == text
    assert ".Index" in str(refusal.value.hint)
