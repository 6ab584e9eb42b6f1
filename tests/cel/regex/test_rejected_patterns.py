# SPDX-License-Identifier: Apache-2.0
"""Patterns that other dialects know and this one does not."""

from __future__ import annotations

import pytest

from steersman.api.cel import CelError
from steersman.api.cel.regex import compile_pattern


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("[a", "missing closing ]: `[a`"),
        ("(a", "missing closing ): `(a`"),
        ("a)", "unexpected ): `a)`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a\\", "trailing backslash at end of expression: ``"),
        ("(a)\\1", "invalid escape sequence: `\\1`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?<!a)", "invalid or unsupported Perl syntax: `(?<!`"),
        ("a\\Z", "invalid escape sequence: `\\Z`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("\\p{Klingon}", "invalid character class range: `\\p{Klingon}`"),
    ],
)
def test_the_message_says_why(pattern: str, message: str) -> None:
    with pytest.raises(CelError) as caught:
        compile_pattern(pattern)
    assert str(caught.value) == f"error parsing regexp: {message}"
